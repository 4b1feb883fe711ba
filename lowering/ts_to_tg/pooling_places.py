"""Rows of pooling by places: fractional windows (Graham, 2014), and the gradient of max pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .elements import compute_dtype, known
from .emission import Body
from .sizes import product, simplify
from .values import Tensor, Value


def _first_cell(draw: Expr, at: Expr, size: Expr, outputs: int, window: int) -> Expr:
    """Where window `at` of one dimension begins; the last one ends the dimension."""
    last = simplify(size - window)
    if outputs == 1:
        return last
    alpha = cast(last, draw.dtype) / const(outputs - 1, draw.dtype)
    shifted = cast(call("trunc", (cast(at, draw.dtype) + draw) * alpha), int64)
    moved = shifted - cast(call("trunc", draw * alpha), int64)
    return select(at.equals(outputs - 1), last, moved)


def _fractional(n: int) -> Callable[..., tuple[Tensor, Tensor]]:
    def row(
        b: Builder, x: Tensor, kernel: Sequence[int], output: Sequence[int], draws: Tensor
    ) -> tuple[Tensor, Tensor]:
        """x (N, C, *sizes) or (C, *sizes), draws (N, C, n) -> values and their places."""
        if x.rank == n + 1:
            found = row(b, b.apply("aten::unsqueeze", x, 0), kernel, output, draws)
            first, second = (b.apply("aten::squeeze", t, 0) for t in found)
            return first, second
        k, out = ([*sizes] * (n // len(sizes)) for sizes in (kernel, output))
        sizes = x.shape[2:]
        for size, o, w in zip(sizes, out, k, strict=True):
            b.check(
                known(binary("ge", size, o + w - 1)),
                f"fractional_max_pool{n}d(): pool size {w} too large relative to input size {size}",
            )
        wide = compute_dtype(x.dtype)
        inner = math.prod(k)

        def place(body: Body, i: list[Expr], cell: Expr) -> Expr:
            """Of one cell of a window, counted over all dimensions."""
            at, rest = const(0), cell
            step = inner
            for axis in range(n):
                # In two dimensions the first draw of a channel belongs to the last one.
                which = n - 1 - axis if n == 2 else axis
                draw = body.read(draws, [i[0], i[1], which], compute_dtype(draws.dtype))
                begin = _first_cell(draw, i[2 + axis], sizes[axis], out[axis], k[axis])
                step //= k[axis]
                at = at * sizes[axis] + begin + rest // step % k[axis]
            return at

        flat = b.apply("aten::flatten", x, 2)
        shape = [*x.shape[:2], *map(const, out)]
        cells = b.compute([*shape, inner], int64, lambda body, i: place(body, i[:-1], i[-1]))
        values = b.compute(
            [*shape, inner],
            wide,
            lambda body, i: body.read(flat, [i[0], i[1], body.read(cells, i, int64)], wide),
        )
        best = b.apply("aten::argmax", values, -1, True)
        top, at = (
            b.apply("aten::squeeze", b.apply("aten::gather", t, -1, best), -1)
            for t in (values, cells)
        )
        return b.cast(top, x.dtype), at

    return row


def _max_pool_backward(b: Builder, grad: Tensor, x: Tensor, *rest: Value) -> Tensor:
    """Each gradient at the place that its element was taken from."""
    places = rest[-1]
    lead = list(x.shape[:-2])
    zeros = b.full([*lead, product(x.shape[-2:])], 0, x.dtype)
    flat, at = (b.apply("aten::flatten", t, -2) for t in (grad, places))
    found = b.apply("aten::scatter_add", zeros, -1, at, flat)
    return b.apply("aten::reshape", found, list(x.shape))


POOLING_PLACES: Rows = {
    "aten::fractional_max_pool2d": _fractional(2),
    "aten::fractional_max_pool3d": _fractional(3),
    "aten::max_pool2d_with_indices_backward": _max_pool_backward,
}
