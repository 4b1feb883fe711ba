"""`torch.utils`, as far as modules need it to run."""

from tensorscript.utils import checkpoint

__all__ = ["checkpoint"]
