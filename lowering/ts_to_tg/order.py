"""Rows of order statistics: what a sort answers, and running extremes with their places."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select, var
from tensorscript.dialects.tg import ops as tg

from .builder import Builder, Rows
from .dims import dimension, keep
from .elements import compute_dtype
from .emission import Body
from .index import first_sorted
from .values import Tensor, Value

Position = Callable[[Expr, Expr], Expr]
"""The place in the sorted row, of its size and its number of NaNs."""


def _pick(b: Builder, x: Tensor, d: int, keepdim: bool, position: Position) -> Value:
    """Value and index at `position` of each sorted row along `d`."""
    size, wide = x.shape[d], compute_dtype(x.dtype)
    fixed = position(size, var("nans"))
    count = fixed + 1 if fixed.is_const and size.is_const else size
    values, indices = first_sorted(b, x, d, False, count)

    def row_index(i: list[Expr], at: Expr) -> list[Expr]:
        if keepdim:
            return [at if k == d else e for k, e in enumerate(i)]
        return [*i[:d], at, *i[d:]]

    shape = keep(x.shape, [d], keepdim)
    counts: Tensor | None = None
    if x.dtype.is_floating_point:
        counts = b.reduce(
            shape,
            [size],
            int64,
            "add",
            lambda body, i, r: select(
                call("isnan", body.read(x, row_index(i, r[0]), wide)), const(1), const(0)
            ),
        )

    def element(t: Tensor) -> Callable[[Body, list[Expr]], Expr]:
        def make(body: Body, i: list[Expr]) -> Expr:
            nans = const(0) if counts is None else body.read(counts, i, int64)
            return body.read(t, row_index(i, position(size, nans)), t.dtype)

        return make

    return (
        b.compute(shape, x.dtype, element(values), tg.GatherOp),
        b.compute(shape, int64, element(indices), tg.GatherOp),
    )


def _middle(size: Expr, nans: Expr) -> Expr:
    """The lower median; the first NaN if there is one."""
    half = (size - 1) // 2
    if nans.op == "const":
        return half
    return select(nans > 0, size - nans, half)


def _middle_present(size: Expr, nans: Expr) -> Expr:
    """The lower median of what is not NaN."""
    return binary("max", (size - nans - 1) // 2, 0)


def median(position: Position, name: str) -> Callable[..., Value]:
    """Rows of `median` and `nanmedian`: an element of the sorted line, and its index."""

    def row(b: Builder, x: Tensor, dim: Value = None, keepdim: Value = False, *_: Value) -> Value:
        if dim is None:
            flat = b.call("aten::reshape", x, [-1])
            if b.may_be_zero(flat.shape[0]):
                b.cannot(f"the {name} of a tensor that may be empty")
            if flat.shape[0].is_int(0):
                return b.full((), x.dtype is bool_ or float("nan"), x.dtype)
            if x.dtype is bool_:
                b.unimplemented("median_cpu", bool_)
            return _pick(b, flat, 0, False, position)[0]
        d = dimension(b, dim, x.rank)
        if x.rank and (x.shape[d].is_int(0) or b.may_be_zero(x.shape[d])):
            message = f"median(): Expected reduction dim {d} to have non-zero size."
            b.check(_literal(binary("ne", x.shape[d], 0)), message)
        if x.dtype is bool_:
            b.unimplemented("median_out", bool_)
        if not x.rank:
            return b.copied(x), b.full((), 0, int64)
        return _pick(b, x, d, keepdim, position)

    return row


def _kth_value(
    b: Builder, x: Tensor, k: Value, dim: Value = -1, keepdim: Value = False, *_: Value
) -> Value:
    d = dimension(b, dim, x.rank)
    if not x.rank:
        return b.copied(x), b.full((), 0, int64)
    if not isinstance(k, int):
        b.cannot("a rank that is not known")
    message = "kthvalue(): selected number k out of range for dimension " + str(d)
    if k < 1:
        b.error(message)
    b.check(_literal(binary("ge", x.shape[d], k)), message)
    return _pick(b, x, d, keepdim, lambda size, nans: const(k - 1))


def _literal(e: Expr) -> Value:
    return e.value if e.op == "const" else e


def _scan(b: Builder, x: Tensor, axis: int, combiner: str) -> Tensor:
    value = b.ssa(x)
    key = ("scan", axis, combiner, value)
    return b.fresh(b.once(key, lambda: tg.ScanOp(value, axis, combiner)).result)


def running(combiner: str) -> Callable[..., Value]:
    """cummax and cummin: the extreme so far and the last place it stood at.

    A place counts where the element equals the running extreme (or is NaN); the latest such place
    is itself a running maximum.
    """

    def row(b: Builder, x: Tensor, dim: Value, *_: Value) -> Value:
        d = dimension(b, dim, x.rank)
        if not x.rank:
            return b.copied(x), b.full((), 0, int64)
        if x.dtype is bool_:
            narrow = b.cast(x, int64)
            values, places = row(b, narrow, d)
            return b.cast(values, bool_), places
        wide = compute_dtype(x.dtype)
        best = _scan(b, b.cast(x, wide), d, combiner)

        def place(body: Body, i: list[Expr]) -> Expr:
            e = body.read(x, i, wide)
            hit = e.equals(body.read(best, i, wide))
            if wide.is_floating_point:
                hit = binary("or", hit, call("isnan", e))
            return select(hit, i[d], const(0))

        places = _scan(b, b.compute(x.shape, int64, place), d, "max")
        return b.cast(best, x.dtype), places

    return row


ORDER: Rows = {
    "aten::kthvalue": _kth_value,
    "aten::median": median(_middle, "median"),
    "aten::nanmedian": median(_middle_present, "nanmedian"),
    "aten::cummax": running("max"),
    "aten::cummin": running("min"),
}
