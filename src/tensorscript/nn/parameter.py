"""`torch.nn.parameter`: tensors that modules register."""

from tensorscript.eager.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]
