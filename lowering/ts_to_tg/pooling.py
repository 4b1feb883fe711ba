"""Rows of pooling: a reduction over window positions, guarded where padding reaches outside."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, all_of, binary, call, cast, const, select
from tensorscript.dialects.tg.ops import identity

from .adaptive_bins import adaptive_bins
from .builder import Builder, Rows
from .convolution import inside, spread
from .elements import compute_dtype
from .emission import Body
from .sizes import simplify
from .values import Tensor, Value


def pooled_size(size: Expr, kernel: int, stride: int, pad: int, dilation: int, ceil: bool) -> Expr:
    """Number of windows; with ceil_mode the last one starts inside the input or left padding."""
    span = simplify(size + (2 * pad - dilation * (kernel - 1) - 1))
    if not ceil:
        return simplify(span // stride + 1)
    count = simplify((span + (stride - 1)) // stride + 1)
    past = binary("ge", (count - 1) * stride, size + pad)
    return simplify(select(simplify(past), count - 1, count))


def _window(kernel: Value, stride: Value, n: int) -> tuple[list[int], list[int]]:
    sizes = spread(kernel, n)
    return sizes, spread(stride, n) if stride not in (None, []) else sizes


def max_pool(n: int, with_indices: bool = False) -> Callable[..., Value]:
    """Rows of `max_pool{n}d`: (.., s_1, .., s_n) to the largest element of each window, and with
    `with_indices` its place in the flat image."""

    def row(
        b: Builder,
        x: Tensor,
        kernel: Value,
        stride: Value = None,
        padding: Value = 0,
        dilation: Value = 1,
        ceil: bool = False,
        *_: Value,
    ) -> Value:
        sizes, steps = _window(kernel, stride, n)
        pads, gaps = spread(padding, n), spread(dilation, n)
        if any(p > k // 2 for p, k in zip(pads, sizes, strict=True)):
            b.error("pad should be at most half of effective kernel size")
        lead = x.rank - n
        shape = [
            pooled_size(x.shape[lead + d], sizes[d], steps[d], pads[d], gaps[d], ceil)
            for d in range(n)
        ]
        wide = compute_dtype(x.dtype)

        def window(i: list[Expr], r: list[Expr]) -> tuple[list[Expr], list[Expr]]:
            at = [simplify(i[lead + d] * steps[d] + r[d] * gaps[d] - pads[d]) for d in range(n)]
            guards: list[Expr] = []
            for d, e in enumerate(at):
                guards += inside(e, x.shape[lead + d], bool(pads[d]), bool(pads[d]) or ceil)
            return at, guards

        def element(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            at, guards = window(i, r)
            value = body.read(x, [*i[:lead], *at], wide)
            return select(all_of(guards), value, identity("max", wide)) if guards else value

        extents = [const(s) for s in sizes]
        full = (*x.shape[:lead], *shape)
        best = b.reduce(full, extents, wide, "max", element)
        if not with_indices:
            return b.cast(best, x.dtype)

        def key_of(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            at, guards = window(i, r)
            value, top = body.read(x, [*i[:lead], *at], wide), body.read(best, i, wide)
            flat = const(0)
            for d, e in enumerate(at):
                flat = flat * x.shape[lead + d] + e
            none = identity("min", int64)
            key = select(value.equals(top), flat, none)
            if wide.is_floating_point:
                key = select(call("isnan", value), -1 - flat, key)
            return select(all_of(guards), key, none)

        places = b.reduce(full, extents, int64, "min", key_of)
        if wide.is_floating_point:  # of what is no number the last one, which has the least key
            places = b.pointwise(lambda e: select(e < 0, -1 - e, e), places)
        return b.cast(best, x.dtype), places

    return row


def avg_pool(n: int) -> Callable[..., Tensor]:
    """Rows of `avg_pool{n}d`: the mean of each window, over the padding too if that is asked."""

    def row(
        b: Builder,
        x: Tensor,
        kernel: Value,
        stride: Value = None,
        padding: Value = 0,
        ceil: bool = False,
        include_pad: bool = True,
        divisor: Value = None,
        *_: Value,
    ) -> Tensor:
        sizes, steps = _window(kernel, stride, n)
        pads = spread(padding, n)
        lead = x.rank - n
        shape = [
            pooled_size(x.shape[lead + d], sizes[d], steps[d], pads[d], 1, ceil) for d in range(n)
        ]
        wide = compute_dtype(x.dtype)

        def element(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            at = [simplify(i[lead + d] * steps[d] + r[d] - pads[d]) for d in range(n)]
            guards: list[Expr] = []
            for d, e in enumerate(at):
                guards += inside(e, x.shape[lead + d], bool(pads[d]), bool(pads[d]) or ceil)
            value = body.read(x, [*i[:lead], *at], wide)
            return select(all_of(guards), value, const(0, wide)) if guards else value

        full = (*x.shape[:lead], *shape)
        total = b.reduce(full, [const(s) for s in sizes], wide, "add", element)

        def mean(body: Body, i: list[Expr]) -> Expr:
            count = const(1)
            for d in range(n):
                size, start = x.shape[lead + d], simplify(i[lead + d] * steps[d] - pads[d])
                end = start + sizes[d]
                if include_pad:
                    part = binary("min", end, size + pads[d]) - start if ceil else const(sizes[d])
                elif pads[d] or ceil:
                    part = binary("min", end, size) - binary("max", start, 0)
                else:
                    part = const(sizes[d])
                count = count * part
            by = const(divisor, wide) if divisor else cast(simplify(count), wide)
            sum_ = body.read(total, i, wide)
            return sum_ / by if wide.is_floating_point else binary("truncdiv", sum_, by)

        return b.compute(full, x.dtype, mean)

    return row


def adaptive_avg(n: int) -> Callable[..., Tensor]:
    """adaptive_avg_pool of `n` spatial dimensions."""

    def row(b: Builder, x: Tensor, wanted: Value, *_: Value) -> Tensor:
        lead = x.rank - n
        sizes = zip(x.shape[lead:], spread(wanted, n), strict=True)
        bins = [adaptive_bins(b, size, outputs) for size, outputs in sizes]
        shape = (*x.shape[:lead], *(v.outputs for v in bins))
        wide = compute_dtype(x.dtype)

        def element(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            cells = [v.cell(o, k) for v, o, k in zip(bins, i[lead:], r, strict=True)]
            guards = [guard for _, more in cells for guard in more]
            value = body.read(x, [*i[:lead], *(at for at, _ in cells)], wide)
            return select(all_of(guards), value, const(0, wide)) if guards else value

        out = b.reduce(shape, [v.longest for v in bins], wide, "add", element)

        def mean(body: Body, i: list[Expr]) -> Expr:
            total = const(1)
            for v, o in zip(bins, i[lead:], strict=True):
                start, stop = v.bounds(o)
                total = total * (simplify(stop - start) if v.length is None else v.length)
            return body.read(out, i, wide) / cast(simplify(total), wide)

        return b.compute(shape, x.dtype, mean)

    return row


POOLING: Rows = {
    **{f"aten::max_pool{n}d": max_pool(n) for n in (1, 2, 3)},
    **{f"aten::max_pool{n}d_with_indices": max_pool(n, True) for n in (1, 2, 3)},
    **{f"aten::avg_pool{n}d": avg_pool(n) for n in (1, 2, 3)},
    **{f"aten::adaptive_avg_pool{n}d": adaptive_avg(n) for n in (1, 2, 3)},
    "aten::mkldnn_adaptive_avg_pool2d": adaptive_avg(2),
}
