"""Launches PTX on a GPU through its driver (`base/accelerator.py`).

`available()` says whether there is a driver and a device; nothing here is touched otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from tensorscript.backends.target import ARCHES
from tensorscript.base.accelerator import ACCELERATOR
from tensorscript.base.cuda_driver import STAGE
from tensorscript.base.errors import InternalError

from .emulate.arguments import pack_argument
from .emulate.parse import parse_module
from .emulate.syntax import Module


def available() -> bool:
    """Whether a CUDA driver and at least one device are here."""
    return ACCELERATOR.driver.count() > 0


class Device:
    """A GPU with the kernels that it has loaded. Use it as a context manager.

    Args:
        ordinal: which device.

    Raises:
        InternalError: no driver or no such device.
    """

    def __init__(self, ordinal: int = 0) -> None:
        if not 0 <= ordinal < ACCELERATOR.driver.count():
            raise InternalError("no CUDA device is available on this machine", STAGE)
        self.ordinal = ordinal
        self._driver = ACCELERATOR.driver
        self._modules: dict[str, tuple[Any, Module]] = {}

    @property
    def chip(self) -> str:
        """The architecture, such as "sm_90"."""
        found = self._driver.properties(self.ordinal)
        return f"sm_{found.major}{found.minor}"

    @property
    def architecture(self) -> str:
        """The newest architecture that we make code for and the device runs."""
        chip = int(self.chip.removeprefix("sm_"))
        return max((a for a in ARCHES if int(a[3:]) <= chip), key=lambda a: int(a[3:]))

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unload the modules."""
        for module, _ in self._modules.values():
            self._driver.unload(self.ordinal, module)
        self._modules.clear()

    def _module(self, ptx: str) -> tuple[Any, Module]:
        """A module, loaded once, and what its text says."""
        if ptx not in self._modules:
            self._modules[ptx] = self._driver.load(self.ordinal, ptx), parse_module(ptx)
        return self._modules[ptx]

    def launch(
        self,
        ptx: str,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Copy the arrays in, run the kernel to its end, and copy writable arrays back.

        Args:
            args: as for `Emulator.launch`: C-contiguous arrays for pointers, and scalars, which
                take the type of their `.param`.

        Raises:
            InternalError: arguments that do not fit the kernel, or an error of the driver.
        """
        buffers: list[tuple[np.ndarray[Any, Any], int]] = []
        try:
            values = [
                self._upload(value, buffers) if isinstance(value, np.ndarray) else value
                for value in args
            ]
            self.start(ptx, name, grid, block, values, shared_bytes)
            self.synchronize()
            for array, address in buffers:
                if array.flags.writeable:
                    self.copy_out(array, address)
        finally:
            for _, address in buffers:
                self.release(address)

    def start(
        self,
        ptx: str,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        """Start a kernel on the default stream without waiting for it.

        Args:
            args: device addresses and scalars.

        Raises:
            InternalError: arguments that do not fit the kernel, or an error of the driver.
        """
        module, text = self._module(ptx)
        parameters = text.functions[name].parameters
        if len(parameters) != len(args):
            raise InternalError(
                f"kernel {name} takes {len(parameters)} arguments, got {len(args)}", STAGE
            )
        cells = [pack_argument(p, v, p.name) for p, v in zip(parameters, args, strict=True)]
        self._driver.start(self.ordinal, module, name, grid, block, cells, shared_bytes)

    def synchronize(self) -> None:
        """Wait for everything that was started; a kernel's fault is raised here."""
        self._driver.synchronize(self.ordinal)

    def allocate(self, size: int) -> int:
        """The address of `size` bytes (at least one), aligned to 256."""
        return self._driver.allocate(self.ordinal, max(1, size), False)

    def release(self, address: int) -> None:
        """Free what `allocate` gave."""
        self._driver.release(self.ordinal, address)

    def copy_in(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copy a contiguous array to the device."""
        if array.nbytes:
            self._driver.copy_in(self.ordinal, address, array)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device; like a kernel it may still be at work afterwards."""
        if size:
            self._driver.copy(self.ordinal, target, source, size)

    def copy_out(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Copy from the device into a contiguous array, after all kernels before."""
        if array.nbytes:
            self._driver.copy_out(self.ordinal, array, address)

    def _upload(
        self, array: np.ndarray[Any, Any], buffers: list[tuple[np.ndarray[Any, Any], int]]
    ) -> int:
        """The device copy of an array; one that is passed twice stays one."""
        if not array.flags.c_contiguous:
            raise InternalError("a kernel's arrays must be C-contiguous", STAGE)
        for other, address in buffers:
            if other.ctypes.data == array.ctypes.data and other.nbytes == array.nbytes:
                return address
        address = self.allocate(array.nbytes)
        buffers.append((array, address))
        self.copy_in(address, array)
        return address
