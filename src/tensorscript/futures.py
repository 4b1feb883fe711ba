"""`torch.futures`: the results of forked tasks."""

from tensorscript.runtime.values import Future, collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]
