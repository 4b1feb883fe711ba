"""Rows that read or write by position beside those of index: take, fill, reduce, bag."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.tg.ops import GatherOp, identity

from .builder import Builder, Rows
from .dims import dimension
from .elements import compute_dtype
from .emission import Body
from .index import check_bounds, gather, wrapped
from .values import Tensor, Value

_COMBINERS = {"sum": "add", "prod": "mul", "mean": "add", "amax": "max", "amin": "min"}


def _take(b: Builder, x: Tensor, index: Tensor, *_: Value) -> Tensor:
    """Elements by their number in row-major order."""
    if index.dtype is not int64:
        b.error("take(): Expected a long tensor for index, but got " + index.dtype.word)
    flat = b.call("aten::reshape", x, [-1])
    size = flat.shape[0]
    check_bounds(
        b, index, size, f"out of range: tried to access an index on a tensor of {size} elements."
    )

    def make(body: Body, i: list[Expr]) -> Expr:
        return body.read(flat, [wrapped(body.read(index, i, int64), size)], x.dtype)

    return b.compute(index.shape, x.dtype, make, GatherOp)


def _take_along(b: Builder, x: Tensor, index: Tensor, dim: Value = None, *_: Value) -> Tensor:
    """gather with both broadcast against each other, apart from `dim`; of all elements without.
    Negative places count from the end."""
    if index.dtype is not int64:
        b.error(
            "torch.take_along_dim(): dtype of indices should be Long but got " + index.dtype.word
        )

    def from_end(places: Tensor, size: Expr) -> Tensor:
        return b.pointwise(lambda e: wrapped(e, size), places)

    if dim is None:
        flat, at = b.apply("aten::reshape", x, [-1]), b.apply("aten::reshape", index, [-1])
        return gather(b, flat, 0, from_end(at, flat.shape[0]))
    if x.rank != index.rank:
        b.error(
            "torch.take_along_dim(): input and indices should have the same number of dimensions,"
            f" but got {x.rank} dimensions for input, and {index.rank} dimensions for indices"
        )
    d = dimension(b, dim, x.rank)
    one = const(1)
    left = tuple(one if k == d else s for k, s in enumerate(x.shape))
    right = tuple(one if k == d else s for k, s in enumerate(index.shape))
    common = b.broadcast_shapes(left, right)

    def widened(t: Tensor) -> Tensor:
        sizes = [t.shape[d] if k == d else s for k, s in enumerate(common)]
        return b.apply("aten::expand", t, sizes)

    return gather(b, widened(x), d, widened(from_end(index, x.shape[d])))


def _index_fill(
    b: Builder, x: Tensor, dim: Value, index: Tensor, value: Value, *_: Value
) -> Tensor:
    d = dimension(b, dim, x.rank)
    if not x.rank:
        row = b.apply("aten::reshape", x, [1])
        return b.apply("aten::reshape", _index_fill(b, row, 0, index, value), [])
    if index.rank > 1:
        b.error("Index has to be a vector/scalar")
    if isinstance(value, Tensor) and value.rank:
        b.error(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.rank} dimension(s)."
        )
    check_bounds(b, index, x.shape[d], "index out of range in self")
    extents = [*x.shape[:d], index.shape[0] if index.rank else const(1), *x.shape[d + 1 :]]

    def make(body: Body, at: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        where = list(at)
        where[d] = wrapped(body.read(index, [at[d]] if index.rank else [], int64), x.shape[d])
        if isinstance(value, Tensor):
            return where, body.read(value, [], x.dtype)
        return where, body.scalar(value, x.dtype)

    return b.scatter(x, extents, make)


def _scatter_reduce(
    b: Builder,
    x: Tensor,
    dim: Value,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: Value = True,
    *_: Value,
) -> Tensor:
    """`x` combined at index with `source`; without include_self only elements not reached stay."""
    if (combiner := _COMBINERS.get(reduce)) is None:
        b.error(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if x.dtype is not source.dtype:
        b.error("scatter(): Expected self.dtype to be equal to src.dtype")
    d = dimension(b, dim, x.rank)
    size = x.shape[d] if x.rank else const(1)
    check_bounds(
        b, index, size, f"index out of bounds for dimension {d} with size {size}", low=False
    )
    wide = compute_dtype(x.dtype)

    def at_index(body: Body, at: list[Expr]) -> list[Expr]:
        return [body.read(index, at, int64) if k == d else e for k, e in enumerate(at)]

    def fill(value: Expr) -> Value:
        return lambda body, at: (at_index(body, at), value)

    def element(body: Body, at: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        return at_index(body, at), body.read(source, at, wide)

    base = b.cast(x, wide)
    if include_self is False:
        base = b.scatter(base, index.shape, fill(identity(combiner, wide)))
    out = b.scatter(base, index.shape, element, combiner)
    if reduce == "mean":
        counts = b.full(x.shape, 1, int64)
        if include_self is False:
            counts = b.scatter(counts, index.shape, fill(const(0)))
        counts = b.scatter(counts, index.shape, fill(const(1)), "add")
        out = b.pointwise(
            lambda e, n: e / n if wide.is_floating_point else e // n,
            out,
            counts,
            dtype=wide,
            compute=wide,
        )
    return b.cast(out, x.dtype)


SELECTION: Rows = {
    "aten::take": _take,
    "aten::take_along_dim": _take_along,
    "aten::index_fill": _index_fill,
    "aten::scatter_reduce": _scatter_reduce,
}
