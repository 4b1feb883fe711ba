"""Distributions made of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import namespace as ts
from ..modes import no_grad
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .constraints import Constraint
from .discrete import Categorical
from .distribution import Distribution


def _summed(value: Any, dims: int) -> Any:
    return value if dims == 0 else value.reshape((*value.shape[:-dims], -1)).sum(-1)


class Independent(Distribution):
    """The last `reinterpreted_batch_ndims` dimensions of a batch as parts of one value.

    Raises:
        ValueError: the batch has fewer dimensions.
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        event = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        self.base_dist = base_distribution
        self.has_rsample = base_distribution.has_rsample
        self.has_enumerate_support = base_distribution.has_enumerate_support
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(shape) - event
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        inner = self._event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand(Size((*batch_shape, *inner)))
        return type(self)(base, self.reinterpreted_batch_ndims, validate_args=False)

    @property
    def support(self) -> Constraint | None:
        base = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return base if base is None or not dims else constraints.independent(base, dims)

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Any:
        return _summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return _summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """One of the distributions of a batch, chosen by `mixture_distribution`.

    Raises:
        ValueError: the mixture is no Categorical, or does not fit the batch.
    """

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        batch = component_distribution.batch_shape
        chosen = mixture_distribution.batch_shape
        if any(a not in (1, b) for a, b in zip(chosen, batch[:-1], strict=False)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                f"`component_distribution.batch_shape`({batch[:-1]})"
            )
        count, components = mixture_distribution.logits.shape[-1], batch[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    @property
    def support(self) -> Any:
        return self._component_distribution.support

    @property
    def _at(self) -> int:
        """The dimension of components, counted from the last."""
        return -1 - len(self._event_shape)

    def _weights(self) -> Any:
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * len(self._event_shape))

    @property
    def mean(self) -> Any:
        return ts.sum(self._weights() * self._component_distribution.mean, dim=self._at)

    @property
    def variance(self) -> Any:
        weights, parts = self._weights(), self._component_distribution
        within = ts.sum(weights * parts.variance, dim=self._at)
        away = parts.mean - self.mean.unsqueeze(self._at)
        return within + ts.sum(weights * away.pow(2.0), dim=self._at)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            at = chosen.reshape(chosen.shape + (1,) * (len(self._event_shape) + 1))
            at = at.expand((*chosen.shape, 1, *self._event_shape))
            return ts.gather(drawn, len(sample_shape) + len(self._batch_shape), at).squeeze(
                len(sample_shape) + len(self._batch_shape)
            )

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        by_part = self._component_distribution.log_prob(value.unsqueeze(self._at))
        chances = ts.log_softmax(self._mixture_distribution.logits, dim=-1)
        return ts.logsumexp(by_part + chances, dim=-1)

    def cdf(self, value: Tensor) -> Any:
        by_part = self._component_distribution.cdf(value.unsqueeze(-1))
        return ts.sum(by_part * self._mixture_distribution.probs, dim=-1)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self._mixture_distribution},\n  "
            f"{self._component_distribution})"
        )
