"""`torch.cuda`: the GPUs of the machine, which one "cuda" is, and the memory that tensors take.

Random numbers are drawn by one generator for all devices (`random.py`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tensorscript.base.accelerator import ACCELERATOR
from tensorscript.base.cuda_driver import Properties
from tensorscript.base.errors import OutOfMemoryError as OutOfMemoryError

from .device import device as Device
from .placement import device_of, existing
from .random import manual_seed as _seed
from .random_state import get_rng_state as _get_state
from .random_state import set_rng_state as _set_state


def is_available() -> bool:
    return device_count() > 0


def device_count() -> int:
    return ACCELERATOR.driver.count()


def is_initialized() -> bool:
    """Whether there is a GPU to be used: nothing else has to be prepared."""
    return is_available()


def init() -> None:
    """Nothing has to be prepared.

    Raises:
        NoDeviceError: there is no GPU.
    """
    existing(None)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the GPU has arithmetic of bfloat16."""
    if not is_available():
        return False
    return including_emulation or get_device_properties().major >= 8


def _ordinal(device: Any) -> int:
    """The number of the GPU that is meant, the current one for None.

    Raises:
        NoDeviceError: there is no GPU.
        ValueError: another device than a GPU.
        OperatorError: no GPU of that number.
    """
    named = None if device is None else Device(device)
    if named is not None and named.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {named}")
    return existing(None if named is None else named.index)


def current_device() -> int:
    """The number of the GPU that "cuda" is.

    Raises:
        NoDeviceError: there is no GPU.
    """
    return existing(None)


def set_device(device: Any) -> None:
    """Make another GPU the one that "cuda" is.

    Raises:
        NoDeviceError, OperatorError: there is none, or none of that number.
    """
    ACCELERATOR.current = _ordinal(device)


class device:
    """A `with` block in which another GPU is the one that "cuda" is; nothing for -1 and None."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device in (None, -1) else device
        self._before = -1

    def __enter__(self) -> None:
        if self.idx != -1:
            chosen = _ordinal(self.idx)
            self._before, ACCELERATOR.current = ACCELERATOR.current, chosen

    def __exit__(self, *exception: object) -> None:
        if self.idx != -1:
            ACCELERATOR.current = self._before


class device_of_tensor(device):
    """A `with` block in which the GPU of a tensor is current; nothing for tensors of the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(device_of(obj).index)


device_of_tensor.__name__ = device_of_tensor.__qualname__ = "device_of"


def synchronize(device: Any = None) -> None:
    """Wait for all that was started on a GPU.

    Raises:
        NoDeviceError: there is no GPU.
    """
    ACCELERATOR.driver.synchronize(_ordinal(device))


def get_device_properties(device: Any = None) -> Properties:
    """Name, `major` and `minor` of the capability, memory and processors of a GPU.

    Raises:
        NoDeviceError: there is no GPU.
    """
    return ACCELERATOR.driver.properties(_ordinal(device))


def get_device_name(device: Any = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """The architectures that there is code for: none before a function is compiled."""
    return []


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors take on a GPU; 0 without one."""
    return ACCELERATOR.allocated.get(_ordinal(device), 0) if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most that these have been, since the start or since `reset_peak_memory_stats`."""
    return ACCELERATOR.most.get(_ordinal(device), 0) if is_available() else 0


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated
"""Nothing is kept beside what tensors take."""


def reset_peak_memory_stats(device: Any = None) -> None:
    ordinal = _ordinal(device)
    ACCELERATOR.most[ordinal] = ACCELERATOR.allocated.get(ordinal, 0)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes that are free, and all that a GPU has.

    Raises:
        NoDeviceError: there is no GPU.
    """
    ordinal = _ordinal(device)
    driver = ACCELERATOR.driver
    return driver.free_memory(ordinal), driver.properties(ordinal).total_memory


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """What tensors take of a GPU, by PyTorch's names; empty without one."""
    if not is_available():
        return OrderedDict()
    taken, most = memory_allocated(device), max_memory_allocated(device)
    return OrderedDict({
        f"{kind}_bytes.all.{when}": count
        for kind in ("allocated", "reserved")
        for when, count in (("current", taken), ("peak", most))
    })  # fmt: skip


def operators_on_host() -> int:
    """How many eager operators have computed with tensors of a GPU so far: all of them do it on the
    host, in memory that the GPU shares. Compiled functions are not counted."""
    return ACCELERATOR.on_host


def empty_cache() -> None:
    """Nothing: memory goes back when its last tensor does."""


def manual_seed(seed: int) -> None:
    """Seed the generator, which is that of the CPU; nothing without a GPU."""
    if is_available():
        _seed(seed)


manual_seed_all = manual_seed


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the generator, which is that of the CPU.

    Raises:
        NoDeviceError: there is no GPU.
    """
    _ordinal(device)
    return _get_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Put the generator back into a state.

    Raises:
        NoDeviceError: there is no GPU.
    """
    _ordinal(device)
    _set_state(new_state)
