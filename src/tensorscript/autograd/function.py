"""`torch.autograd.function`."""

from tensorscript.eager.autograd import Function

__all__ = ["Function"]
