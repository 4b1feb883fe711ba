"""`torch.cpu`."""

from tensorscript.cpu import amp

__all__ = ["amp"]
