"""Run-time lists of tensors' numbers, and tensors of run-time lists."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.tg.types import ListType, ScalarType, tensor

from .branches import branch
from .builder import Builder, Rows
from .dims import dtype_of
from .element_kinds import ListElement, NumberElement
from .evaluator import Evaluator
from .list_access import check, length, named
from .list_actions import perform
from .list_content import content_of
from .list_making import fresh_list
from .values import Grown, ListRef, Tensor, Value

_I64 = ScalarType(int64)


def list_of_tensor(ev: Evaluator, x: Tensor) -> ListRef:
    """The numbers of a vector as a list."""
    b = ev.b
    kind = bool_ if x.dtype is bool_ else float64 if x.dtype.is_floating_point else int64
    column = perform(b, "from", [b.ssa(b.cast(x, kind))], ListType.of(kind))
    return fresh_list(ev, Grown(NumberElement(kind), (column,)))


def _to_tensor(ev: Evaluator, x: ListRef, dtype: Value = None, *_: Value) -> Value:
    """torch.tensor of a list of numbers, or of lists of them."""
    b, content = ev.b, content_of(ev, x)
    size = length(b, content)
    match content.element:
        case NumberElement(kind):
            wanted = dtype_of(dtype, b.default_dtype if kind.is_floating_point else kind)
            return _read(b, content.columns[0], (size,), wanted)
        case ListElement(NumberElement(kind)):
            wanted = dtype_of(dtype, b.default_dtype if kind.is_floating_point else kind)
        case _:
            return b.cannot("a tensor of such a list of unknown length")

    def nothing(_: Sequence[Value]) -> list[Value]:
        return [b.full((0,), 0, wanted)]

    def rows(_: Sequence[Value]) -> list[Value]:
        return [_read(b, *_rectangle(b, content.columns[0], kind, size), wanted)]

    return branch(b, named(b, size.equals(0)), nothing, rows)[0]


def _rectangle(
    b: Builder, column: SSAValue, kind: DType, count: Expr
) -> tuple[SSAValue, tuple[Expr, Expr]]:
    """The numbers of lists of one length, of which there are some, and their shape."""
    lengths = perform(b, "lengths", [column], ListType.of(int64))
    width = b.scalar_of(perform(b, "get", [lengths, b.scalar_operand(const(0))], _I64))
    same = b.scalar_of(perform(b, "count", [lengths, b.scalar_operand(width)], _I64))
    check(b, same.equals(count), "Expected sequence of length {} at dim 1 (got {})")
    return perform(b, "join", [column], ListType.of(kind)), (count, width)


def _read(b: Builder, column: SSAValue, shape: tuple[Expr, ...], dtype: DType) -> Tensor:
    """The numbers of a list as a tensor."""
    assert isinstance(column.type, ListType)
    sizes = tuple(map(b.size, shape))
    made = b.fresh(perform(b, "read", [column], tensor(column.type.dtype, sizes)))
    return b.cast(made, dtype)


LIST_TENSORS: Rows = {
    "aten::tensor": _to_tensor,
}
