"""Rows of distinct slices along a dimension: in order of their elements, or of runs."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary
from tensorscript.dialects.tg import ops as tg

from .builder import Builder, Rows
from .compaction import counts_of, places, ranks_of
from .compaction import unique_consecutive as runs_of_elements
from .dims import dimension
from .elements import as_expr, known
from .emission import Body
from .loops import loop
from .sizes import product
from .values import Tensor, Value

SORT_OPS = 32
"""What a sort counts when a loop of them is to be unrolled."""


def _rows(b: Builder, x: Tensor, d: int) -> Tensor:
    """The slices as rows (n, m)."""
    moved = b.apply("aten::movedim", x, d, 0)
    return b.apply("aten::reshape", moved, [x.shape[d], product(moved.shape[1:])])


def _order(b: Builder, rows: Tensor) -> Tensor:
    """The rows' numbers in the order of their elements, NaN last: sorted by each column, the last
    one first, where equal ones keep their places (radix sort)."""
    n, m = rows.shape

    def by_column(arguments: Sequence[Value]) -> list[Value]:
        turn, order = arguments
        column = m - 1 - as_expr(turn)
        keys = b.compute(
            [n],
            rows.dtype,
            lambda body, i: body.read(
                rows, [body.read(order, i, int64), body.embed(column)], rows.dtype
            ),
            tg.GatherOp,
        )
        places = b.call("aten::sort", keys, 0, False)[1]
        return [True, b.apply("aten::index_select", order, 0, places)]

    numbers = b.compute([n], int64, lambda body, i: i[0])
    found: Tensor = loop(b, known(m), True, [numbers], by_column, SORT_OPS)[0]
    return found


def _begins(b: Builder, rows: Tensor) -> Tensor:
    """Which rows differ from the one before."""
    n, m = rows.shape

    def apart(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        other = binary("max", i[0] - 1, 0)
        p, q = (body.read(rows, [k, r[0]], rows.dtype) for k in (i[0], other))
        return binary("ne", p, q)

    differs = b.reduce([n], [m], bool_, "or", apart)
    return b.compute(
        [n], bool_, lambda body, i: binary("or", i[0].equals(0), body.read(differs, i, bool_))
    )


def _distinct(
    b: Builder, x: Tensor, d: int, order: Tensor | None, inverse: Value, counts: Value
) -> tuple[Tensor, Tensor, Tensor]:
    """The first slice of each run in an order, the run of each slice, and the runs' lengths."""
    rows = _rows(b, x, d)
    if order is not None:
        rows = b.apply("aten::index_select", rows, 0, order)
    first = _begins(b, rows)
    starts = places(b, first)
    moved = b.apply("aten::movedim", x, d, 0)
    taken = b.apply("aten::index_select", rows, 0, starts)
    shape = [starts.shape[0], *moved.shape[1:]]
    values = b.apply("aten::movedim", b.apply("aten::reshape", taken, shape), 0, d)
    nothing = b.full((0,), 0, int64)
    where = nothing
    if inverse is True:
        where = ranks = ranks_of(b, first)
        if order is not None:
            where = b.apply("aten::scatter.src", ranks, 0, order, ranks)
    return values, where, counts_of(b, starts, x.shape[d]) if counts is True else nothing


def _unique(b: Builder, x: Tensor, dim: Value, *_: Value) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct slices, in the order of their elements; PyTorch gives the places and the
    lengths whether they are asked for or not."""
    d = dimension(b, dim, x.rank)
    _need_elements(b, x, d)
    return _distinct(b, x, d, _order(b, _rows(b, x, d)), True, True)


def _need_elements(b: Builder, x: Tensor, d: int) -> None:
    if not x.rank:
        b.error(f"Dimension specified as {d} but tensor has no dimensions")
    if any(s.is_int(0) for s in x.shape):
        b.cannot("distinct slices without elements")


def _consecutive(
    b: Builder, x: Tensor, inverse: Value = False, counts: Value = False, dim: Value = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The first slices of runs of equal ones."""
    if dim is None:
        return runs_of_elements(b, x, inverse, counts)
    d = dimension(b, dim, x.rank)
    _need_elements(b, x, d)
    return _distinct(b, x, d, None, inverse, counts)


DISTINCT: Rows = {
    "aten::unique_dim": _unique,
    "aten::unique_consecutive": _consecutive,
}
