"""`torch.nn.modules.batchnorm`: layers by PyTorch's file names."""

from tensorscript.eager.nn.layers.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    SyncBatchNorm,
    _BatchNorm,
    _NormBase,
)

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "SyncBatchNorm",
    "_BatchNorm",
    "_NormBase",
]
