"""`torch.distributed` of one process."""

from tensorscript.eager.distributed import get_rank, get_world_size, is_available, is_initialized

__all__ = ["get_rank", "get_world_size", "is_available", "is_initialized"]
