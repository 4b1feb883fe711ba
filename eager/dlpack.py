"""DLPack capsules of bfloat16, which NumPy does not know: its capsules of 16-bit integers, renamed.

A capsule holds a pointer to a `DLManagedTensor`, which begins with the `DLTensor`, or to the
versioned form, where it follows a version, two pointers and flags (dmlc/dlpack, dlpack.h).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bfloat16
from tensorscript.base.dtypes import from_numpy as from_array_dtype

from .growth import keep_size
from .placement import placed
from .storage import Array, make
from .tracing import traced_by

_UNSIGNED, _BFLOAT = 1, 4  # kDLUInt, kDLBfloat
_TENSOR_AT = {b"dltensor": 0, b"dltensor_versioned": 32}
_TYPE_AT = 20  # behind the data pointer, the device and the number of dimensions

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_named = ctypes.pythonapi.PyCapsule_IsValid
_is_named.restype, _is_named.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def _renamed(capsule: object, before: int, after: int) -> bool:
    """Change the code of a capsule's dtype where it is `before` with 16 bits; says if it was."""
    name = next((n for n in _TENSOR_AT if _is_named(capsule, n)), None)
    if name is None:
        return False
    at = _pointer_of(capsule, name) + _TENSOR_AT[name] + _TYPE_AT
    code, bits = (ctypes.c_uint8.from_address(at + k) for k in (0, 1))
    if (code.value, bits.value) != (before, 16):
        return False
    code.value = after
    return True


def exported(bits: Array, **options: Any) -> object:
    """The capsule of a bfloat16 tensor, given its elements as 16-bit integers."""
    capsule = bits.__dlpack__(**options)
    _renamed(capsule, _UNSIGNED, _BFLOAT)
    return capsule


class _Source:
    """What NumPy imports: the elements of bfloat16 as 16-bit integers, all others as they are."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.dtype: DType | None = None
        self.is_unversioned = False

    def __dlpack_device__(self) -> Any:
        known = getattr(self._source, "__dlpack_device__", None)
        return (1, 0) if known is None else known()

    def __dlpack__(self, **options: Any) -> object:
        make_capsule = getattr(self._source, "__dlpack__", None)
        capsule: object = self._source if make_capsule is None else make_capsule(**options)
        self.is_unversioned = bool(_is_named(capsule, b"dltensor"))
        if _renamed(capsule, _BFLOAT, _UNSIGNED):
            self.dtype = bfloat16
        return capsule


class _Writable:
    """An array that may be written to: the older protocol has no flag for memory that may not, and
    NumPy takes all of it for such memory."""

    def __init__(self, base: Array) -> None:
        self.base = base
        interface = base.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor that shares memory with an object of the DLPack protocol, or with a capsule; with
    `copy` one with memory of its own.

    Raises:
        BufferError: the memory is on another device.
        OperatorError: a device is asked for that is not there.
    """
    given = _Source(ext_tensor)
    with traced_by(None):  # a trace has a constant of it
        array = np.from_dlpack(given)  # type: ignore[arg-type]  # NumPy's protocol names all options
    if given.is_unversioned:
        array = np.asarray(_Writable(array))
    dtype = given.dtype or from_array_dtype(array.dtype)
    return placed(make(array.copy() if copy else keep_size(array), dtype), device)


def to_dlpack(tensor: Any) -> object:
    """A capsule of a tensor, for libraries that take no other form."""
    return tensor.__dlpack__()
