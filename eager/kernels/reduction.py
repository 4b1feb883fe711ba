"""Reductions: `dim` may be one, several or all; float16 and bfloat16 accumulate in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bool_, int64, real_dtype
from tensorscript.base.errors import DimensionError, OperatorError

from ..storage import Array, cast, compute, floating, sum_dtype, value, wrap
from .shapes import axes, normal_dim

Kernel = Callable[..., Any]
Dims = Sequence[int] | int | None


def reduce_sum(self: Any, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    out = dtype or sum_dtype(self.dtype)
    x = cast(self, out)
    return wrap(x.sum(axis=axes(dim, x.ndim), keepdims=keepdim, dtype=x.dtype), out)


def nansum(self: Any, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    out = dtype or sum_dtype(self.dtype)
    x = cast(self, out)
    return wrap(np.nansum(x, axis=axes(dim, x.ndim), keepdims=keepdim, dtype=x.dtype), out)


def sum_all(self: Any, dtype: Any = None) -> Any:
    return reduce_sum(self, None, False, dtype)


def prod_dim(self: Any, dim: int, keepdim: bool = False, dtype: Any = None) -> Any:
    out = dtype or sum_dtype(self.dtype)
    x = cast(self, out)
    return wrap(x.prod(axis=axes(dim, x.ndim), keepdims=keepdim, dtype=x.dtype), out)


def prod(self: Any, dtype: Any = None) -> Any:
    out = dtype or sum_dtype(self.dtype)
    return wrap(cast(self, out).prod(dtype=cast(self, out).dtype), out)


def _float_result(self: Any, dtype: Any, name: str) -> DType:
    out: DType = dtype or self.dtype
    if not (out.is_floating_point or out.is_complex):
        which = "Optional" if dtype else "Input"
        raise OperatorError(
            f"{name}(): could not infer output dtype. {which} dtype must be either a floating "
            f"point or complex dtype. Got: {out.word}"
        )
    return out


def mean(self: Any, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    out = _float_result(self, dtype, "mean")
    x = cast(self, out)
    over = axes(dim, x.ndim)
    count = int(np.prod([x.shape[a] for a in over], dtype=np.int64))
    total = x.sum(axis=over, keepdims=keepdim, dtype=x.dtype)
    return wrap(np.divide(total, x.dtype.type(count)), out)


def mean_all(self: Any, dtype: Any = None) -> Any:
    return mean(self, None, False, dtype)


def nanmean(self: Any, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    out = _float_result(self, dtype, "nanmean")
    x = cast(self, out)
    over = axes(dim, x.ndim)
    count = (~np.isnan(x)).sum(axis=over, keepdims=keepdim)
    return wrap(np.nansum(x, axis=over, keepdims=keepdim) / count.astype(x.dtype), out)


def variance(x: Array, over: tuple[int, ...], correction: float, keepdim: bool) -> Array:
    """Sum of squared distances to the mean, over max(0, n - correction); that of float32 is made in
    float64, as PyTorch's is."""
    if x.dtype == np.float32:
        return variance(x.astype(np.float64), over, correction, keepdim).astype(np.float32)
    count = float(np.prod([x.shape[a] for a in over], dtype=np.int64))
    centre = x.sum(axis=over, keepdims=True, dtype=x.dtype) / x.dtype.type(count)
    distance = np.abs(x - centre) if x.dtype.kind == "c" else x - centre
    total = np.asarray((distance * distance).sum(axis=over, keepdims=keepdim))
    return np.asarray(np.divide(total, total.dtype.type(max(0.0, count - correction))))


def _spread(root: bool, with_mean: bool) -> Callable[[Any, Dims, float, bool], Any]:
    def run(self: Any, dim: Dims, correction: float, keepdim: bool) -> Any:
        if not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise OperatorError("std and var only support floating point and complex dtypes")
        x = compute(self)
        out = variance(x, axes(dim, x.ndim), correction, keepdim)
        spread = wrap(np.sqrt(out) if root else out, real_dtype(self.dtype))
        return (spread, mean(self, dim, keepdim)) if with_mean else spread

    return run


