"""Rows of adaptive maximum pooling: values and where they stand.

The place is the first maximum of the window, or its last NaN, as one number over the spatial
dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, add, all_of, call, const, mul, select
from tensorscript.dialects.tg.ops import identity

from .adaptive_bins import Bins, adaptive_bins
from .builder import Builder, Rows
from .elements import compute_dtype
from .emission import Body
from .sizes import product
from .values import Tensor, Value


def _bins(b: Builder, x: Tensor, n: int, sizes: Value) -> list[Bins]:
    items = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    outputs = items * n if len(items) == 1 else items
    if len(outputs) != n:
        b.error(f"adaptive_max_pool{n}d(): internal error: output_size.size() must be {n}")
    if x.rank not in (n + 1, n + 2):
        shape = ", ".join(map(str, x.shape))
        b.error(
            f"adaptive_max_pool{n}d(): Expected {n + 1}D or {n + 2}D tensor, but got: [{shape}]"
        )
    for d, extent in enumerate(x.shape[-n:]):
        if extent.is_int(0):
            b.error(
                f"adaptive_max_pool{n}d(): Expected input to have non-zero size for non-batch"
                f" dimensions, but input has sizes [{', '.join(map(str, x.shape))}] with dimension"
                f" {x.rank - n + d} being empty"
            )
    return [adaptive_bins(b, size, o) for size, o in zip(x.shape[-n:], outputs, strict=True)]


def _window(bins: Sequence[Bins], i: Sequence[Expr], r: Sequence[Expr]) -> tuple[list[Expr], Expr]:
    n = len(bins)
    cells = [v.cell(o, k) for v, o, k in zip(bins, i[-n:], r, strict=True)]
    return [*i[:-n], *(at for at, _ in cells)], all_of([c for _, more in cells for c in more])


def adaptive_max(n: int) -> Callable[..., Value]:
    """adaptive_max_pool of `n` spatial dimensions: (values, places)."""

    def row(b: Builder, x: Tensor, sizes: Value, *_: Value) -> Value:
        bins = _bins(b, x, n, sizes)
        wide = compute_dtype(x.dtype)
        shape = (*x.shape[:-n], *(v.outputs for v in bins))
        extents = [v.longest for v in bins]
        none = product(x.shape[-n:])

        def value(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            at, inside = _window(bins, i, r)
            return select(inside, body.read(x, at, wide), identity("max", wide))

        best = b.reduce(shape, extents, wide, "max", value)

        def place(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            at, inside = _window(bins, i, r)
            e = body.read(x, at, wide)
            flat = const(0)
            for position, size in zip(at[-n:], x.shape[-n:], strict=True):
                flat = add(mul(flat, size), position)
            key = select(e.equals(body.read(best, i, wide)), flat, none)
            if wide.is_floating_point:
                key = select(call("isnan", e), -1 - flat, key)
            return select(inside, key, none)

        keys = b.reduce(shape, extents, int64, "min", place)
        return b.cast(best, x.dtype), b.pointwise(lambda e: select(e < 0, -1 - e, e), keys)

    return row


ADAPTIVE_MAX: Rows = {f"aten::adaptive_max_pool{n}d": adaptive_max(n) for n in (1, 2, 3)}
