"""`torch.utils`, as far as modules need it to run."""

from tensorscript.utils import checkpoint, dlpack

__all__ = ["checkpoint", "dlpack"]
