"""`torch.amp`: mixed precision."""

from tensorscript.eager.autocast import autocast, is_autocast_available

__all__ = ["autocast", "is_autocast_available"]
