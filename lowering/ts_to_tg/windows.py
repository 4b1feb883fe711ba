"""Rows of window functions: sums of cosines, and functions of the distance from the middle."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import float64, int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .dims import dtype_of, sizes_of
from .elements import as_expr, compute_dtype
from .emission import Body
from .values import Tensor, Value


def window(coefficients: Callable[[tuple[Value, ...]], tuple[float, ...]]) -> Callable[..., Tensor]:
    """A sum of cosines over `length` points; periodic ones leave out the last point.

    `coefficients` gives a0, a1, ... of a0 - a1 cos(w) + a2 cos(2 w) from the arguments that follow
    `periodic`, and the dtype is the first argument behind those that is not a float or a bool.
    """

    def row(b: Builder, length: Value, *arguments: Value) -> Tensor:
        rest = list(arguments)
        periodic = rest.pop(0) if rest and isinstance(rest[0], bool) else True
        given: list[Value] = []
        while rest and isinstance(rest[0], float):
            given.append(rest.pop(0))
        kind = dtype_of(rest[0] if rest else None, b.default_dtype)
        if not kind.is_floating_point:
            b.error(f"window functions expect floating point dtypes, got: {kind.word}")
        (size,) = sizes_of(b, [length])
        if size.is_int(1):
            return b.full([size], 1, kind)
        terms, wide = coefficients(tuple(given)), compute_dtype(kind)

        def make(body: Body, i: list[Expr]) -> Expr:
            turn = cast(i[0], wide) * (2 * math.pi) / cast(size if periodic else size - 1, wide)
            out = const(terms[0], wide)
            for k, a in enumerate(terms[1:], 1):
                out = out + call("cos", turn * float(k)) * (a if k % 2 == 0 else -a)
            alone = body.scalar(size, int64).equals(1)
            return out if size.is_const else select(alone, const(1.0, wide), out)

        return b.compute([size], kind, make)

    return row


def _hamming(given: tuple[Value, ...]) -> tuple[float, ...]:
    alpha = given[0] if given else 0.54
    return alpha, given[1] if len(given) > 1 else 0.46


def _of_place(
    b: Builder, shape: Callable[[Tensor], Tensor], length: Value, periodic: Value, dtype: Value
) -> Tensor:
    """A window whose values are `shape` of the places from -1 to 1."""
    kind = dtype_of(dtype, b.default_dtype)
    if not kind.is_floating_point:
        b.error(f"window functions expect floating point dtypes, got: {kind.word}")
    (size,) = sizes_of(b, [length])
    if size.is_int(1):
        return b.full([size], 1, kind)
    whole = as_expr(periodic) if isinstance(periodic, Expr) else const(bool(periodic))
    last = select(whole, size, size - 1)

    def place(body: Body, i: list[Expr]) -> Expr:
        at = 2.0 * cast(i[0], float64) / cast(body.scalar(last, int64), float64) - 1.0
        alone = body.scalar(size, int64).equals(1)
        middle = binary("or", alone, body.scalar(last, int64).equals(0))
        return select(middle, const(0.0, float64), at)

    return b.cast(shape(b.compute([size], float64, place)), kind)


def _bartlett(
    b: Builder, length: Value, periodic: Value = True, dtype: Value = None, *_: Value
) -> Tensor:
    """A triangle from 0 to 0."""
    return _of_place(
        b, lambda t: b.pointwise(lambda e: 1.0 - call("abs", e), t), length, periodic, dtype
    )


def _kaiser(
    b: Builder,
    length: Value,
    periodic: Value = True,
    beta: Value = 12.0,
    dtype: Value = None,
    *_: Value,
) -> Tensor:
    """J. Kaiser and R. Schafer, "On the use of the I0-sinh window for spectrum analysis", 1980."""

    def inside(e: Expr, factor: Expr) -> Expr:
        return factor * call("sqrt", binary("max", 1.0 - e * e, const(0.0, float64)))

    def shape(place: Tensor) -> Tensor:
        top = b.apply("aten::i0", b.full((), beta, float64))
        curve = b.pointwise(inside, place, beta, dtype=float64, compute=float64)
        return b.apply("aten::div", b.apply("aten::i0", curve), top)

    return _of_place(b, shape, length, periodic, dtype)


WINDOW: Rows = {
    "aten::hann_window": window(lambda given: (0.5, 0.5)),
    "aten::hamming_window": window(_hamming),
    "aten::blackman_window": window(lambda given: (0.42, 0.5, 0.08)),
    "aten::bartlett_window": lambda b, n, dtype=None, *_: _bartlett(b, n, True, dtype),
    "aten::bartlett_window.periodic": _bartlett,
    "aten::kaiser_window": lambda b, n, dtype=None, *_: _kaiser(b, n, True, 12.0, dtype),
    "aten::kaiser_window.periodic": lambda b, n, periodic, dtype=None, *_: _kaiser(
        b, n, periodic, 12.0, dtype
    ),
    "aten::kaiser_window.beta": _kaiser,
}
