"""Launches PTX on a real GPU through the CUDA driver library, by ctypes; no toolkit is needed.

`available()` says whether there is a driver and a device; nothing here is touched otherwise.
Source of the calls: NVIDIA's CUDA Driver API manual.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Any

import numpy as np

from tensorscript.base.errors import InternalError

from .emulate.arguments import pack_argument
from .emulate.parse import parse_module
from .emulate.syntax import Module, Variable

STAGE = "cuda-driver"
_LOG_BYTES = 8192
_ERROR_LOG_BUFFER = 5  # CU_JIT_ERROR_LOG_BUFFER
_ERROR_LOG_SIZE = 6  # CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_CAPABILITY_MAJOR = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
_CAPABILITY_MINOR = 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR

_pointer = ctypes.c_void_p
_address = ctypes.c_uint64
_size = ctypes.c_size_t
_int = ctypes.c_int
_word = ctypes.c_uint
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (_word,),
    "cuGetErrorString": (_int, ctypes.POINTER(ctypes.c_char_p)),
    "cuDeviceGetCount": (ctypes.POINTER(_int),),
    "cuDeviceGet": (ctypes.POINTER(_int), _int),
    "cuDeviceGetAttribute": (ctypes.POINTER(_int), _int, _int),
    "cuDevicePrimaryCtxRetain": (ctypes.POINTER(_pointer), _int),
    "cuDevicePrimaryCtxRelease_v2": (_int,),
    "cuCtxSetCurrent": (_pointer,),
    "cuCtxSynchronize": (),
    "cuModuleLoadDataEx": (
        ctypes.POINTER(_pointer),
        ctypes.c_char_p,
        _word,
        ctypes.POINTER(_int),
        ctypes.POINTER(_pointer),
    ),
    "cuModuleUnload": (_pointer,),
    "cuModuleGetFunction": (ctypes.POINTER(_pointer), _pointer, ctypes.c_char_p),
    "cuFuncSetAttribute": (_pointer, _int, _int),
    "cuMemAlloc_v2": (ctypes.POINTER(_address), _size),
    "cuMemFree_v2": (_address,),
    "cuMemcpyHtoD_v2": (_address, _pointer, _size),
    "cuMemcpyDtoH_v2": (_pointer, _address, _size),
    "cuMemcpyDtoD_v2": (_address, _address, _size),
    "cuLaunchKernel": (
        _pointer,
        *(_word,) * 7,
        _pointer,
        ctypes.POINTER(_pointer),
        ctypes.POINTER(_pointer),
    ),
}


@cache
def _library() -> ctypes.CDLL | None:
    """The driver library with its prototypes, or None where there is none."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        for function, arguments in _PROTOTYPES.items():
            getattr(library, function).argtypes = arguments
            getattr(library, function).restype = _int
        return library
    return None


def _call(name: str, *arguments: Any, log: ctypes.Array[ctypes.c_char] | None = None) -> None:
    """Call the driver; `log` is a buffer in which it may explain a failure.

    Raises:
        InternalError: there is no driver, or it answered with an error.
    """
    library = _library()
    if library is None:
        raise InternalError("no CUDA driver (libcuda) on this machine", STAGE)
    status = getattr(library, name)(*arguments)
    if status != 0:
        text = ctypes.c_char_p()
        library.cuGetErrorString(status, ctypes.byref(text))
        said = (text.value or b"unknown error").decode()
        message = f"{name} failed: {said} (CUDA error {status})"
        if log is not None and log.value:
            message += "\n" + log.value.decode(errors="replace").strip()
        raise InternalError(message, STAGE)


@cache
def available() -> bool:
    """Whether a CUDA driver and at least one device are here."""
    library = _library()
    if library is None or library.cuInit(0) != 0:
        return False
    count = _int()
    return bool(library.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0)


