"""`torch.nn.parameter`: tensors that modules register."""

from tensorscript.eager.nn.lazy import UninitializedBuffer, UninitializedParameter, is_lazy
from tensorscript.eager.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]
