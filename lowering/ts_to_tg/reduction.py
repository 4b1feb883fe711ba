"""Rows that combine elements over dimensions. Half types accumulate in float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tensorscript.base.dtypes import DType, bool_, float32, float64, int64, uint8
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select, unary
from tensorscript.dialects.te.extremes import next_best

from .builder import Builder, Rows
from .dims import dimension, dimensions, dtype_of, keep, rejoined
from .elements import compute_dtype, convert
from .pointwise import absolute
from .sizes import product, simplify
from .values import Tensor, Value


def combine(
    b: Builder,
    x: Tensor,
    dims: list[int],
    keepdim: bool,
    combiner: str,
    dtype: DType,
    fn: Callable[[Expr], Expr] = lambda e: e,
    wide: DType | None = None,
    total: DType | None = None,
) -> Tensor:
    """`fn` of the elements of `x` (in `wide`) combined over `dims` (in `total`), as `dtype`."""
    wide = wide or compute_dtype(dtype)
    if not x.rank:
        return b.compute((), dtype, lambda body, i: fn(body.read(x, i, wide)))
    out = b.reduce(
        keep(x.shape, dims, keepdim),
        [x.shape[d] for d in dims],
        total or wide,
        combiner,
        lambda body, i, r: fn(body.read(x, rejoined(x.rank, dims, i, r, keepdim), wide)),
        part=wide,
    )
    return b.cast(out, dtype)


def count(x: Tensor, dims: list[int]) -> Expr:
    return product(tuple(x.shape[d] for d in dims)) if x.rank else const(1)


def _sum_dtype(x: Tensor, code: Value) -> DType:
    return dtype_of(code, x.dtype if x.dtype.is_floating_point else int64)


def _sum(
    b: Builder,
    x: Tensor,
    dims: Value = None,
    keepdim: Value = False,
    dtype: Value = None,
    *_: Value,
) -> Tensor:
    return combine(b, x, dimensions(b, dims, x.rank), keepdim, "add", _sum_dtype(x, dtype))


def _sum_all(b: Builder, x: Tensor, dtype: Value = None, *_: Value) -> Tensor:
    return _sum(b, x, None, False, dtype)


def _prod(
    b: Builder, x: Tensor, dim: Value = None, keepdim: Value = False, dtype: Value = None, *_: Value
) -> Tensor:
    return combine(b, x, dimensions(b, dim, x.rank), keepdim, "mul", _sum_dtype(x, dtype))


def _prod_all(b: Builder, x: Tensor, dtype: Value = None, *_: Value) -> Tensor:
    return _prod(b, x, None, False, dtype)


def _mean(
    b: Builder,
    x: Tensor,
    dims: Value = None,
    keepdim: Value = False,
    dtype: Value = None,
    *_: Value,
) -> Tensor:
    kind = dtype_of(dtype, x.dtype)
    if not kind.is_floating_point:
        b.error(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or"
            f" complex dtype. Got: {x.dtype.word}"
        )
    found = dimensions(b, dims, x.rank)
    wide = compute_dtype(kind)
    total = combine(b, x, found, keepdim, "add", wide)
    return b.pointwise(lambda e, n: e / n, total, count(x, found), dtype=kind, compute=wide)


def _mean_all(b: Builder, x: Tensor, dtype: Value = None, *_: Value) -> Tensor:
    return _mean(b, x, None, False, dtype)


FEW = 64
"""Numbers up to which rounding errors show in a sum of their squares."""


def moments(
    b: Builder, x: Tensor, dims: list[int], keepdim: bool, correction: Value
) -> tuple[Tensor, Tensor]:
    """Mean and variance in the computing dtype: mean first, then squared differences."""
    wide = compute_dtype(x.dtype)
    mean = _centre(b, x, dims, keepdim, wide)
    kept = _kept(b, x, dims, keepdim, mean)
    return mean, _spread(b, x, kept, dims, keepdim, correction)


def precise_moments(
    b: Builder, x: Tensor, dims: list[int], keepdim: bool, correction: Value
) -> tuple[Tensor, Tensor]:
    """The same; of float32 as precisely as PyTorch's variances, which are calculated in float64.

    The squares of differences are added up in float64. What is squared are differences to the first
    element less their mean (Chan, Golub and LeVeque, 1983: shifted data), so that nothing is lost
    where all elements are far from 0. Where they are few, so that errors do not average out, or may
    be none, everything is float64.
    """
    n = count(x, dims)
    if x.dtype is not float32:
        return moments(b, x, dims, keepdim, correction)
    if not (n.is_const and int(str(n)) >= FEW):
        return moments(b, b.cast(x, float64), dims, keepdim, correction)
    first = b.compute(keep(x.shape, dims, True), float32, lambda body, i: body.read(x, i, float32))
    shifted = b.pointwise(lambda e, f: e - f, x, first)
    centre = _centre(b, shifted, dims, keepdim, float32)
    if x.rank - 1 in dims:
        spread = _spread_of_rows(b, x, first, centre, dims, keepdim, correction)
    else:
        kept = _kept(b, x, dims, keepdim, centre)
        spread = _spread(b, shifted, kept, dims, keepdim, correction, float64)
    return _centre(b, x, dims, keepdim, float32, float64), spread


def _centre(
    b: Builder,
    x: Tensor,
    dims: list[int],
    keepdim: bool,
    wide: DType,
    total: DType | None = None,
) -> Tensor:
    """The mean; the sum is made in `total`."""
    last = total or wide
    summed = combine(b, x, dims, keepdim, "add", last, wide=wide, total=last)
    return b.pointwise(lambda e, c: e / c, summed, count(x, dims), dtype=wide, compute=last)


def _kept(b: Builder, x: Tensor, dims: list[int], keepdim: bool, mean: Tensor) -> Tensor:
    """A mean with its dimensions, for what reads it beside the elements. What is made of it has
    those that the results have: stages of one kernel have one shape."""
    if keepdim or not x.rank:
        return mean
    made: Tensor = b.call("tg::view", mean, list(keep(x.shape, dims, True)))
    return made


def _spread(
    b: Builder,
    x: Tensor,
    mean: Tensor,
    dims: list[int],
    keepdim: bool,
    correction: Value,
    total: DType | None = None,
) -> Tensor:
    """The squared differences to the mean, added up (in `total`), over what they are divided by."""
    wide = mean.dtype
    last = total or wide

    def squared(e: Expr, m: Expr) -> Expr:
        return (e - m) * (e - m)

    squares = b.pointwise(squared, x, mean, dtype=wide, compute=wide)
    summed = combine(b, squares, dims, keepdim, "add", last, wide=wide, total=last)

    def scale(e: Expr, c: Expr, k: Expr) -> Expr:
        return e / binary("max", c - k, 0)

    return b.pointwise(scale, summed, count(x, dims), correction, dtype=last, compute=last)


def _spread_of_rows(
    b: Builder,
    x: Tensor,
    first: Tensor,
    centre: Tensor,
    dims: list[int],
    keepdim: bool,
    correction: Value,
) -> Tensor:
    """`_spread` of x less its first element, in float64: one subtraction an element.

    Squared are differences to c, what `first + centre` rounds to. Those to the sum itself are
    n e^2 less, where e is the part that rounding took (exactly that: Knuth's TwoSum).
    """

    def squared(e: Expr, f: Expr, m: Expr) -> Expr:
        return (e - (f + m)) * (e - (f + m))

    kept = _kept(b, x, dims, keepdim, centre)
    squares = b.pointwise(squared, x, first, kept, dtype=float32, compute=float32)
    summed = combine(b, squares, dims, keepdim, "add", float64, wide=float32, total=float64)

    def lost(f: Expr, m: Expr) -> Expr:
        whole = f + m
        added = whole - f
        return (f - (whole - added)) + (m - added)

    def scale(e: Expr, rest: Expr, c: Expr, k: Expr) -> Expr:
        return binary("max", e - c * (rest * rest), 0) / binary("max", c - k, 0)

    if not keepdim:
        first = b.call("tg::view", first, list(centre.shape))
    rest = b.pointwise(lost, first, centre, dtype=float32)
    return b.pointwise(
        scale, summed, rest, count(x, dims), correction, dtype=float64, compute=float64
    )


def _var_arguments(
    b: Builder, x: Tensor, arguments: tuple[Value, ...]
) -> tuple[Value, Value, Value]:
    """(dims, correction, keepdim) of the overloads of var and std."""
    if not x.dtype.is_floating_point:
        b.error("std and var only support floating point and complex dtypes")
    first = arguments[0] if arguments else None
    if len(arguments) == 1 and isinstance(first, bool):
        return None, int(first), False
    if len(arguments) == 3 and isinstance(arguments[1], bool):
        return first, int(arguments[1]), arguments[2]
    correction = arguments[1] if len(arguments) > 1 else 1
    return (
        first,
        1 if correction is None else correction,
        arguments[2] if len(arguments) > 2 else False,
    )


def deviation(is_std: bool, with_mean: bool) -> Callable[..., Value]:
    """Rows of `var` and `std`, of those that give the mean, too: (result[, mean])."""

    def row(b: Builder, x: Tensor, *arguments: Value) -> Value:
        dims, correction, keepdim = _var_arguments(b, x, arguments)
        found = dimensions(b, dims, x.rank)
        mean, var = precise_moments(b, x, found, keepdim, correction)
        if is_std:
            var = b.pointwise(lambda e: call("sqrt", e), var)
        var = b.cast(var, x.dtype)
        return (var, b.cast(mean, x.dtype)) if with_mean else var

    return row


def _need_elements(b: Builder, x: Tensor, dims: list[int], name: str) -> None:
    message = (
        f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
        "reduction dim with the 'dim' argument."
    )
    for size in (x.shape[d] for d in dims if x.rank):
        if size.is_int(0) or b.may_be_zero(size):
            b.check(simplify(binary("ne", size, 0)), message)


def extreme(op: str) -> Callable[..., Tensor]:
    """amax, amin, and max, min over everything."""

    def row(b: Builder, x: Tensor, dims: Value = None, keepdim: Value = False, *_: Value) -> Tensor:
        found = dimensions(b, dims, x.rank)
        _need_elements(b, x, found, op)
        if x.dtype is bool_:
            return combine(b, x, found, keepdim, "or" if op == "max" else "and", bool_)
        return combine(b, x, found, keepdim, op, x.dtype)

    return row


def arg_extreme(op: str) -> Callable[..., Tensor]:
    """The first index of the extreme element; NaN counts as extreme."""

    def row(b: Builder, x: Tensor, dim: Value = None, keepdim: Value = False, *_: Value) -> Tensor:
        if dim is None:
            flat = b.call("aten::reshape", x, [-1])
            out = row(b, flat, 0, False)
            return b.call("aten::reshape", out, [1] * x.rank) if keepdim else out
        at = dimension(b, dim, x.rank)
        if not x.rank:
            return b.full((), 0, int64)
        _need_elements(b, x, [at], f"arg{op}")
        if x.shape[at].is_int(1):
            return b.full(keep(x.shape, [at], keepdim), 0, int64)
        wide = compute_dtype(x.dtype)
        best = extreme(op)(b, x, [at], True)
        if wide.is_floating_point:
            best = b.pointwise(lambda e: next_best(op, e), best, dtype=wide, compute=wide)
        size = x.shape[at]

        def first(body: Value, i: list[Expr], r: list[Expr]) -> Expr:
            index = rejoined(x.rank, [at], i, r, keepdim)
            e = body.read(x, index, wide)
            top = body.read(best, [const(0) if d == at else k for d, k in enumerate(index)], wide)
            if wide.is_floating_point:
                hit = unary("not", binary("le" if op == "max" else "ge", e, top))
            else:
                hit = e.equals(top)
            return select(hit, r[0], size - 1)

        return b.reduce(keep(x.shape, [at], keepdim), [size], int64, "min", first)

    return row


def with_index(op: str) -> Callable[..., Value]:
    """max and min along a dimension: values and indices."""

    def row(b: Builder, x: Tensor, dim: Value, keepdim: Value = False, *_: Value) -> Value:
        return extreme(op)(b, x, [dim], keepdim), arg_extreme(op)(b, x, dim, keepdim)

    return row


def truth(op: str) -> Callable[..., Tensor]:
    """Rows of `all` (op "and") and `any` (op "or"); bytes give bytes."""

    def row(b: Builder, x: Tensor, dims: Value = None, keepdim: Value = False, *_: Value) -> Tensor:
        found = combine(b, x, dimensions(b, dims, x.rank), keepdim, op, bool_, wide=bool_)
        return b.cast(found, uint8) if x.dtype is uint8 else found

    return row


def _count_nonzero(b: Builder, x: Tensor, dims: Value = None, *_: Value) -> Tensor:
    wide = compute_dtype(x.dtype)
    found = dimensions(b, dims, x.rank)
    mask = b.pointwise(lambda e: convert(e, bool_), x, dtype=bool_, compute=wide)
    return combine(b, mask, found, False, "add", int64)


def norm(
    b: Builder,
    x: Tensor,
    p: Value = 2,
    dims: Value = None,
    keepdim: Value = False,
    dtype: Value = None,
    *_: Value,
) -> Tensor:
    """The p-norm along `dims` (all if None), of any real p and both infinities."""
    kind = dtype_of(dtype, x.dtype)
    found = dimensions(b, dims, x.rank)
    wide = compute_dtype(kind)
    p = 2 if p is None else p
    if p in (math.inf, -math.inf):
        return combine(b, x, found, keepdim, "max" if p > 0 else "min", kind, absolute)
    if p == 0:
        return combine(
            b, x, found, keepdim, "add", kind, lambda e: cast(binary("ne", e, 0.0), wide)
        )
    if p == 1:
        return combine(b, x, found, keepdim, "add", kind, absolute)
    if p == 2:
        total = combine(b, x, found, keepdim, "add", wide, lambda e: e * e)
        return b.pointwise(lambda e: call("sqrt", e), total, dtype=kind, compute=wide)
    power = const(p, wide)
    total = combine(b, x, found, keepdim, "add", wide, lambda e: binary("pow", absolute(e), power))
    inverse = const(1 / p, wide)
    return b.pointwise(lambda e: binary("pow", e, inverse), total, dtype=kind, compute=wide)


def logsumexp(b: Builder, x: Tensor, dims: Value, keepdim: Value = False, *_: Value) -> Tensor:
    """log(sum(exp(x))) along `dims`, from the largest element so that nothing overflows."""
    x = x if x.dtype.is_floating_point else b.cast(x, b.default_dtype)
    found = dimensions(b, dims, x.rank)
    wide = compute_dtype(x.dtype)
    top = combine(b, x, found, True, "max", wide)
    lowest = const(float(np.finfo(wide.numpy).min), wide)
    most = b.pointwise(lambda e: binary("max", e, lowest), top)
    shifted = b.pointwise(lambda e, m: call("decay", e - m), x, most, dtype=wide, compute=wide)
    total = combine(b, shifted, found, True, "add", wide)

    def result(s: Expr, m: Expr) -> Expr:
        return select(m.equals(const(math.inf, wide)), m, call("log", s) + m)

    out = b.pointwise(result, total, most, dtype=x.dtype, compute=wide)
    if keepdim:
        return out
    return b.apply("tg::view", out, list(keep(x.shape, found, False)) if x.rank else [])


def _aminmax(b: Builder, x: Tensor, dim: Value = None, keepdim: Value = False, *_: Value) -> Value:
    dims = None if dim is None else [dim]
    return extreme("min")(b, x, dims, keepdim), extreme("max")(b, x, dims, keepdim)


REDUCTION: Rows = {
    "aten::sum": _sum_all,
    "aten::sum.dim_IntList": _sum,
    "aten::nansum": lambda b, x, *a: _sum(
        b, b.pointwise(lambda e: select(call("isnan", e), const(0, e.dtype), e), x), *a
    ),
    "aten::prod": _prod_all,
    "aten::prod.dim_int": _prod,
    "aten::mean": _mean_all,
    "aten::mean.dim": _mean,
    "aten::var": deviation(False, False),
    "aten::std": deviation(True, False),
    "aten::var_mean": deviation(False, True),
    "aten::std_mean": deviation(True, True),
    "aten::amax": extreme("max"),
    "aten::amin": extreme("min"),
    "aten::aminmax": _aminmax,
    "aten::max": extreme("max"),
    "aten::min": extreme("min"),
    "prim::max": extreme("max"),
    "prim::min": extreme("min"),
    "aten::max.dim": with_index("max"),
    "aten::min.dim": with_index("min"),
    "aten::argmax": arg_extreme("max"),
    "aten::argmin": arg_extreme("min"),
    "aten::all": truth("and"),
    "aten::_is_all_true": truth("and"),
    "aten::_is_any_true": truth("or"),
    "aten::any": truth("or"),
    "aten::count_nonzero": _count_nonzero,
    "aten::norm": norm,
    "aten::norm.ScalarOpt_dtype": lambda b, x, p, dtype: norm(b, x, p, None, False, dtype),
    "aten::linalg_vector_norm": norm,
    "aten::frobenius_norm": lambda b, x, dims=None, keepdim=False, *_: norm(b, x, 2, dims, keepdim),
    "aten::logsumexp": logsumexp,
}
