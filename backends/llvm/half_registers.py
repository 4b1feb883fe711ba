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

from .emit_text import Code

ATTRIBUTES = '"prefer-vector-width"="256" "min-legal-vector-width"="0"'
_STREAMING = (ForOp, LetOp, StoreOp)
# Shuffles, calls of the library and what names a register of its own width.
_WHOLE = re.compile(r"shufflevector|@ts_|@llvm\.(x86|vector|fma|fmuladd|masked\.gather)")


def streams(op: Operation, code: Code) -> bool:
    """Whether a function or loop, whose text is `code`, does nothing but load, combine by single
    instructions and store."""
    inside = (inner for inner in walk_ops(op) if inner is not op)
    return all(isinstance(i, _STREAMING) for i in inside) and not code.mentions(_WHOLE)
