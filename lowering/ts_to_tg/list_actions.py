"""Actions on run-time lists."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from tensorscript.dialects.tg.lists import ListOp

from .builder import Builder


def perform(
    b: Builder, action: str, arguments: Sequence[SSAValue], result: Attribute | None = None
) -> SSAValue:
    """Emit a tg.list; its result (for an action without one: the last operand)."""
    op = b.emit(ListOp(action, arguments, result))
    return op.outputs[0] if result is not None else arguments[-1]
