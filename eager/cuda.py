"""`torch.cuda` as programs ask it: eager tensors live on the CPU, so there is no device.

Compiled programs run on a GPU by `compile(..., target="cuda")`.
"""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator to seed."""


def empty_cache() -> None:
    """Nothing: there is no cache."""


def synchronize(device: Any = None) -> None:
    """Always refused.

    Raises:
        AssertionError: as PyTorch without CUDA.
    """
    raise AssertionError("TensorScript's eager tensors live on the CPU; there is no CUDA device")


def current_device() -> int:
    """Always refused, as `synchronize`."""
    synchronize()
    return -1
