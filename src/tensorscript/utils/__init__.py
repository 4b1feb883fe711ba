"""`torch.utils`, as far as modules need it to run."""

from tensorscript.utils import checkpoint, data, dlpack, model_zoo

__all__ = ["checkpoint", "data", "dlpack", "model_zoo"]
