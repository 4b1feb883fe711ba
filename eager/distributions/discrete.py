"""Distributions over whole numbers and choices; each takes probabilities or their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Self

from .. import namespace as ts
from ..limits import finfo
from ..modes import no_grad
from ..nn import functional as F
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .constraints import Constraint
from .distribution import Distribution, Elementwise, broadcast_all


def _given_one(probs: Any, logits: Any) -> tuple[str, Any]:
    """Which of the two was given, and it.

    Raises:
        ValueError: both or neither.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


class _ByChance(Distribution):
    """A distribution of `probs` or of `logits`; the other is computed when it is asked for."""

    probs: Tensor
    logits: Tensor
    _given: str
    """The name of the one that was given."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("probs", "logits"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        found = self._probs_of_logits() if name == "probs" else self._logits_of_probs()
        self.__dict__[name] = found
        return found

    def _probs_of_logits(self) -> Any:
        raise NotImplementedError

    def _logits_of_probs(self) -> Any:
        raise NotImplementedError

    @property
    def _param(self) -> Any:
        return self.__dict__[self._given]

    @property
    def param_shape(self) -> Size:
        return Size(self._param.size())

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._batch_shape = Size(batch_shape)
        for name in ("probs", "logits"):
            if (own := self.__dict__.get(name)) is not None:
                kept = own.shape[len(self._batch_shape) :]
                made.__dict__[name] = own.expand(made._batch_shape + kept)
        return made


def _clamped(probs: Tensor) -> Any:
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class Bernoulli(_ByChance):
    """1 with the probability `probs`, else 0."""

    has_enumerate_support = True
    arg_constraints = MappingProxyType(
        {"probs": constraints.unit_interval, "logits": constraints.real}
    )
    support = constraints.boolean

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._given, given = _given_one(probs, logits)
        (self.__dict__[self._given],) = broadcast_all(given)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _probs_of_logits(self) -> Any:
        return ts.sigmoid(self.__dict__["logits"])

    def _logits_of_probs(self) -> Any:
        probs = _clamped(self.__dict__["probs"])
        return ts.log(probs) - ts.log1p(-probs)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return ts.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(ts.arange(2, dtype=self._param.dtype), expand)


class Categorical(_ByChance):
    """One of `probs.size(-1)` choices; probabilities are normalised.

    Raises:
        ValueError: both or neither of `probs` and `logits`, or a number for them.
    """

    has_enumerate_support = True
    arg_constraints = MappingProxyType(
        {"probs": constraints.simplex, "logits": constraints.real_vector}
    )

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._given, given = _given_one(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        if self._given == "probs":
            self.probs = given / given.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        batch = self._param.size()[:-1] if self._param.dim() > 1 else ()
        super().__init__(batch, validate_args=validate_args)

    def _probs_of_logits(self) -> Any:
        return F.softmax(self.__dict__["logits"], dim=-1)

    def _logits_of_probs(self) -> Any:
        return ts.log(_clamped(self.__dict__["probs"]))

    @property
    def support(self) -> Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return ts.full(self._batch_shape, float("nan"), dtype=self.probs.dtype)

    @property
    def variance(self) -> Any:
        return self.mean

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        count = Size(sample_shape).numel()
        drawn = ts.multinomial(self.probs.reshape(-1, self._num_events), count, True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        value, logits = ts.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        least = finfo(self.logits.dtype).min
        return -(ts.clamp(self.logits, min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated(ts.arange(self._num_events), expand)


class OneHotCategorical(Distribution):
    """As Categorical, the choice as a vector with one 1."""

    has_enumerate_support = True
    arg_constraints = Categorical.arg_constraints
    support = constraints.one_hot

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._choice = Categorical(probs, logits)
        event = self._choice.param_shape[-1:]
        super().__init__(self._choice.batch_shape, event, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        made = super().expand(batch_shape)
        made._choice = self._choice.expand(batch_shape)
        return made

    @property
    def probs(self) -> Any:
        return self._choice.probs

    @property
    def logits(self) -> Any:
        return self._choice.logits

    @property
    def param_shape(self) -> Size:
        return self._choice.param_shape

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    @property
    def mode(self) -> Any:
        probs = self.probs
        return F.one_hot(probs.argmax(dim=-1), probs.shape[-1]).to(probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        probs, n = self.probs, self._choice._num_events
        return F.one_hot(self._choice.sample(sample_shape), n).to(probs)

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        return self._choice.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        return self._choice.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n, batch = self._event_shape[0], self._batch_shape
        values = ts.eye(n, dtype=self._choice._param.dtype)
        values = values.view((n,) + (1,) * len(batch) + (n,))
        return values.expand((n, *batch, n)) if expand else values


class Poisson(Elementwise):
    """The Poisson distribution of the given rate."""

    parameters = ("rate",)
    arg_constraints = MappingProxyType({"rate": constraints.nonnegative})
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__((rate,), validate_args)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def mode(self) -> Any:
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return ts.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Any:
        self._check_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()
