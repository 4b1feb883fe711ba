"""Layers that take their number of input features from the first input."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from ...modes import no_grad
from ...tensor import Tensor
from ..lazy import LazyModuleMixin, UninitializedBuffer, UninitializedParameter, is_lazy
from ..module import Module
from .batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from .conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from .linear import Linear


class _LazyLayer(LazyModuleMixin):
    """A layer whose sizes are all known but one.

    It is first made with 0 features, so that its parameters show where the number stands, and then
    forgets their memory.

    Attributes:
        _inferred: the attribute that counts the features of the input.
        _input_dims: the numbers of dimensions that an input may have; None: any.
    """

    _inferred: ClassVar[str] = "in_channels"
    _input_dims: ClassVar[tuple[int, int] | None] = None
    __signature__: ClassVar[inspect.Signature]
    _sizes: dict[str, tuple[int, ...]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)
        self.__dict__["_sizes"] = {}
        for name, tensor in list(self._held()):
            if tensor is not None and (name in ("weight", "bias") or 0 in tensor.shape):
                self._sizes[name] = tuple(tensor.shape)
                if name in self._parameters:
                    self._parameters[name] = UninitializedParameter(dtype=tensor.dtype)
                else:
                    self._buffers[name] = UninitializedBuffer(dtype=tensor.dtype)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show the layer's own arguments, but for the number that is not known yet."""
        super().__init_subclass__(**kwargs)
        if cls.cls_to_become is not None and cls.__init__ is _LazyLayer.__init__:
            whole = inspect.signature(cls.cls_to_become)
            cls.__signature__ = whole.replace(parameters=list(whole.parameters.values())[1:])

    def reset_parameters(self) -> None:
        if getattr(self, self._inferred) != 0 and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]  # of the layer beside this class

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number of features from `input`.

        Raises:
            RuntimeError: the input has another number of dimensions than the layer takes.
        """
        self._check(input)
        features = self._features(input)
        if getattr(self, self._inferred) == 0:
            setattr(self, self._inferred, features)
        if not self.has_uninitialized_params():
            return
        with no_grad():
            for name, tensor in list(self._held()):
                if is_lazy(tensor):
                    tensor.materialize(self._shape(name, features))
            self.reset_parameters()

    def _check(self, input: Tensor) -> None:
        if self._input_dims is not None and input.dim() not in self._input_dims:
            low, high = self._input_dims
            raise RuntimeError(
                f"Expected {low}D (unbatched) or {high}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )

    def _features(self, input: Tensor) -> int:
        """The size of the channels' dimension."""
        unbatched = self._input_dims is not None and input.dim() == self._input_dims[0]
        return int(input.shape[0 if unbatched else 1])

    def _shape(self, name: str, features: int) -> tuple[int, ...]:
        groups = getattr(self, "groups", 1)
        share = features if getattr(self, "transposed", True) else features // groups
        return tuple(share if n == 0 else n for n in self._sizes[name])


class LazyLinear(_LazyLayer, Linear):
    """`Linear` whose `in_features` is the last size of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = Linear
    _inferred = "in_features"

    def _features(self, input: Tensor) -> int:
        return int(input.shape[-1])


class LazyConv1d(_LazyLayer, Conv1d):
    """`Conv1d` whose `in_channels` is the number of channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = Conv1d
    _input_dims = (2, 3)


class LazyConv2d(_LazyLayer, Conv2d):
    """As `LazyConv1d`, in 2 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = Conv2d
    _input_dims = (3, 4)


class LazyConv3d(_LazyLayer, Conv3d):
    """As `LazyConv1d`, in 3 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = Conv3d
    _input_dims = (4, 5)


class LazyConvTranspose1d(_LazyLayer, ConvTranspose1d):
    """`ConvTranspose1d` whose `in_channels` is the number of channels of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose1d
    _input_dims = (2, 3)


class LazyConvTranspose2d(_LazyLayer, ConvTranspose2d):
    """As `LazyConvTranspose1d`, in 2 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose2d
    _input_dims = (3, 4)


class LazyConvTranspose3d(_LazyLayer, ConvTranspose3d):
    """As `LazyConvTranspose1d`, in 3 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = ConvTranspose3d
    _input_dims = (4, 5)


class _LazyNorm(_LazyLayer):
    """A normalisation whose `num_features` is the second size of the first input."""

    _inferred = "num_features"

    def _features(self, input: Tensor) -> int:
        return int(input.shape[1])


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """`BatchNorm1d` whose `num_features` is the second size of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """As `LazyBatchNorm1d`, in 2 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """As `LazyBatchNorm1d`, in 3 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm3d


class _LazyInstanceNorm(_LazyNorm):
    """Other than the ordinary layers, these have weights and statistics unless told not to."""

    def __init__(
        self, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    """`InstanceNorm1d` whose `num_features` is the channels' size of the first input."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    """As `LazyInstanceNorm1d`, in 2 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    """As `LazyInstanceNorm1d`, in 3 dimensions."""

    cls_to_become: ClassVar[type[Module] | None] = InstanceNorm3d
