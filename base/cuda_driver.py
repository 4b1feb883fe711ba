"""NVIDIA's driver library by ctypes; no toolkit is needed, and nothing is touched without a driver.

Source of the calls: NVIDIA's CUDA Driver API manual.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from numpy.typing import NDArray

from .errors import InternalError, OutOfMemoryError
from .records import dataclass

STAGE = "cuda-driver"
Array = NDArray[Any]
Sizes = tuple[int, int, int]
_LOG_BYTES = 8192
_ERROR_LOG_BUFFER = 5  # CU_JIT_ERROR_LOG_BUFFER
_ERROR_LOG_SIZE = 6  # CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
_CAPABILITY_MAJOR = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
_CAPABILITY_MINOR = 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
_ATTACH_GLOBAL = 1  # CU_MEM_ATTACH_GLOBAL
_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
_NAME_BYTES = 256
_DEFAULT_SHARED = 48 * 1024
"""More dynamic shared memory than this a kernel has to be allowed."""

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
    "cuDeviceGetName": (ctypes.c_char_p, _int, _int),
    "cuDeviceTotalMem_v2": (ctypes.POINTER(_size), _int),
    "cuDeviceGetAttribute": (ctypes.POINTER(_int), _int, _int),
    "cuDevicePrimaryCtxRetain": (ctypes.POINTER(_pointer), _int),
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
    "cuMemAllocManaged": (ctypes.POINTER(_address), _size, _word),
    "cuMemFree_v2": (_address,),
    "cuMemGetInfo_v2": (ctypes.POINTER(_size), ctypes.POINTER(_size)),
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


@dataclass(frozen=True)
class Properties:
    """What a GPU is; the names are those of `torch.cuda.get_device_properties`.

    Attributes:
        total_memory: in bytes.
    """

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


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
        OutOfMemoryError: the GPU has not that much memory left.
        InternalError: there is no driver, or it answered with another error.
    """
    library = _library()
    if library is None:
        raise InternalError("no CUDA driver (libcuda) on this machine", STAGE)
    status = getattr(library, name)(*arguments)
    if status == _OUT_OF_MEMORY:
        raise OutOfMemoryError(f"CUDA out of memory. {name} found no room")
    if status != 0:
        text = ctypes.c_char_p()
        library.cuGetErrorString(status, ctypes.byref(text))
        said = (text.value or b"unknown error").decode()
        message = f"{name} failed: {said} (CUDA error {status})"
        if log is not None and log.value:
            message += "\n" + log.value.decode(errors="replace").strip()
        raise InternalError(message, STAGE)


@cache
def _count() -> int:
    library = _library()
    if library is None or library.cuInit(0) != 0:
        return 0
    count = _int()
    return count.value if library.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


@cache
def _device(ordinal: int) -> int:
    """The driver's number of a GPU.

    Raises:
        InternalError: there is no such GPU.
    """
    if not 0 <= ordinal < _count():
        raise InternalError("no CUDA device is available on this machine", STAGE)
    device = _int()
    _call("cuDeviceGet", ctypes.byref(device), ordinal)
    return device.value


@cache
def _context(ordinal: int) -> ctypes.c_void_p:
    """The primary context of a GPU, kept as long as the process."""
    context = _pointer()
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), _device(ordinal))
    return context


def _enter(ordinal: int) -> None:
    """Make a GPU the one that this thread's calls are for."""
    _call("cuCtxSetCurrent", _context(ordinal))


class CudaDriver:
    """The driver that `accelerator.Driver` describes, of the machine's GPUs."""

    def count(self) -> int:
        return _count()

    def properties(self, ordinal: int) -> Properties:
        device, name, total = _device(ordinal), ctypes.create_string_buffer(_NAME_BYTES), _size()
        _call("cuDeviceGetName", name, _NAME_BYTES, device)
        _call("cuDeviceTotalMem_v2", ctypes.byref(total), device)

        def attribute(which: int) -> int:
            found = _int()
            _call("cuDeviceGetAttribute", ctypes.byref(found), which, device)
            return found.value

        major, minor, count = map(
            attribute, (_CAPABILITY_MAJOR, _CAPABILITY_MINOR, _MULTIPROCESSORS)
        )
        return Properties(name.value.decode(errors="replace"), major, minor, total.value, count)

    def free_memory(self, ordinal: int) -> int:
        _enter(ordinal)
        free, total = _size(), _size()
        _call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def allocate(self, ordinal: int, size: int, shared: bool) -> int:
        _enter(ordinal)
        address = _address()
        if shared:
            _call("cuMemAllocManaged", ctypes.byref(address), size, _ATTACH_GLOBAL)
        else:
            _call("cuMemAlloc_v2", ctypes.byref(address), size)
        return int(address.value)

    def release(self, ordinal: int, address: int) -> None:
        _enter(ordinal)
        _call("cuMemFree_v2", address)

    def copy_in(self, ordinal: int, address: int, array: Array) -> None:
        _enter(ordinal)
        _call("cuMemcpyHtoD_v2", address, array.ctypes.data, array.nbytes)

    def copy_out(self, ordinal: int, array: Array, address: int) -> None:
        _enter(ordinal)
        _call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)

    def copy(self, ordinal: int, target: int, source: int, size: int) -> None:
        _enter(ordinal)
        _call("cuMemcpyDtoD_v2", target, source, size)

    def synchronize(self, ordinal: int) -> None:
        _enter(ordinal)
        _call("cuCtxSynchronize")

    def load(self, ordinal: int, ptx: str) -> ctypes.c_void_p:
        """A module of kernels.

        Raises:
            InternalError: the driver refuses the PTX; its log is in the message.
        """
        _enter(ordinal)
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (_int * 2)(_ERROR_LOG_BUFFER, _ERROR_LOG_SIZE)
        values = (_pointer * 2)(ctypes.addressof(log), _LOG_BYTES)
        module = _pointer()
        _call("cuModuleLoadDataEx", ctypes.byref(module), ptx.encode(), 2, options, values, log=log)
        return module

    def unload(self, ordinal: int, module: ctypes.c_void_p) -> None:
        _enter(ordinal)
        _call("cuModuleUnload", module)

    def start(
        self, ordinal: int, module: ctypes.c_void_p, name: str, grid: Sizes, block: Sizes,
        arguments: Sequence[bytes], shared_bytes: int,
    ) -> None:  # fmt: skip
        _enter(ordinal)
        function = _pointer()
        _call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared_bytes > _DEFAULT_SHARED:
            _call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared_bytes)
        cells = [ctypes.create_string_buffer(raw, len(raw)) for raw in arguments]
        pointers = (_pointer * len(cells))(*(ctypes.addressof(cell) for cell in cells))
        _call("cuLaunchKernel", function, *grid, *block, shared_bytes, None, pointers, None)