class Device:
    """A GPU's primary context. Use it as a context manager; not for several threads at once.

    Args:
        ordinal: which device.

    Raises:
        InternalError: no driver or no such device.
    """

    def __init__(self, ordinal: int = 0) -> None:
        if not available():
            raise InternalError("no CUDA device is available on this machine", STAGE)
        device, context = _int(), _pointer()
        _call("cuDeviceGet", ctypes.byref(device), ordinal)
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._device = device
        self._context = context
        self._modules: dict[str, ctypes.c_void_p] = {}
        self._parsed: dict[str, Module] = {}
        _call("cuCtxSetCurrent", context)

    @property
    def chip(self) -> str:
        """The architecture, such as "sm_90"."""
        major, minor = _int(), _int()
        _call("cuDeviceGetAttribute", ctypes.byref(major), _CAPABILITY_MAJOR, self._device)
        _call("cuDeviceGetAttribute", ctypes.byref(minor), _CAPABILITY_MINOR, self._device)
        return f"sm_{major.value}{minor.value}"

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
        """Unload the modules and let the context go; the device is of no use afterwards."""
        for module in self._modules.values():
            _call("cuModuleUnload", module)
        self._modules.clear()
        if self._context:
            self._context = _pointer()
            _call("cuDevicePrimaryCtxRelease_v2", self._device)

    def function(self, ptx: str, name: str) -> ctypes.c_void_p:
        """Load a module (once) and find a kernel in it.

        Raises:
            InternalError: the driver refuses the PTX; its log is in the message.
        """
        if ptx not in self._modules:
            self._modules[ptx] = _load(ptx)
            self._parsed[ptx] = parse_module(ptx)
        function = _pointer()
        _call("cuModuleGetFunction", ctypes.byref(function), self._modules[ptx], name.encode())
        return function

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
        buffers: list[tuple[np.ndarray[Any, Any], ctypes.c_uint64]] = []
        try:
            values = [
                int(self._upload(value, buffers).value) if isinstance(value, np.ndarray) else value
                for value in args
            ]
            self.start(ptx, name, grid, block, values, shared_bytes)
            self.synchronize()
            for array, address in buffers:
                if array.flags.writeable:
                    self.copy_out(array, int(address.value))
        finally:
            for _, address in buffers:
                self.release(int(address.value))

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
        function = self.function(ptx, name)
        parameters = self._parsed[ptx].functions[name].parameters
        if len(parameters) != len(args):
            raise InternalError(
                f"kernel {name} takes {len(parameters)} arguments, got {len(args)}", STAGE
            )
        if shared_bytes > 48 * 1024:
            _call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared_bytes)
        cells = [_cell(parameter, value) for parameter, value in zip(parameters, args, strict=True)]
        pointers = (_pointer * len(cells))(*(ctypes.addressof(cell) for cell in cells))
        _call("cuLaunchKernel", function, *grid, *block, shared_bytes, None, pointers, None)

    def synchronize(self) -> None:
        """Wait for everything that was started; a kernel's fault is raised here."""
        _call("cuCtxSynchronize")

    def allocate(self, size: int) -> int:
        """The address of `size` bytes (at least one), aligned to 256."""
        address = _address()
        _call("cuMemAlloc_v2", ctypes.byref(address), max(1, size))
        return int(address.value)

    def release(self, address: int) -> None:
        """Free what `allocate` gave."""
        _call("cuMemFree_v2", address)

    def copy_in(self, address: int, array: np.ndarray[Any, Any]) -> None:
        """Copy a contiguous array to the device."""
        if array.nbytes:
            _call("cuMemcpyHtoD_v2", address, array.ctypes.data, array.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device; like a kernel it may still be at work afterwards."""
        _call("cuMemcpyDtoD_v2", target, source, size)

    def copy_out(self, array: np.ndarray[Any, Any], address: int) -> None:
        """Copy from the device into a contiguous array, after all kernels before."""
        if array.nbytes:
            _call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)

    def _upload(
        self,
        array: np.ndarray[Any, Any],
        buffers: list[tuple[np.ndarray[Any, Any], ctypes.c_uint64]],
    ) -> ctypes.c_uint64:
        """The device copy of an array; one that is passed twice stays one."""
        if not array.flags.c_contiguous:
            raise InternalError("a kernel's arrays must be C-contiguous", STAGE)
        for other, address in buffers:
            if other.ctypes.data == array.ctypes.data and other.nbytes == array.nbytes:
                return address
        address = _address(self.allocate(array.nbytes))
        buffers.append((array, address))
        self.copy_in(int(address.value), array)
        return address


def _cell(parameter: Variable, value: Any) -> ctypes.Array[ctypes.c_char]:
    """The storage of an argument, which the driver reads through a pointer."""
    raw = pack_argument(parameter, value, parameter.name)
    return ctypes.create_string_buffer(raw, len(raw))


def _load(ptx: str) -> ctypes.c_void_p:
    """Compile PTX by the driver."""
    log = ctypes.create_string_buffer(_LOG_BYTES)
    options = (_int * 2)(_ERROR_LOG_BUFFER, _ERROR_LOG_SIZE)
    values = (_pointer * 2)(ctypes.addressof(log), _LOG_BYTES)
    module = _pointer()
    _call("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode(), 2, options, values, log=log)
    return module
