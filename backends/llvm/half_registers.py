"""Which functions take registers of 256 bits where a processor's units are as wide.

A Zen 4 works on 512 bits in two halves, so that whole registers save instructions and nothing
else. What only streams through memory waits for neither; and where arrays do not begin at a cache
line each vector of 64 bytes lies in two, of those of 32 bytes every other.
"""

from __future__ import annotations

import re

from xdsl.ir import Operation

from tensorscript.dialects.te.ops import ForOp, LetOp, StoreOp
from tensorscript.dialects.walks import walk_ops

from .emit_context import Context

_HALVED = '"prefer-vector-width"="256" "min-legal-vector-width"="0"'
_STREAMING = (ForOp, LetOp, StoreOp)
# Shuffles, calls of the library and what names a register of its own width.
_WHOLE = re.compile(r"shufflevector|@ts_|@llvm\.(x86|vector|fma|fmuladd|masked\.gather)")


def attributes(context: Context, op: Operation) -> str:
    """LLVM's attributes of the function that `context` holds the text of, of a te.func or loop."""
    halved = context.options.halves_registers and _streams(context, op)
    return f"nounwind {_HALVED}" if halved else "nounwind"


def _streams(context: Context, op: Operation) -> bool:
    """Whether it does nothing but load, combine by single instructions and store."""
    inside = (inner for inner in walk_ops(op) if inner is not op)
    return all(isinstance(i, _STREAMING) for i in inside) and not context.code.mentions(_WHOLE)
