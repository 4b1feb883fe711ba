"""Complex rows that are short programs of other operators, as PyTorch's composites are."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import bool_, real_dtype

from .builder import Builder, Rows
from .complex_product import multilinear
from .complex_tensors import (
    AnyTensor,
    as_complex,
    complex_full,
    complex_of,
    converted,
    paired,
    pairs_of,
)
from .dims import dimensions, dtype_of, sizes_of
from .loss import MEAN, reduced
from .repeated import repeated
from .values import ComplexTensor, Value

Row = Callable[..., Value]


# --- reductions -----------------------------------------------------------------------------------


def _with_mean(name: str) -> Row:
    """var_mean, std_mean: by the overload that is called."""

    def row(b: Builder, x: ComplexTensor, *rest: Value) -> Value:
        spread = b.call(f"aten::{name}", x, *rest)
        dims = rest[0] if rest and not isinstance(rest[0], bool) else None
        keepdim = bool(rest[-1]) if len(rest) > 1 else False
        whole = dims if dims else list(range(x.rank))
        return spread, b.call("aten::mean.dim", x, whole, keepdim)

    return row


def _logsumexp(
    b: Builder, x: ComplexTensor, dims: Value, keepdim: Value = False, *_: Value
) -> Value:
    """From the number with the largest real part, so that nothing overflows."""
    found = dimensions(b, dims, x.rank)
    top = b.apply("aten::amax", x.real, found, True)
    finite = b.apply("aten::masked_fill", top, b.apply("aten::isinf", top), 0)
    total = b.apply("aten::sum.dim_IntList", b.apply("aten::exp", _less(b, x, finite)), found, True)
    out = b.apply("aten::add", b.apply("aten::log", total), finite)
    return out if keepdim or not x.rank else b.apply("aten::squeeze", out, found)


def _less(b: Builder, x: AnyTensor, y: AnyTensor) -> AnyTensor:
    return b.apply("aten::sub", x, y)


def _of_dtype(name: str) -> Row:
    """softmax and its kind take complex numbers only to drop their imaginary parts."""

    def row(b: Builder, x: ComplexTensor, dim: Value, dtype: Value, *_: Value) -> Value:
        return b.call(f"aten::{name}", converted(b, x, dtype_of(dtype, x.dtype)), dim)

    return row


# --- losses and norms -----------------------------------------------------------------------------


def _absolute_loss(b: Builder, x: Value, y: Value, reduction: int = MEAN, *_: Value) -> Value:
    return reduced(b, b.apply("aten::abs", _less(b, x, y)), reduction)


def _rms_norm(
    b: Builder, x: ComplexTensor, shape: Value, weight: Value = None, eps: Value = None, *_: Value
) -> Value:
    """By the mean of the squares, which are complex, too."""
    dims = list(range(x.rank - len(shape), x.rank))
    small = {32: 2.0**-23, 64: 2.0**-52}[x.real.dtype.bits] if eps is None else eps
    mean = b.apply("aten::mean.dim", b.apply("aten::mul", x, x), dims, True)
    scale = b.apply("aten::rsqrt", b.apply("aten::add", mean, small))
    out = b.apply("aten::mul", x, scale)
    return out if weight is None else b.apply("aten::mul", out, weight)


def _vander(b: Builder, x: ComplexTensor, n: Value = None, *_: Value) -> Value:
    """1, x, x * x, ... along a new last dimension, by running products."""
    x = x if x.rank else b.call("aten::reshape", x, [1])
    (count,) = [x.shape[-1]] if n is None else sizes_of(b, [n])
    column = b.apply("aten::unsqueeze", x, -1)
    ones = complex_full(b, column.shape, 1, x.dtype)
    if count.is_int(0) or count.is_int(1):
        return b.call("aten::narrow", ones, -1, 0, count)
    powers = b.call("aten::expand", column, [*x.shape, count - 1])
    return b.call("aten::cat", [ones, b.call("aten::cumprod", powers, -1)], -1)


# --- convolutions ---------------------------------------------------------------------------------


def _convolution(name: str) -> Row:
    """A product of parts, then the bias of each channel."""

    def row(b: Builder, x: AnyTensor, weight: AnyTensor, bias: Value = None, *rest: Value) -> Value:
        out = multilinear(b, lambda p, q: b.apply(name, p, q, None, *rest), x, weight)
        if bias is None:
            return out
        channels = b.call("aten::reshape", bias, [-1, *[1] * (weight.rank - 2)])
        return b.call("aten::add", out, channels)

    return row


_CONVOLUTIONS = """
    conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_transpose1d
    conv_transpose2d conv_transpose2d.input conv_transpose3d conv_transpose3d.input convolution
    _convolution _convolution_mode"""


# --- views and random numbers ---------------------------------------------------------------------


def _strided(b: Builder, x: ComplexTensor, size: Value, stride: Value, *rest: Value) -> Value:
    """Strides over the numbers of a memory that `x` is all of."""
    if (pairs := pairs_of(x)) is None:
        parts = (b.call("aten::as_strided", t, size, stride, *rest) for t in x.elements)
        return ComplexTensor(*parts)
    return as_complex(b.call("aten::as_strided", pairs, *_pair_strides(size, stride, *rest)))


def _strided_scatter(
    b: Builder, x: AnyTensor, source: AnyTensor, size: Value, stride: Value, *rest: Value
) -> Value:
    """In pairs, whose memory is in order after a copy."""
    dtype = b.result_type(x, source)
    pairs, new = (paired(b, complex_of(b, t, dtype)) for t in (x, source))
    places = _pair_strides(size, stride, *rest)
    return as_complex(b.call("aten::as_strided_scatter", pairs, new, *places))


def _pair_strides(size: Value, stride: Value, offset: Value = None) -> tuple[Value, ...]:
    """Sizes, strides and offset of the numbers as those of their parts."""
    return [*size, 2], [*(2 * s for s in stride), 1], 2 * (offset or 0)


def _normal(b: Builder, x: ComplexTensor, mean: Value = 0, std: Value = 1, *rest: Value) -> Value:
    """Parts of half the variance each, drawn as pairs."""
    pairs = b.apply("aten::zeros", [*x.shape, 2], x.real.dtype.code)
    drawn = b.call("aten::normal", pairs, 0.0, std / math.sqrt(2), *rest)
    return b.call("aten::add", as_complex(drawn), mean)


def _uniform(b: Builder, x: ComplexTensor, *rest: Value) -> Value:
    pairs = b.apply("aten::zeros", [*x.shape, 2], x.real.dtype.code)
    return as_complex(b.call("aten::uniform", pairs, *rest))


def _random_like(name: str) -> Row:
    def row(b: Builder, x: ComplexTensor, dtype: Value = None, *_: Value) -> Value:
        kind = dtype_of(dtype, x.dtype)
        if not kind.is_complex:
            return b.call(f"aten::{name}_like", x.real, kind.code)
        return random_numbers(b, name, list(x.shape), kind)

    return row


def random_numbers(b: Builder, name: str, size: Value, kind: Value) -> ComplexTensor:
    """Complex numbers of `rand` or `randn`, drawn as pairs."""
    pairs = b.apply(f"aten::{name}", [*size, 2], real_dtype(kind).code)
    drawn = as_complex(pairs)
    if name == "rand":
        return drawn
    found: ComplexTensor = b.call("aten::mul", drawn, math.sqrt(0.5))
    return found


def _logical(b: Builder, x: ComplexTensor, *rest: Value) -> Value:
    """nonzero and its kind: of where numbers are not 0."""
    return b.call(b.operator, converted(b, x, bool_), *rest)


def _ldexp(b: Builder, x: AnyTensor, y: AnyTensor, *_: Value) -> Value:
    return b.call("aten::mul", x, b.call("aten::pow.Scalar", 2.0, y))


def _not_dropped(b: Builder, x: ComplexTensor, p: Value, train: Value, *_: Value) -> ComplexTensor:
    """Dropout outside of training."""
    if train is not False:
        b.cannot("dropout of complex numbers")
    return x


COMPLEX_PROGRAM: Rows = {
    "aten::var_mean": _with_mean("var"),
    "aten::std_mean": _with_mean("std"),
    "aten::logsumexp": _logsumexp,
    **{f"aten::{name}": _of_dtype(name) for name in ("softmax", "log_softmax")},
    "aten::l1_loss": _absolute_loss,
    "aten::rms_norm": _rms_norm,
    "aten::linalg_vander": _vander,
    **{f"aten::{name}": _convolution(f"aten::{name}") for name in _CONVOLUTIONS.split()},
    "aten::as_strided": _strided,
    "aten::as_strided_scatter": _strided_scatter,
    "aten::normal": _normal,
    "aten::uniform": _uniform,
    "aten::rand_like": _random_like("rand"),
    "aten::randn_like": _random_like("randn"),
    **{
        f"aten::{name}": _logical
        for name in ("nonzero", "argwhere", "nonzero_numpy", "nonzero_static")
    },
    "aten::ldexp": _ldexp,
    "aten::repeat_interleave.self_Tensor": repeated,
    **{
        f"aten::{name}": _not_dropped
        for name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
    },
}
"""Rows of which an operand is complex."""
