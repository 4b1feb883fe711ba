"""`torch.utils.checkpoint`: without gradients there is nothing to compute twice."""

from tensorscript.eager.checkpoint import checkpoint, checkpoint_sequential

__all__ = ["checkpoint", "checkpoint_sequential"]
