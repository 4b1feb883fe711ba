"""The cross entropy of a linear layer, as one loss."""

from __future__ import annotations

import math
import re

from tensorscript.base.dtypes import DType, bfloat16, float16, float32, float64
from tensorscript.base.errors import OperatorError, ValueRangeError
from tensorscript.base.records import dataclass

from ...tensor import Tensor
from .. import functional as F
from .linear import Linear
from .loss import _WeightedLoss

_POLICIES = ("accurate", "balanced", "compact", "auto")
_METHODS = re.compile(r"auto|aspect_ratio(:[1-9]\d*)?")
_SUMS = (None, float16, bfloat16, float32, float64)


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """How PyTorch cuts the product into pieces; results here do not depend on it.

    Raises:
        ValueRangeError: a value that is none of those PyTorch has.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        size, method = self.batch_chunk_size, self.chunking_method
        if self.acc_policy not in _POLICIES:
            raise ValueRangeError(f"invalid acc_policy: {self.acc_policy!r}")
        if method is not None and not _METHODS.fullmatch(method):
            raise ValueRangeError(f"invalid chunking_method: {method!r}")
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueRangeError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in _SUMS:
            raise ValueRangeError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )


class LinearCrossEntropyLoss(_WeightedLoss):
    """`cross_entropy(linear(input))` with the weight of the layer in `linear`.

    Raises (the constructor):
        OperatorError: a weight of another shape than (num_classes,), or smoothing outside [0, 1].
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (),
        bias: bool = False, device: object = None, dtype: DType | None = None,
        reduction: str = "mean", weight: Tensor | None = None, ignore_index: int | None = None,
        label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None,
    ) -> None:  # fmt: skip
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise OperatorError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1.0:
            raise OperatorError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        layer, shape = self.linear, (self.num_classes, *self.out_features)
        made: Tensor = F.linear_cross_entropy(
            input, layer.weight.reshape((*shape, layer.in_features)), target,
            linear_bias=None if layer.bias is None else layer.bias.reshape(shape),
            weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip
        return made

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
