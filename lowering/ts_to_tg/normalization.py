"""Rows of softmax and normalisations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder, Rows
from .dims import dimension, dtype_of
from .elements import compute_dtype
from .reduction import combine, moments
from .sizes import product
from .values import Tensor, Value

SHORT = 16
"""Elements of rows that are turned, a row in each lane (`schedules/short_rows.py`)."""


def softmax(log: bool = False, safe: bool = False) -> Callable[..., Tensor]:
    """max, exp of the difference, sum, quotient; in float32 for half types.

    A row of nothing but -inf is NaN, or 0 if `safe`."""

    def row(b: Builder, x: Tensor, dim: Value, dtype: Value = None, *_: Value) -> Tensor:
        kind = dtype_of(None if isinstance(dtype, bool) else dtype, x.dtype)
        wide = compute_dtype(kind)
        at = [dimension(b, dim, x.rank)] if x.rank else []
        # A NaN is in the sum, and so in the whole row.
        top = combine(b, x, at, True, "greater", wide, wide=wide)
        if safe:
            lowest = const(float(np.finfo(wide.numpy).min), wide)
            top = b.pointwise(lambda e: binary("max", e, lowest), top, dtype=wide)
        shifted = b.pointwise(lambda e, m: e - m, x, top, dtype=wide, compute=wide)
        powers = b.pointwise(lambda e: call("decay", e), shifted)
        total = combine(b, powers, at, True, "add", wide)
        if log and _are_short(x, at):  # whose numbers are in lanes
            return b.pointwise(
                lambda e, s: e - call("log", s), shifted, total, dtype=kind, compute=wide
            )
        if log:  # of each row once
            logarithm = b.pointwise(lambda s: call("log", s), total, dtype=total.dtype)
            return b.pointwise(lambda e, s: e - s, shifted, logarithm, dtype=kind, compute=wide)

        # One division a row: within a unit in the last place of dividing every element.
        def inverse_of(s: Expr) -> Expr:
            inverse = const(1, s.dtype) / s
            return select(s.equals(0), const(0, s.dtype), inverse) if safe else inverse

        inverse = b.pointwise(inverse_of, total, dtype=total.dtype)
        return b.pointwise(lambda e, s: e * s, powers, inverse, dtype=kind, compute=wide)

    return row


def _are_short(x: Tensor, at: list[int]) -> bool:
    """Rows that lie along memory, of few elements each."""
    size = x.shape[-1] if at == [x.rank - 1] else None
    return size is not None and size.is_const and int(str(size)) <= SHORT


def scaled_and_shifted(
    b: Builder, x: Tensor, mean: Tensor, var: Tensor, weight: Value, bias: Value, eps: Value
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias; all broadcast to x."""
    wide = compute_dtype(x.dtype)

    def fn(e: Expr, m: Expr, v: Expr, *affine: Expr) -> Expr:
        factors = [e - m, call("rsqrt", v + const(eps, wide))]
        at = iter(affine)
        if weight is not None:
            factors = [factors[0] * factors[1], next(at)]
        return call("muladd", *factors, next(at)) if bias is not None else factors[0] * factors[1]

    extra = [t for t in (weight, bias) if t is not None]
    return b.pointwise(fn, x, mean, var, *extra, dtype=x.dtype, compute=wide)


def layer_norm(
    b: Builder,
    x: Tensor,
    shape: Value,
    weight: Value = None,
    bias: Value = None,
    eps: Value = 1e-5,
    *_: Value,
) -> Tensor:
    lead = x.rank - len(shape)
    if lead < 0 or any(not _fits(p, q) for p, q in zip(shape, x.shape[lead:], strict=True)):
        b.error(
            f"Given normalized_shape={list(shape)}, expected input with shape"
            f" [*, {', '.join(map(str, shape))}], but got input of size{list(x.shape)}"
        )
    mean, var = moments(b, x, list(range(lead, x.rank)), True, 0)
    return scaled_and_shifted(b, x, mean, var, weight, bias, eps)


def _fits(size: Value, have: Expr) -> bool:
    """Whether a size given as a value equals a dimension (checked later if unknown)."""
    if isinstance(size, int) and have.op == "const":
        return bool(have.value == size)
    return True


def rms_norm(
    b: Builder, x: Tensor, shape: Value, weight: Value = None, eps: Value = None, *_: Value
) -> Tensor:
    dims = list(range(x.rank - len(shape), x.rank))
    wide = compute_dtype(x.dtype)
    small = {"float64": 2.220446049250313e-16}.get(wide.name, 1.1920928955078125e-07)
    squares = b.call("aten::mean.dim", b.pointwise(lambda e: e * e, b.cast(x, wide)), dims, True)
    epsilon = const(small if eps is None else eps, wide)

    def fn(e: Expr, s: Expr, *w: Expr) -> Expr:
        out = e * call("rsqrt", s + epsilon)
        return out * w[0] if w else out

    extra = [] if weight is None else [weight]
    return b.pointwise(fn, x, squares, *extra, dtype=x.dtype, compute=wide)


def per_channel(b: Builder, t: Tensor, rank: int) -> Tensor:
    """A vector as (C, 1, 1, ...) to broadcast over a tensor of `rank` with channels second."""
    return b.call("tg::view", t, [t.shape[0], *([1] * (rank - 2))]) if rank > 2 else t


