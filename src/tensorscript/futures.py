"""`torch.futures`: the results of forked tasks."""

from tensorscript.runtime.values import Future

__all__ = ["Future"]
