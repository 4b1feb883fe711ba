"""`torch.signal`: window functions."""

from tensorscript.signal import windows

__all__ = ["windows"]
