"""`torch.utils`, as far as modules need it to run."""

from tensorscript.utils import checkpoint, dlpack, model_zoo

__all__ = ["checkpoint", "dlpack", "model_zoo"]
