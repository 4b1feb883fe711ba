"""`torch.fx`, as far as modules that are not traced by it name it."""

from tensorscript.eager.fx import wrap

__all__ = ["wrap"]
