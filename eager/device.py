"""Devices, layouts and memory formats: the values TorchScript's schemas name besides numbers."""

from __future__ import annotations

import re

from tensorscript.base.errors import OperatorError
from tensorscript.base.records import dataclass

from .modes import MODES

DEVICE_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
_SPELLING = re.compile(r"[A-Za-z_]+(:(0|[1-9][0-9]*))?")


@dataclass(frozen=True, init=False, eq=False)
class device:
    """Where a tensor lives: a type and an optional index, `device("cuda:1")`, `device(1)`.

    Eager tensors live on the CPU and on NVIDIA GPUs; other devices can be named (programs compare
    and print them).

    Raises:
        OperatorError: the text is not a device.
    """

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        text = f"cuda:{type}" if isinstance(type, int) else str(type)
        if not text:
            raise OperatorError("Device string must not be empty")
        if not _SPELLING.fullmatch(text):
            raise OperatorError(f"Invalid device string: '{text}'")
        kind, _, number = text.partition(":")
        if kind not in DEVICE_TYPES:
            listed = ", ".join(DEVICE_TYPES)
            raise OperatorError(
                f"Expected one of {listed} device type at start of device string: {text}"
            )
        if number and index is not None:
            raise OperatorError(f"type (string) must not include an index: {text}")
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", int(number) if number else index)

    def __eq__(self, other: object) -> bool:
        """Also of PyTorch's device of that name, which its modules compare with."""
        if isinstance(other, device):
            return self.type == other.type and self.index == other.index
        return type(other).__module__ == "torch" and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type={self.type!r})"
        return f"device(type={self.type!r}, index={self.index})"

    def __enter__(self) -> device:
        """Within the block new tensors are made on this device."""
        _expect(self)
        PLACES.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        PLACES.pop()


CPU = device("cpu")
PLACES = [CPU]
"""Where new tensors are made: the default device, then those of the `with` blocks around."""


def make_on(where: device) -> None:
    """Make new tensors on a device from now on. Whether it is there is seen when one is made."""
    _expect(where)
    PLACES[0] = where


def _expect(where: device) -> None:
    """Operators look where tensors are from now on, unless it is the CPU."""
    if where.type != "cpu":
        MODES.has_gpus = MODES.has_readings = True


@dataclass(frozen=True)
class Layout:
    """`torch.strided` and the layouts that eager tensors do not have."""

    name: str
    code: int

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@dataclass(frozen=True)
class MemoryFormat:
    """`torch.contiguous_format`, `torch.channels_last`, ..."""

    name: str
    code: int

    def __repr__(self) -> str:
        return f"torch.{self.name}"


strided = Layout("strided", 0)
sparse_coo = Layout("sparse_coo", 1)
sparse_csr = Layout("sparse_csr", 2)
contiguous_format = MemoryFormat("contiguous_format", 0)
legacy_contiguous_format = contiguous_format
preserve_format = MemoryFormat("preserve_format", 1)
channels_last = MemoryFormat("channels_last", 2)
channels_last_3d = MemoryFormat("channels_last_3d", 3)
MEMORY_FORMATS = {
    f.code: f for f in (contiguous_format, preserve_format, channels_last, channels_last_3d)
}


layout, memory_format = Layout, MemoryFormat
"""The classes under PyTorch's names."""


def is_device(value: object) -> bool:
    """Whether `value` is a device, ours or PyTorch's."""
    return isinstance(value, device) or type(value).__name__ == "device"
