"""`torch.cuda` as programs ask it: there is no device."""

from tensorscript.cuda import amp
from tensorscript.eager.cuda import (
    current_device,
    device_count,
    empty_cache,
    is_available,
    is_bf16_supported,
    is_initialized,
    manual_seed,
    manual_seed_all,
    synchronize,
)

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "empty_cache",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "synchronize",
]
