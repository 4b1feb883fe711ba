"""`torch.cuda.amp`: `autocast`, which no device is there for."""

from tensorscript.eager.autocast import cuda_autocast as autocast

__all__ = ["autocast"]
