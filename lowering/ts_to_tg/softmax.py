"""Rows of softmax and its kin: the row's maximum, the sum of exponentials, then each element."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import BY_CODE, DType
from tensorscript.dialects.te.expr import Expr, call, const

from .builder import Builder, Rows
from .dims import dimension, keep, rejoined
from .elements import compute_dtype
from .values import Tensor, Value


def normalised(b: Builder, x: Tensor, dim: Value, dtype: DType, log: bool) -> Tensor:
    """softmax or log_softmax of `x` over `dim`, computed wide and rounded once to `dtype`."""
    wide = compute_dtype(dtype)
    if not x.rank:
        return b.full((), 0.0 if log else 1.0, dtype)
    d = dimension(b, dim, x.rank)
    shape, extents = keep(x.shape, [d], True), [x.shape[d]]

    def element(fn: Callable[..., Expr], *others: Tensor) -> Callable[..., Expr]:
        def make(body: Value, i: list[Expr], r: list[Expr]) -> Expr:
            at = rejoined(x.rank, [d], i, r, True)
            row = [const(0) if k == d else e for k, e in enumerate(at)]
            return fn(body.read(x, at, wide), *(body.read(o, row, wide) for o in others))

        return make

    top = b.reduce(shape, extents, wide, "max", element(lambda e: e))
    total = b.reduce(shape, extents, wide, "add", element(lambda e, m: call("exp", e - m), top))

    def plain(e: Expr, m: Expr, s: Expr) -> Expr:
        return call("exp", e - m) / s

    def logarithm(e: Expr, m: Expr, s: Expr) -> Expr:
        return e - m - call("log", s)

    fn = logarithm if log else plain
    return b.pointwise(fn, x, top, total, dtype=dtype, compute=wide)


def softmax(log: bool) -> Callable[..., Tensor]:
    def row(b: Builder, x: Tensor, dim: Value, dtype: Value = None, *_: Value) -> Tensor:
        kind = x.dtype
        if isinstance(dtype, bool):
            kind = BY_CODE[6] if dtype else kind
        elif dtype is not None:
            kind = BY_CODE[dtype]
        if not kind.is_floating_point:
            b.error(f"\"softmax_lastdim_kernel_impl\" not implemented for '{x.dtype.word}'")
        return normalised(b, x, dim, kind, log)

    return row


def _dropout(b: Builder, x: Tensor, p: Value = 0.5, train: Value = False, *_: Value) -> Tensor:
    if train is True and p == 1:
        return b.call("aten::mul", x, 0)
    if train is not False and p != 0:
        b.cannot("random numbers")
    return x


SOFTMAX: Rows = {
    "aten::softmax": softmax(False),
    "aten::_softmax": softmax(False),
    "aten::special_softmax": softmax(False),
    "aten::log_softmax": softmax(True),
    "aten::_log_softmax": softmax(True),
    "aten::special_log_softmax": softmax(True),
    **{f"aten::{n}dropout": _dropout for n in ("", "feature_", "alpha_", "feature_alpha_")},
}
