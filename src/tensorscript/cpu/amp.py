"""`torch.cpu.amp`: `autocast` of the CPU."""

from tensorscript.eager.autocast import cpu_autocast as autocast

__all__ = ["autocast"]
