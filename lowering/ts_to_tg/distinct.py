"""Rows of distinct slices along a dimension: in order of their elements, or of runs.

Slices are compared in pairs: the first place where two differ tells which comes first, and a
slice's place is the number of those before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder, Rows
from .compaction import counts_of, places, ranks_of
from .compaction import unique_consecutive as runs_of_elements
from .dims import dimension
from .emission import Body
from .sizes import product
from .values import Tensor, Value


def _rows(b: Builder, x: Tensor, d: int) -> Tensor:
    """The slices as rows (n, m)."""
    moved = b.apply("aten::movedim", x, d, 0)
    return b.apply("aten::reshape", moved, [x.shape[d], product(moved.shape[1:])])


def _is_nan(e: Expr) -> Expr:
    return call("isnan", e) if e.dtype.is_floating_point else const(False, bool_)


def _first_difference(b: Builder, rows: Tensor) -> Tensor:
    """(n, n): the first column where two rows differ, or m. NaN are alike here."""
    n, m = rows.shape

    def at(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        p, q = (body.read(rows, [k, r[0]], rows.dtype) for k in i)
        alike = binary("or", p.equals(q), binary("and", _is_nan(p), _is_nan(q)))
        return select(alike, m, r[0])

    return b.reduce([n, n], [m], int64, "min", at)


def _order(b: Builder, rows: Tensor) -> Tensor:
    """The rows' numbers in the order of their elements; NaN come last."""
    n, m = rows.shape
    differ = _first_difference(b, rows)

    def before(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        other, own = r[0], i[0]
        column = body.read(differ, [other, own], int64)
        inside = binary("max", binary("min", column, m - 1), 0)
        p, q = (body.read(rows, [k, inside], rows.dtype) for k in (other, own))
        less = binary("lt", p, q) if p.dtype is not bool_ else binary("gt", q, p)
        less = binary("or", less, binary("and", _is_nan(q), binary("eq", _is_nan(p), False)))
        earlier = select(column.equals(m), other < own, less)
        return select(earlier, const(1), const(0))

    rank = b.reduce([n], [n], int64, "add", before)

    def place(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        return [body.read(rank, d, int64)], d[0]

    return b.scatter(b.full([n], 0, int64), [n], place)


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
