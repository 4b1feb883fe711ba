"""`torch.testing`: comparison of tensors in tests, tensors to test with, and texts to check."""

from tensorscript.eager.comparison import assert_close
from tensorscript.eager.file_check import FileCheck
from tensorscript.eager.made_tensors import make_tensor

__all__ = ["FileCheck", "assert_close", "make_tensor"]
