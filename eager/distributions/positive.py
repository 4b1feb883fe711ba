"""Distributions over positive numbers: gamma, and beta and Dirichlet that are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Self

from .. import namespace as ts
from ..data import as_tensor
from ..limits import finfo
from ..nn import functional as F
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution, Elementwise, broadcast_all


class Gamma(Elementwise):
    """The gamma distribution of shape `concentration` and the given rate."""

    parameters = ("concentration", "rate")
    has_rsample = True
    arg_constraints = MappingProxyType(
        {"concentration": constraints.positive, "rate": constraints.positive}
    )
    support = constraints.nonnegative
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__((concentration, rate), validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        drawn = ts._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return drawn.clamp(min=finfo(drawn.dtype).tiny)

    def log_prob(self, value: Tensor) -> Any:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_sample(value)
        return (
            ts.xlogy(self.concentration, self.rate) + ts.xlogy(self.concentration - 1, value)
            - self.rate * value - ts.lgamma(self.concentration)
        )  # fmt: skip

    def cdf(self, value: Tensor) -> Any:
        self._check_sample(value)
        return ts.special_gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        shape = self.concentration
        return shape - ts.log(self.rate) + ts.lgamma(shape) + (1.0 - shape) * ts.digamma(shape)


class Dirichlet(Distribution):
    """The Dirichlet distribution over points of a simplex."""

    parameters = ("concentration",)
    has_rsample = True
    arg_constraints = MappingProxyType(
        {"concentration": constraints.independent(constraints.positive, 1)}
    )
    support = constraints.simplex
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0.0)
        found = above / above.sum(-1, True)
        corner = F.one_hot(found.argmax(dim=-1), self.concentration.size(-1)).to(found)
        return ts.where((self.concentration < 1).all(dim=-1, keepdim=True), corner, found)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return ts._sample_dirichlet(self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        return (
            ts.xlogy(self.concentration - 1.0, value).sum(-1)
            + ts.lgamma(self.concentration.sum(-1)) - ts.lgamma(self.concentration).sum(-1)
        )  # fmt: skip

    def entropy(self) -> Any:
        k, total = self.concentration.size(-1), self.concentration.sum(-1)
        return (
            ts.lgamma(self.concentration).sum(-1) - ts.lgamma(total)
            - (k - total) * ts.digamma(total)
            - ((self.concentration - 1.0) * ts.digamma(self.concentration)).sum(-1)
        )  # fmt: skip


class Beta(Distribution):
    """The beta distribution over [0, 1]: the first coordinate of a Dirichlet one over two."""

    has_rsample = True
    arg_constraints = MappingProxyType(
        {"concentration1": constraints.positive, "concentration0": constraints.positive}
    )
    support = constraints.unit_interval

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        first, second = broadcast_all(concentration1, concentration0)
        self._of_both = Dirichlet(ts.stack([first, second], -1), validate_args)
        super().__init__(self._of_both.batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        made = super().expand(batch_shape)
        made._of_both = self._of_both.expand(batch_shape)
        return made

    @property
    def concentration1(self) -> Any:
        return self._of_both.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        return self._of_both.concentration[..., 1]

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Any:
        return self._of_both.mode[..., 0]

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self._of_both.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        return self._of_both.log_prob(ts.stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        return self._of_both.entropy()
