"""`torch.autograd.profiler`: labels, which nothing reads."""

from tensorscript.eager.profiler import record_function

__all__ = ["record_function"]
