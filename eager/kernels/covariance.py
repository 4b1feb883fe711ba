"""Covariances and correlations of rows of observations, each step in the dtype PyTorch takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import array, compute, make, rounded, shown, value, wrap
from .pointwise import binary, factor, float_binary
from .products import mm
from .reduction import reduce_sum, sum_all

_times, _less = binary(np.multiply, factor), binary(np.subtract)
_over = float_binary(np.divide)


def _weights(counts: Any, weights: Any) -> Any:
    """Of each observation: their product, in its dtype; None where there are none."""
    if counts is None or weights is None:
        return counts if weights is None else weights
    return _times(counts, weights)


def _freedom(total: Any, each: Any, weights: Any, correction: int) -> Any:
    """What is divided by: the sum of the weights less what the correction takes off."""
    if not correction or weights is None:
        return _less(total, correction)
    if each is weights and array(each).size == 1 and correction == 1:
        return 0  # not the rounding error of its square over itself
    squares = _times(sum_all(_times(each, weights)), correction)
    return _less(total, _over(squares, total))


def cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """self (variables, observations) or (observations) -> (variables, variables) or a number.

    Integer weights repeat observations, others weigh them.
    """
    if array(self).ndim > 2:
        raise OperatorError(
            f"cov(): expected input to have two or fewer dimensions but got an input with "
            f"{array(self).ndim} dimensions"
        )
    x = make(np.atleast_2d(shown(self)), self.dtype)
    observations = array(x).shape[1]
    each = _weights(fweights, aweights)
    if each is None:
        total, weighed = observations, x
        norm = observations - correction
    else:
        total, weighed = sum_all(each), _times(x, each)
        norm = _freedom(total, each, aweights, correction)
    if (norm if isinstance(norm, int) else value(norm)) <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number "
            "of observations.",
            stacklevel=2,
        )
        norm = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        x = _less(x, _over(reduce_sum(weighed, [1], True), total))
        if observations == 1 and (fweights is None) != (aweights is None):
            x = make(np.zeros_like(array(x)), x.dtype)  # the mean is the only one, and not nearly
        weighed = x if each is None else _times(x, each)
        found = _over(mm(x, make(shown(weighed).T.conj(), x.dtype)), norm)
    return make(array(found).squeeze(), found.dtype)


def corrcoef(self: Any) -> Any:
    """Covariances over the products of deviations, each step in the dtype of the result."""
    found = cov(self)
    dtype, c = found.dtype, compute(found)
    if not c.ndim:
        return wrap(c / c, dtype)
    spread = np.sqrt(np.diagonal(c).real)
    c = rounded(rounded(c / spread[:, None], dtype) / spread, dtype)
    if not dtype.is_complex:
        return wrap(np.clip(c, -1, 1), dtype)
    return wrap(np.clip(c.real, -1, 1) + 1j * np.clip(c.imag, -1, 1), dtype)


KERNELS: dict[str, Callable[..., Any]] = {"aten::cov": cov, "aten::corrcoef": corrcoef}
