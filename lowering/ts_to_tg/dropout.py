"""Rows that put random elements to zero, each as its eager kernel does."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import bool_, float64
from tensorscript.dialects.te.expr import Expr, binary, const, select

from .builder import Builder, Rows
from .elements import compute_dtype
from .generator import uniform
from .random_numbers import drawn_in
from .values import Tensor, Value

Row = Callable[..., Value]


def _chance(b: Builder, p: Value) -> None:
    if not isinstance(p, int | float):
        b.cannot("a probability that is not known")
    if not 0 <= p <= 1:
        b.error(f"dropout probability has to be between 0 and 1, but got {p}")


def _by_channel(x: Tensor) -> list[Expr]:
    return [*x.shape[:2], *[const(1)] * (x.rank - 2)]


def _keep_mask(b: Builder, shape: Value, p: float) -> Tensor:
    drawn = drawn_in(b, uniform, shape, float64)
    return b.pointwise(lambda u: binary("lt", u, 1 - p), drawn, dtype=bool_, compute=float64)


def _dropout(by_channel: bool) -> Row:
    def row(b: Builder, x: Tensor, p: Value, train: Value, *_: Value) -> Tensor:
        _chance(b, p)
        if not isinstance(train, bool):
            b.cannot("a flag that is not known")
        if not train or p == 0:
            return x
        mask = _keep_mask(b, _by_channel(x) if by_channel else x.shape, p)
        if p == 1:
            return b.full(x.shape, 0, x.dtype)
        wide = compute_dtype(x.dtype)
        factor = const(1 / (1 - p), wide)

        def kept(e: Expr, keep: Expr) -> Expr:
            return e * (keep * factor)

        return b.pointwise(kept, x, mask, dtype=x.dtype, compute=wide)

    return row


_ALPHA = -1.7580993408473766
"""What SELU tends to far below 0."""


def _alpha_dropout(by_channel: bool) -> Row:
    """Mean and variance of SELU's output stay (Klambauer and others, 2017)."""

    def row(b: Builder, x: Tensor, p: Value, train: Value, *_: Value) -> Tensor:
        _chance(b, p)
        if not train or p == 0:
            return x
        if p == 1:
            return b.full(x.shape, 0, x.dtype)
        mask = _keep_mask(b, _by_channel(x) if by_channel else x.shape, p)
        scale = 1 / math.sqrt((_ALPHA**2 * p + 1) * (1 - p))
        shift = -scale * p * _ALPHA
        wide = compute_dtype(x.dtype)

        def kept(e: Expr, keep: Expr) -> Expr:
            chosen = select(binary("ne", keep, 0), e, const(_ALPHA, wide))
            return chosen * const(scale, wide) + const(shift, wide)

        return b.pointwise(kept, x, mask, dtype=x.dtype, compute=wide)

    return row


def _native_dropout(b: Builder, x: Tensor, p: Value, train: Value, *_: Value) -> Value:
    if train is False:
        return b.copied(x), b.full(x.shape, True, bool_)
    _chance(b, p)
    mask = _keep_mask(b, x.shape, p)
    wide = compute_dtype(x.dtype)
    factor = const(0.0 if p == 1 else 1 / (1 - p), wide)
    out = b.pointwise(lambda e, k: e * k * factor, x, mask, dtype=x.dtype, compute=wide)
    return out, mask


DROPOUT: Rows = {
    "aten::dropout": _dropout(False),
    "aten::feature_dropout": _dropout(True),
    "aten::alpha_dropout": _alpha_dropout(False),
    "aten::feature_alpha_dropout": _alpha_dropout(True),
    "aten::native_dropout": _native_dropout,
}
