"""What counts, orders, differences and quotients ask of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import WIDE_UNSIGNED, bfloat16, bool_, float32, float64
from tensorscript.base.errors import DimensionError
from tensorscript.base.operand_dtypes import unimplemented

from ..kernels.shapes import normal_dim
from ..storage import TensorBase, array, promoted, value
from .words import Demand, each, require, sizes_of


def _cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> None:
    observations = sizes_of(self)[-1] if sizes_of(self) else 1
    given = {n: w for n, w in (("fweights", fweights), ("aweights", aweights)) if w is not None}
    for name, weights in given.items():
        kind = "integral" if name == "fweights" else "floating point"
        require(
            array(weights).ndim < 2,
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{array(weights).ndim} dimensions",
        )
        fits = weights.dtype.is_floating_point if name == "aweights" else weights.dtype.is_integral
        require(
            fits,
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{weights.dtype.word} dtype",
        )
        count = array(weights).size
        require(
            count == observations,
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {count} != {observations}",
        )
    for name, weights in given.items():
        require(not (value(weights) < 0).any(), f"cov(): {name} cannot be negative")
    both = [value(weights) for weights in given.values()]
    require(
        not both or bool(np.prod(both, axis=0).sum() != 0),
        "cov(): weights sum to zero, can't be normalized",
    )


def _bincount(self: Any, *_: Any) -> None:
    if self.dtype is bfloat16:
        raise unimplemented("bincount_cpu", bfloat16)


def _diff(self: Any, n: int = 1, *_: Any) -> None:
    require(n >= 0, f"order must be non-negative but got {n}")


def _histogram(self: Any, bins: Any, *_: Any) -> None:
    """Edges that are given are a row of the dtype of the points."""
    if not isinstance(bins, TensorBase):
        return
    require(
        bins.dtype is self.dtype,
        "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
        f"input with dtype {self.dtype.word.lower()} and bins for dimension 0 with dtype "
        f"{bins.dtype.word.lower()}",
    )
    require(
        array(bins).ndim == 1,
        "torch.histogramdd: bins tensor should have one dimension, but got "
        f"{array(bins).ndim} dimensions in the bins tensor for dimension 0",
    )


def _along_something(name: str, dim_at: int) -> Demand:
    """An element of every row along a dimension that is not empty."""

    def check(self: Any, *rest: Any) -> None:
        a = array(self)
        axis = normal_dim(rest[dim_at], a.ndim)
        if a.ndim and not a.shape[axis]:
            raise DimensionError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")

    return check


def _kth(self: Any, k: int, dim: int = -1, *_: Any) -> None:
    _along_something("kthvalue", 1)(self, k, dim)
    shape = array(self).shape
    axis = normal_dim(dim, len(shape))
    require(
        1 <= k <= (shape[axis] if shape else 1),
        f"kthvalue(): selected number k out of range for dimension {axis}",
    )


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    self: Any,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    *_: Any,
) -> None:
    """Where between its neighbours a quantile lies is said by one of `_METHODS`."""
    if isinstance(q, TensorBase):
        require(array(q).ndim <= 1, "quantile() q must be a scalar or 1D tensor")
    require(
        self.dtype in (float32, float64),
        "quantile() input tensor must be either float or double dtype",
    )
    if isinstance(q, TensorBase):
        require(q.dtype is self.dtype, "quantile() q tensor must be same dtype as the input tensor")
    require(
        interpolation in _METHODS,
        "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
        f"got {interpolation}",
    )
    if dim is not None:
        normal_dim(dim, array(self).ndim)


_ROUNDED = {"floor": "div_floor_cpu", "trunc": "div_trunc_cpu"}


def _rounded_division(self: Any, other: Any, rounding_mode: str | None = None) -> None:
    require(
        rounding_mode is None or rounding_mode in _ROUNDED,
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"'{rounding_mode}'",
    )
    dtype = promoted(self, other)
    if rounding_mode in _ROUNDED and (dtype in WIDE_UNSIGNED or dtype is bool_):
        raise unimplemented(_ROUNDED[rounding_mode], dtype)


COUNTED: dict[str, Demand] = {
    **each(_cov, "cov"),
    **each(_bincount, "bincount"),
    **each(_diff, "diff"),
    **each(_histogram, "histogram.bins_tensor"),
    **each(_along_something("mode", 0), "mode"),
    **each(_kth, "kthvalue"),
    **each(_quantile, "quantile", "quantile.scalar", "nanquantile", "nanquantile.scalar"),
    **each(_rounded_division, "div.Tensor_mode", "div.Scalar_mode", "divide.Tensor_mode",
           "divide.Scalar_mode"),
}  # fmt: skip
"""Overloads to what they ask, in the words of PyTorch."""
