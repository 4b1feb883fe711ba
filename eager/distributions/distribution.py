"""Distribution: shapes, checks and the questions that every distribution answers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from types import MappingProxyType
from typing import Any, ClassVar, Self

from .. import namespace as ts
from ..data import tensor
from ..modes import MODES, no_grad
from ..size import Size
from ..tensor import Tensor
from .constraints import Constraint


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors of one shape; numbers take the dtype of the first tensor, or the default one.

    Raises:
        ValueError: neither a tensor nor a number.
    """
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    given = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = MODES.default_dtype if given is None else given.dtype
    where = None if given is None else given.device
    made = [v if isinstance(v, Tensor) else tensor(v, dtype=dtype, device=where) for v in values]
    return tuple(ts.broadcast_tensors(*made))


class Distribution:
    """Base of distributions over values of `event_shape`, one for each place of `batch_shape`.

    Attributes:
        arg_constraints: the constraint of each parameter, by its name, as it is shown.
        support: the values that have a density; None where it is not known.
        parameters: names of parameters that `expand` expands to the batch.

    `arg_constraints` and `support` are attributes of a class where they do not depend on the
    parameters, and properties where they do.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    parameters: ClassVar[tuple[str, ...]] = ()
    arg_constraints: Any = MappingProxyType({})
    support: Any = None
    _validate_args = True

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name in self.__dict__ or hasattr(type(self), name):
                    self._check_parameter(name, constraint)

    def _check_parameter(self, name: str, constraint: Constraint) -> None:
        value = getattr(self, name)
        if not ts._is_all_true(constraint.check(value)):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape "
                f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                f"{constraint!r}, but found invalid values:\n{value}"
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments unless they are told otherwise.

        Raises:
            ValueError: not a bool.
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The distribution for each place of a larger batch."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._batch_shape = Size(batch_shape)
        for name in self.parameters:
            own: Tensor = getattr(self, name)
            kept = own.shape[len(self._batch_shape) :]
            made.__dict__[name] = own.expand(made._batch_shape + kept)
        return made

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Draws (*sample_shape, *batch_shape, *event_shape) that carry no gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Draws as a function of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Any:
        """The logarithm of the density, or of the probability, of values."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Any:
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        raise NotImplementedError

    def perplexity(self) -> Any:
        return ts.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution (n, *batch_shape), or (n, 1, ...) unexpanded."""
        raise NotImplementedError

    def _enumerated(self, values: Tensor, expand: bool) -> Any:
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check_sample(self, value: Any) -> None:
        """Validate `value` where this distribution checks its arguments."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError unless `value` is a tensor of fitting shape within the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event = len(value.size()) - len(self._event_shape)
        if value.size()[event:] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self._event_shape}."
            )
        actual, expected = value.size(), self._batch_shape + self._event_shape
        for i, j in zip(reversed(actual), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {actual} vs "
                    f"{expected}."
                )
        support = self.support
        if support is not None and not ts._is_all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape "
                f"{tuple(value.shape)}) to be within the support ({support!r}) of the "
                f"distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        named = {k: self.__dict__[k] for k in self.arg_constraints if k in self.__dict__}
        shown = (f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in named.items())
        return f"{type(self).__name__}({', '.join(shown)})"


class Elementwise(Distribution):
    """A number for each place of `parameters`, which are broadcast to the batch."""

    def __init__(self, values: Sequence[Any], validate_args: bool | None) -> None:
        values = broadcast_all(*values)
        self.__dict__.update(zip(self.parameters, values, strict=True))
        super().__init__(values[0].size(), validate_args=validate_args)
