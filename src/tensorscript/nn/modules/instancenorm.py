"""`torch.nn.modules.instancenorm`: layers by PyTorch's file names."""

from tensorscript.eager.nn.layers.batchnorm import (
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _InstanceNorm,
)

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "_InstanceNorm",
]
