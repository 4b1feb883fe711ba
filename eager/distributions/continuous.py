"""Distributions over real numbers and vectors of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .. import namespace as ts
from ..limits import finfo
from ..size import broadcast_shapes
from ..tensor import Tensor
from ..tracing import active_tracer
from . import constraints
from .constraints import Constraint
from .distribution import Distribution, Elementwise


def _standard_normal(shape: Sequence[int], like: Tensor) -> Any:
    """Draws of mean 0 and deviation 1; a trace records an operator that is not in place."""
    kind = {"dtype": like.dtype, "device": like.device}
    if active_tracer() is None:
        return ts.empty(shape, **kind).normal_()
    return ts.normal(ts.zeros(shape, **kind), ts.ones(shape, **kind))


class _LocScale(Elementwise):
    """A family of distributions that are shifted and scaled."""

    parameters = ("loc", "scale")
    has_rsample = True
    arg_constraints = MappingProxyType({"loc": constraints.real, "scale": constraints.positive})
    support = constraints.real
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__((loc, scale), validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc


class Normal(_LocScale):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale.pow(2)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return ts.normal(self.loc.expand(shape), self.scale.expand(shape)).detach()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        variance, log_scale = self.scale**2, self.scale.log()
        distance = -((value - self.loc) ** 2) / (2 * variance)
        return distance - log_scale - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Any:
        self._check_sample(value)
        return 0.5 * (1 + ts.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Any:
        return self.loc + self.scale * ts.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + ts.log(self.scale)


class Laplace(_LocScale):
    """The Laplace distribution around `loc`."""

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        limits = finfo(self.loc.dtype)
        shape = self._extended_shape(sample_shape)
        u = ts.empty(shape, dtype=self.loc.dtype).uniform_(limits.eps - 1, 1)
        return self.loc - self.scale * u.sign() * ts.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        return -ts.log(2 * self.scale) - ts.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Any:
        self._check_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * ts.expm1(-away.abs() / self.scale)

    def icdf(self, value: Tensor) -> Any:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * ts.log1p(-2 * term.abs())

    def entropy(self) -> Any:
        return 1 + ts.log(2 * self.scale)


class Uniform(Elementwise):
    """Uniform in [low, high).

    Raises:
        ValueError: `low` is not below `high`.
    """

    parameters = ("low", "high")
    has_rsample = True
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        super().__init__((low, high), validate_args)

    @property
    def arg_constraints(self) -> Mapping[str, Constraint]:
        low = constraints.less_than(self.high)
        return {"low": low, "high": constraints.greater_than(self.low)}

    @property
    def support(self) -> Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        return self.high * float("nan")

    @property
    def variance(self) -> Any:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = ts.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return ts.log(inside) - ts.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Any:
        self._check_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return ts.log(self.high - self.low)


class Exponential(Elementwise):
    """The exponential distribution of the given rate."""

    parameters = ("rate",)
    has_rsample = True
    arg_constraints = MappingProxyType({"rate": constraints.positive})
    support = constraints.nonnegative
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__((rate,), validate_args)

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        return ts.zeros_like(self.rate)

    @property
    def variance(self) -> Any:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        drawn: Tensor = ts.empty(shape, dtype=self.rate.dtype).exponential_() / self.rate
        return drawn

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Any:
        self._check_sample(value)
        return 1 - ts.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Any:
        return -ts.log1p(-value) / self.rate

    def entropy(self) -> Any:
        return 1.0 - ts.log(self.rate)


class MultivariateNormal(Distribution):
    """The normal distribution over vectors, by one of its covariance, precision or their factor.

    Raises:
        ValueError: not exactly one of them, or `loc` is a number.
    """

    parameters = ("loc", "scale_tril")
    has_rsample = True
    arg_constraints = MappingProxyType({
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    })  # fmt: skip
    support = constraints.real_vector
    loc: Tensor
    scale_tril: Tensor

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                 "scale_tril": scale_tril}  # fmt: skip
        known = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(known) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        (name, matrix) = known[0]
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        matrix = matrix.expand((*batch, -1, -1))
        self.__dict__[name] = matrix
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        if name == "covariance_matrix":
            self.scale_tril = ts.linalg_cholesky(matrix)
        elif name == "precision_matrix":
            self.scale_tril = _factor_of_precision(matrix)
        if name != "scale_tril":
            self._factor = self.__dict__.pop("scale_tril")

    def __getattr__(self, name: str) -> Any:
        """The matrices that were not given."""
        factor: Any = self.__dict__.get("_factor", self.__dict__.get("scale_tril"))
        if name == "scale_tril" and factor is not None:
            return factor
        if name == "covariance_matrix":
            return factor @ factor.mT
        if name == "precision_matrix":
            return ts.cholesky_inverse(factor)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self.scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        drawn = _standard_normal(shape, self.loc)
        return self.loc + ts.matmul(self.scale_tril, drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        away = (value - self.loc).unsqueeze(-1)
        scaled = ts.linalg_solve_triangular(self.scale_tril, away, upper=False).squeeze(-1)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + scaled.pow(2).sum(-1)) - self._half_log_det()

    def _half_log_det(self) -> Any:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Any:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)


def _factor_of_precision(precision: Tensor) -> Any:
    """The lower factor of the inverse, by the reversed factor of the matrix."""
    turned = ts.linalg_cholesky(ts.flip(precision, (-2, -1)))
    lower = ts.flip(turned, (-2, -1)).mT
    eye = ts.eye(precision.shape[-1], dtype=precision.dtype)
    return ts.linalg_solve_triangular(lower, eye, upper=False)
