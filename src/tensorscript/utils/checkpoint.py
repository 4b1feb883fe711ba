"""`torch.utils.checkpoint`: without gradients there is nothing to compute twice."""

from tensorscript.eager.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    get_device_states,
    set_device_states,
)

__all__ = ["checkpoint", "checkpoint_sequential", "get_device_states", "set_device_states"]
