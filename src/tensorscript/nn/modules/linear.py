"""`torch.nn.modules.linear`: layers by PyTorch's file names."""

from tensorscript.eager.nn.layers.linear import (
    Bilinear,
    Identity,
    Linear,
    NonDynamicallyQuantizableLinear,
)

__all__ = [
    "Bilinear",
    "Identity",
    "Linear",
    "NonDynamicallyQuantizableLinear",
]