def _spread_rows(name: str, root: bool, with_mean: bool) -> dict[str, Kernel]:
    run = _spread(root, with_mean)
    return {
        f"aten::{name}": lambda self, unbiased=True: run(self, None, float(unbiased), False),
        f"aten::{name}.dim": lambda self, dim, unbiased=True, keepdim=False: run(
            self, dim, float(unbiased), keepdim
        ),
        f"aten::{name}.correction": lambda self, dim=None, correction=None, keepdim=False: run(
            self, dim, 1.0 if correction is None else float(correction), keepdim
        ),
    }


def _nonempty(x: Array, over: tuple[int, ...], name: str) -> None:
    for a in over:
        if x.shape[a] == 0:
            raise DimensionError(f"{name}(): Expected reduction dim {a} to have non-zero size.")


_UNNAMED = (
    "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
    "dim with the 'dim' argument."
)


def extremum(fn: Callable[..., Any], name: str) -> Kernel:
    """amax and amin: NaN wins."""

    def run(self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
        x = value(self)
        if x.size == 0 and (dim is None or dim == []):
            raise OperatorError(_UNNAMED.format(name))
        over = axes(dim, x.ndim)
        _nonempty(x, over, name)
        return wrap(fn(x, axis=over, keepdims=keepdim), self.dtype)

    return run


def whole_extremum(fn: Callable[..., Any], name: str) -> Kernel:
    def run(self: Any) -> Any:
        if self._array.size == 0:
            raise OperatorError(_UNNAMED.format(name))
        return wrap(fn(value(self)), self.dtype)

    return run


def extremum_at(fn: Callable[..., Any], name: str) -> Kernel:
    """max and min along a dimension: values and indices; the first NaN wins."""

    def run(self: Any, dim: int, keepdim: bool = False) -> Any:
        x = value(self)
        axis = normal_dim(dim, x.ndim)
        if x.ndim == 0:
            return wrap(x.copy(), self.dtype), wrap(np.zeros((), np.int64), int64)
        _nonempty(x, (axis,), name)
        at = fn(x, axis=axis, keepdims=True)
        best = np.take_along_axis(x, at, axis)
        if not keepdim:
            at, best = at.squeeze(axis), best.squeeze(axis)
        return wrap(best, self.dtype), wrap(at, int64)

    return run


def arg_extremum(fn: Callable[..., Any], name: str) -> Kernel:
    def run(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        x = value(self)
        if dim is None:
            if x.size == 0:
                raise DimensionError(_UNNAMED.format(name))
            at = np.asarray(fn(x))
            return wrap(at.reshape((1,) * x.ndim) if keepdim else at, int64)
        axis = normal_dim(dim, x.ndim)
        if x.ndim == 0:
            return wrap(np.zeros((), np.int64), int64)
        _nonempty(x, (axis,), name)
        return wrap(fn(x, axis=axis, keepdims=keepdim), int64)

    return run


def truth(fn: Callable[..., Any]) -> Kernel:
    def run(self: Any, dim: Dims = None, keepdim: bool = False) -> Any:
        x = value(self)
        found = fn(x, axis=axes(dim, x.ndim), keepdims=keepdim)
        return wrap(found, self.dtype if self.dtype.short == "u8" else bool_)

    return run


def logsumexp(self: Any, dim: Dims, keepdim: bool = False) -> Any:
    dtype = floating(self.dtype)
    x = cast(self, dtype)
    over = axes(dim, x.ndim)
    top = x.real.max(axis=over, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0).astype(x.dtype)
    out = np.log(np.exp(x - top).sum(axis=over, keepdims=True)) + top
    return wrap(out if keepdim else out.squeeze(over), dtype)


def vector_norm(
    self: Any, order: float | str = 2, dim: Dims = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """(sum |x|^p)^(1/p), with 0, inf and -inf as limits."""
    if dtype is None and not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise OperatorError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{self.dtype.word}"
        )
    source = dtype or self.dtype
    if self.dtype.is_complex and not source.is_complex:
        raise OperatorError(
            f"linalg.vector_norm: dtype should be complex for complex inputs, but got {source.word}"
        )
    out = real_dtype(source)
    x = np.abs(cast(self, source))
    over = axes(dim, x.ndim)
    p = float(order)
    if p == np.inf:
        found = x.max(axis=over, keepdims=keepdim, initial=0)
    elif p == -np.inf:
        found = x.min(axis=over, keepdims=keepdim)
    elif p == 0:
        found = (x != 0).sum(axis=over, keepdims=keepdim)
    elif p == 1:
        found = x.sum(axis=over, keepdims=keepdim, dtype=x.dtype)
    elif p == 2:
        found = np.sqrt((x * x).sum(axis=over, keepdims=keepdim, dtype=x.dtype))
    else:
        found = (x**p).sum(axis=over, keepdims=keepdim) ** (1.0 / p)
    return wrap(found, out)


def _norm(self: Any, p: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return vector_norm(self, 2 if p is None else p, dim, keepdim, dtype)


def count_nonzero(self: Any, dim: Dims = None) -> Any:
    x = value(self)
    return wrap((x != 0).sum(axis=axes(dim, x.ndim)), int64)


def aminmax(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if dim is None and not value(self).size:
        raise OperatorError("aminmax(): cannot compute aminmax over an empty dimension as the "
                            "operation has no identity.")  # fmt: skip
    return (
        extremum(np.min, "aminmax")(self, dim, keepdim),
        extremum(np.max, "aminmax")(self, dim, keepdim),
    )


KERNELS: dict[str, Kernel] = {
    "aten::_aminmax": aminmax,
    "aten::_aminmax.dim": aminmax,
    "aten::sum": sum_all,
    "aten::sum.dim_IntList": reduce_sum,
    "aten::nansum": nansum,
    "aten::prod": prod,
    "aten::prod.dim_int": prod_dim,
    "aten::mean": mean_all,
    "aten::mean.dim": mean,
    "aten::nanmean": nanmean,
    **_spread_rows("var", root=False, with_mean=False),
    **_spread_rows("std", root=True, with_mean=False),
    **_spread_rows("var_mean", root=False, with_mean=True),
    **_spread_rows("std_mean", root=True, with_mean=True),
    "aten::amax": extremum(np.max, "amax"),
    "aten::amin": extremum(np.min, "amin"),
    "aten::aminmax": aminmax,
    "aten::max": whole_extremum(np.max, "max"),
    "aten::min": whole_extremum(np.min, "min"),
    "aten::max.dim": extremum_at(np.argmax, "max"),
    "aten::min.dim": extremum_at(np.argmin, "min"),
    "aten::argmax": arg_extremum(np.argmax, "argmax"),
    "aten::argmin": arg_extremum(np.argmin, "argmin"),
    "aten::any": truth(np.any),
    "aten::any.dim": truth(np.any),
    "aten::any.dims": truth(np.any),
    "aten::all": truth(np.all),
    "aten::_is_all_true": truth(np.all),
    "aten::_is_any_true": truth(np.any),
    "aten::all.dim": truth(np.all),
    "aten::all.dims": truth(np.all),
    "aten::logsumexp": logsumexp,
    "aten::linalg_vector_norm": vector_norm,
    "aten::norm.Scalar": _norm,
    "aten::norm.ScalarOpt_dim": _norm,
    "aten::norm.ScalarOpt_dim_dtype": _norm,
    "aten::norm.ScalarOpt_dtype": lambda self, p, dtype: _norm(self, p, None, False, dtype),
    "aten::count_nonzero": count_nonzero,
    "aten::count_nonzero.dim_IntList": count_nonzero,
}