def batch_norm(
    b: Builder,
    x: Tensor,
    weight: Value,
    bias: Value,
    mean: Value,
    var: Value,
    training: bool,
    momentum: float,
    eps: float,
    *_: Value,
) -> Tensor:
    if product(x.shape).is_int(0):
        return b.copied(x)
    for name, found in (("mean", mean), ("var", var)):
        if found is None and not training:
            b.error(f"running_{name} must be defined in evaluation mode")
    if training:
        return _batch_norm_training(b, x, weight, bias, mean, var, momentum, eps)
    wide = compute_dtype(x.dtype)

    # scale and shift per channel: a computation on C elements, folded where they are constants.
    def scale(v: Expr, *w: Expr) -> Expr:
        r = call("rsqrt", v + const(eps, wide))
        return r * w[0] if w else r

    first = [weight] if weight is not None else []
    factor = b.pointwise(scale, var, *first, dtype=wide, compute=wide)

    def shift(m: Expr, f: Expr, *c: Expr) -> Expr:
        return c[0] - m * f if c else -(m * f)

    last = [bias] if bias is not None else []
    offset = b.pointwise(shift, mean, factor, *last, dtype=wide, compute=wide)
    return b.pointwise(
        lambda e, f, o: e * f + o,
        x,
        per_channel(b, factor, x.rank),
        per_channel(b, offset, x.rank),
        dtype=x.dtype,
        compute=wide,
    )


def _batch_norm_training(
    b: Builder,
    x: Tensor,
    weight: Value,
    bias: Value,
    mean: Value,
    var: Value,
    momentum: float,
    eps: float,
) -> Tensor:
    dims = [d for d in range(x.rank) if d != 1]
    now, spread = moments(b, x, dims, True, 0)
    if mean is not None and var is not None:
        n = b.call("aten::numel", x) // x.shape[1]
        flat = [b.apply("tg::view", t, [x.shape[1]]) for t in (now, spread)]
        _track(b, mean, var, flat[0], flat[1], n, momentum)
    extra = [None if t is None else per_channel(b, t, x.rank) for t in (weight, bias)]
    return scaled_and_shifted(b, x, now, spread, extra[0], extra[1], eps)


def _track(
    b: Builder,
    mean: Tensor,
    var: Tensor,
    now: Tensor,
    spread: Tensor,
    count: Value,
    blend: Value,
) -> None:
    """Running statistics (C,) take in those of `count` elements; variances become unbiased."""
    new_mean = b.pointwise(lambda o, m, k: o * (1 - k) + m * k, mean, now, blend)
    new_var = b.pointwise(
        lambda o, v, c, k: o * (1 - k) + v * (c / (c - 1)) * k,
        var, spread, count, blend, dtype=var.dtype, compute=compute_dtype(var.dtype),
    )  # fmt: skip
    b.write(mean, b.cast(new_mean, mean.dtype))
    b.write(var, b.cast(new_var, var.dtype))


def group_norm(
    b: Builder,
    x: Tensor,
    groups: int,
    weight: Value = None,
    bias: Value = None,
    eps: float = 1e-5,
    *_: Value,
) -> Tensor:
    n, c = x.shape[0], x.shape[1]
    split = b.call("tg::view", x, [n, groups, c // groups, *x.shape[2:]])
    mean, var = moments(b, split, list(range(2, split.rank)), True, 0)
    w, o = (
        None if t is None else b.call("tg::view", t, [groups, c // groups, *([1] * (x.rank - 2))])
        for t in (weight, bias)
    )
    out = scaled_and_shifted(b, split, mean, var, w, o, eps)
    return b.apply("tg::view", out, list(x.shape))


def instance_norm(
    b: Builder,
    x: Tensor,
    weight: Value,
    bias: Value,
    mean: Value,
    var: Value,
    use_input: bool,
    momentum: float,
    eps: float,
    *_: Value,
) -> Tensor:
    if (mean is None) != (var is None):
        b.error("running_mean and running_var must either both be None or neither be None")
    if not use_input:
        if mean is None:
            b.error(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        return batch_norm(b, x, weight, bias, mean, var, False, momentum, eps)
    now, spread = moments(b, x, list(range(2, x.rank)), True, 0)
    if mean is not None and var is not None:
        each = [b.apply("tg::view", t, list(x.shape[:2])) for t in (now, spread)]
        over = [b.apply("aten::mean.dim", t, [0]) for t in each]
        _track(b, mean, var, over[0], over[1], product(x.shape[2:]), momentum)
    extra = [None if t is None else per_channel(b, t, x.rank) for t in (weight, bias)]
    return scaled_and_shifted(b, x, now, spread, extra[0], extra[1], eps)


def _norm_except(b: Builder, v: Tensor, power: Value = 2, dim: int = 0, *_: Value) -> Tensor:
    """The norm over all dimensions but one; over all of them, as one number, for dim -1."""
    if not v.dtype.is_floating_point:
        b.error(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{v.dtype.word} instead."
        )
    if dim == -1:
        return b.apply("aten::norm", v, power)
    return b.apply("aten::norm", v, power, [d for d in range(v.rank) if d != dim], True)


def _weight_norm(b: Builder, v: Tensor, g: Tensor, dim: int = 0, *_: Value) -> Tensor:
    return b.pointwise(lambda e, s, n: e * (s / n), v, g, _norm_except(b, v, 2, dim))


NORMALIZATION: Rows = {
    "aten::softmax": softmax(),
    "aten::_softmax": softmax(),
    "aten::_safe_softmax": softmax(safe=True),
    "aten::log_softmax": softmax(log=True),
    "aten::_log_softmax": softmax(log=True),
    "aten::layer_norm": layer_norm,
    "aten::rms_norm": rms_norm,
    "aten::batch_norm": batch_norm,
    "aten::group_norm": group_norm,
    "aten::instance_norm": instance_norm,
    "aten::norm_except_dim": _norm_except,
    "aten::_weight_norm": _weight_norm,
}
