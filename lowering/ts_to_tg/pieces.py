"""Rows that cut a tensor into pieces whose number depends on sizes that are named or found.

Where all that follows is that the list is unpacked, its length is checked and the pieces are views.
Else they are a run-time list, which holds copies. Known numbers of pieces are rows of `slicing.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, select
from tensorscript.dialects.ts.ops import ListUnpackOp

from .builder import Rows
from .dims import dimension, size_of
from .element_kinds import TensorElement
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import leaves_of, new_grown
from .list_access import check, named
from .list_actions import perform
from .list_making import fresh_list
from .loops import LONG, loop
from .sizes import simplify
from .slicing import narrow, select_at
from .values import ComplexTensor, Tensor, Value


@dataclass(frozen=True)
class _Cut:
    """Pieces of `step` along a dimension of `size`, the last of what is left."""

    size: Expr
    step: Expr
    count: Expr

    def length(self, k: Expr) -> Expr:
        return binary("min", self.step, self.size - k * self.step)


def _unpacked(ev: Evaluator) -> int | None:
    """Into how many names the list is unpacked that the current op makes; None if it is used in
    another way."""
    assert ev.op is not None
    uses = [use.operation for result in ev.op.results for use in result.uses]
    if len(uses) != 1 or not isinstance(uses[0], ListUnpackOp):
        return None
    return len(uses[0].outputs)


def _cut(ev: Evaluator, x: Tensor | ComplexTensor, d: int, cut: _Cut) -> Value:
    b = ev.b
    if (wanted := _unpacked(ev)) is not None:
        message = f"Expected {wanted} elements in a list but found {cut.count}"
        check(b, known(cut.count.equals(wanted)), message)
        rest = simplify(cut.size - cut.step * (wanted - 1))
        lengths = [cut.step] * (wanted - 1) + [rest] * bool(wanted)
        return ev.rows.call("aten::split_with_sizes", [x, lengths, d])
    if isinstance(x, ComplexTensor):
        b.cannot("a list of complex tensors whose length is not known")
    sizes: list[Expr | None] = list(x.shape)
    sizes[d] = None

    def piece(k: Expr) -> Tensor:
        return narrow(b, x, d, named(b, k * cut.step), named(b, cut.length(k)))

    return _listed(ev, x.dtype, sizes, cut.count, piece)


def _listed(
    ev: Evaluator,
    dtype: DType,
    sizes: Sequence[Expr | None],
    count: Expr,
    piece: Callable[[Expr], Tensor],
) -> Value:
    """A run-time list of so many pieces, which all have the sizes that are given."""
    b = ev.b
    alike = [None if s is None or b.is_found(s) else s for s in sizes]
    element = TensorElement(dtype, tuple(alike))
    made = new_grown(b, element)

    def step(arguments: Sequence[Value]) -> list[Value]:
        leaves = leaves_of(b, element, piece(as_expr(arguments[0])))
        for column, leaf in zip(made.columns, leaves, strict=True):
            perform(b, "push", [column, leaf])
        return [True]

    loop(b, known(b.unsized(count)), True, [], step, LONG)
    return fresh_list(ev, made)


def _is_known(*sizes: Expr) -> bool:
    return all(s.op == "const" for s in sizes)


def _split(ev: Evaluator, x: Value, size: Value, dim: Value = 0) -> Value:
    if not x.rank:
        ev.b.error("split expects at least a 1-dimensional tensor")
    d = dimension(ev.b, dim, x.rank)
    total, step = x.shape[d], size_of(size)
    if _is_known(total, step):
        return ev.rows.call("aten::split.Tensor", [x, size, dim])
    message = f"split expects split_size be non-negative, but got split_size={size}"
    ev.b.check(known(binary("ge", step, 0)), message)
    fits = binary("or", binary("gt", step, 0), total.equals(0))
    ev.b.check(known(fits), "split_size can only be 0 if dimension size is 0")
    step = _named(ev, binary("max", step, 1))
    count = binary("max", (total + (step - 1)) // step, 1)
    return _cut(ev, x, d, _Cut(total, step, _named(ev, count)))


def _chunk(ev: Evaluator, x: Value, chunks: Value, dim: Value = 0) -> Value:
    if not x.rank:
        ev.b.error("chunk expects at least a 1-dimensional tensor")
    d = dimension(ev.b, dim, x.rank)
    total, most = x.shape[d], as_expr(chunks)
    if _is_known(total, most):
        return ev.rows.call("aten::chunk", [x, chunks, dim])
    ev.b.check(known(binary("gt", most, 0)), "chunk expects `chunks` to be greater than 0")
    step = _named(ev, simplify((total + (most - 1)) // most))
    # Of nothing there are as many pieces as asked for.
    count = select(total.equals(0), most, (total + (step - 1)) // binary("max", step, 1))
    return _cut(ev, x, d, _Cut(total, step, _named(ev, count)))


def _named(ev: Evaluator, e: Expr) -> Expr:
    """A number that may stand in sizes: an expression of named ones, or one the program finds."""
    return ev.b.size(e)


def _unbind(ev: Evaluator, x: Value, dim: Value = 0) -> Value:
    b = ev.b
    if not x.rank or _is_known(x.shape[dimension(b, dim, x.rank)]):
        return ev.rows.call("aten::unbind.int", [x, dim])
    d = dimension(b, dim, x.rank)
    count = x.shape[d]
    if (wanted := _unpacked(ev)) is not None:
        message = f"Expected {wanted} elements in a list but found {count}"
        check(b, known(count.equals(wanted)), message)
        return [ev.rows.call("aten::select.int", [x, d, k]) for k in range(wanted)]
    if isinstance(x, ComplexTensor):
        b.cannot("a list of complex tensors whose length is not known")
    rest = [*x.shape[:d], *x.shape[d + 1 :]]
    return _listed(ev, x.dtype, rest, count, lambda k: select_at(b, x, d, k))


PIECES: Rows = {
    "aten::split.Tensor": _split,
    "aten::unsafe_split.Tensor": _split,
    "aten::chunk": _chunk,
    "aten::unsafe_chunk": _chunk,
    "aten::unbind.int": _unbind,
}
