"""`torch.testing`: comparison of tensors in tests."""

from tensorscript.eager.comparison import assert_close

__all__ = ["assert_close"]
