"""Rows that join the tensors of a run-time list: their numbers are copied into one block.

`stack` and `cat` along the first dimension are that block under another shape; along another
dimension the tensors are stacked and the dimensions permuted.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary
from tensorscript.dialects.tg.types import ListType, ScalarType, tensor

from .builder import Builder, Rows
from .dims import dimension
from .element_kinds import TensorElement
from .evaluator import Evaluator
from .list_access import check, length, named
from .list_actions import perform
from .loops import LONG, loop
from .reshape import reshaped
from .scalars import SCALAR
from .sizes import product, simplify
from .values import Grown, ListRef, Tensor, Value
from .view import permute

_I64 = ScalarType(int64)


def _tensors(ev: Evaluator, x: ListRef) -> tuple[Grown, TensorElement]:
    content = ev.b.heap[x]
    if not isinstance(content, Grown) or not isinstance(content.element, TensorElement):
        ev.b.cannot("has no native form on such a list")
    return content, content.element


def _sizes(content: Grown, element: TensorElement) -> list[Expr | SSAValue]:
    """For each dimension the size, or the list of the elements' sizes."""
    columns = iter(content.columns[1:])
    return [next(columns) if size is None else size for size in element.shape]


def _common(b: Builder, content: Grown, size: Expr | SSAValue, message: str) -> Expr:
    """The size that all elements must have (of a list that is not empty)."""
    if isinstance(size, Expr):
        return size
    first = perform(b, "get", [size, b.scalar_operand(0)], _I64)
    equal = b.scalar_of(perform(b, "count", [size, first], _I64))
    check(b, equal.equals(length(b, content)), message)
    return b.size(b.scalar_of(first))


def _total(b: Builder, content: Grown, size: Expr | SSAValue) -> Expr:
    """The sum of the elements' sizes in one dimension."""
    if isinstance(size, Expr):
        return b.size(named(b, b.unsized(simplify(length(b, content) * size))))
    column = size

    def step(values: Sequence[Value]) -> list[Value]:
        at = b.scalar_operand(values[0])
        one = b.scalar_of(perform(b, "get", [column, at], _I64))
        return [True, SCALAR["aten::add"](b, values[1], one)]

    return b.size(loop(b, length(b, content), True, [0], step, LONG)[0])


def _joined(b: Builder, content: Grown, element: TensorElement, shape: list[Expr]) -> Tensor:
    """The numbers of all tensors, one after the other, under a shape."""
    values = perform(b, "join", content.columns[:1], ListType.of(element.dtype))
    return b.fresh(perform(b, "unbox", [values], tensor(element.dtype, tuple(shape))))


def _some(b: Builder, content: Grown, message: str) -> None:
    check(b, binary("gt", length(b, content), 0), message)


def _stacked(b: Builder, content: Grown, element: TensorElement) -> Tensor:
    message = "stack expects each tensor to be equal size"
    sizes = [_common(b, content, s, message) for s in _sizes(content, element)]
    return _joined(b, content, element, [b.size(length(b, content)), *sizes])


def _stack(ev: Evaluator, x: ListRef, dim: Value = 0, *_: Value) -> Value:
    content, element = _tensors(ev, x)
    _some(ev.b, content, "stack expects a non-empty TensorList")
    d = dimension(ev.b, dim, len(element.shape) + 1)
    made = _stacked(ev.b, content, element)
    order = list(range(1, made.rank))
    order.insert(d, 0)
    return permute(ev.b, made, order) if d else made


def _cat(ev: Evaluator, x: ListRef, dim: Value = 0, *_: Value) -> Value:
    b = ev.b
    content, element = _tensors(ev, x)
    _some(b, content, "torch.cat(): expected a non-empty list of Tensors")
    rank = len(element.shape)
    if not rank:
        b.error("zero-dimensional tensor (at position 0) cannot be concatenated")
    d = dimension(b, dim, rank)
    sizes = _sizes(content, element)
    if d == 0:
        message = "Sizes of tensors must match except in dimension 0"
        rest = [_common(b, content, s, message) for s in sizes[1:]]
        return _joined(b, content, element, [_total(b, content, sizes[0]), *rest])
    if not isinstance(sizes[d], Expr):
        b.cannot("joining tensors of different sizes along an inner dimension")
    made = _stacked(b, content, element)
    order = list(range(1, made.rank))
    order.insert(d, 0)
    moved = b.copied(permute(b, made, order))
    merged = simplify(product((moved.shape[d], moved.shape[d + 1])))
    return reshaped(b, moved, (*moved.shape[:d], merged, *moved.shape[d + 2 :]))


LIST_JOINING: Rows = {
    "aten::stack": _stack,
    "aten::cat": _cat,
    "aten::concat": _cat,
    "aten::concatenate": _cat,
}
