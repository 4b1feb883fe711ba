"""The Python side of thunks: builtins over compiled code, and the tables that these read."""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy._core as numpy_core

from tensorscript.base.dtypes import DType

from .signature import ArraySpec, Signature
from .thunk_reader import (
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    DIMENSIONS,
    FLAGS,
    NDIM,
    STRIDES,
    slots_of,
)

PYARRAY_EMPTY, SET_HANDLER = 184, 304
"""Indices of PyArray_Empty and PyDataMem_SetHandler in NumPy's C-API table
(numpy/_core/code_generators/numpy_api.py)."""


METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
METHOD_DEF = struct.Struct("QQQQ")
"""PyMethodDef: the addresses of name and function, flags, the address of a text."""


class _Table(bytes):
    """The `self` of a builtin: what its thunk reads, its PyMethodDef, and its name.

    CPython reads the PyMethodDef of a builtin as long as there is one, last as it frees it, and
    holds `self` until then; a garbage collection may free everything else before.
    """

    alive: object
    """What the table has the addresses of."""


@cache
def _numpy_api() -> Any:
    """NumPy's C-API table."""
    capsule = vars(numpy_core)["_multiarray_umath"]._ARRAY_API
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * (SET_HANDLER + 1)).from_address(get(capsule, None))


@cache
def _handler(address: int) -> Any:
    """The capsule of a memory handler, as PyDataMem_SetHandler takes it."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(address, b"mem_handler", None)


@cache
def supported() -> bool:
    """Whether this interpreter and NumPy have the layout the thunk reads."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "gettotalrefcount"):
        return False
    probe = np.zeros((3, 5), np.float32)[:, ::2]

    def field(offset: int, kind: Any) -> int:
        return int(kind.from_address(id(probe) + offset).value)

    dims = (ctypes.c_int64 * 2).from_address(field(DIMENSIONS, ctypes.c_int64))
    steps = (ctypes.c_int64 * 2).from_address(field(STRIDES, ctypes.c_int64))
    return (
        field(8, ctypes.c_int64) == id(np.ndarray)
        and field(DATA, ctypes.c_int64) == probe.ctypes.data
        and field(NDIM, ctypes.c_int32) == 2
        and tuple(dims) == probe.shape
        and tuple(steps) == probe.strides
        and field(DESCR, ctypes.c_int64) == id(probe.dtype)
        and field(FLAGS, ctypes.c_int32) & CONTIGUOUS_ALIGNED == 0x100
    )


def _descr(dtype: DType) -> int:
    return id(np.dtype(dtype.numpy.str))


class Builtin:
    """A native builtin, which keeps alive what it needs.

    Args:
        name: shown in tracebacks.
        address: of the compiled thunk.
        signature: that the thunk was made for.
        miss: called with the arguments that the guard refused; its result is returned.
        error: called with a non-zero status and the arguments; must raise.
        memory: address of the handler (NEP 49) that large results get their memory from.
        gradients: address of the byte that says whether gradients are recorded.
        objects: constants and defaults by their entries in the table. What is missing equals
            nothing and is of no type, so calls that meet it are missed.
        code: what the thunk is in.
    """

    def __init__(
        self,
        name: str,
        address: int,
        signature: Signature,
        miss: Callable[..., Any],
        error: Callable[..., Any],
        memory: int,
        gradients: int,
        objects: Mapping[str, object] | None = None,
        code: object = None,
    ) -> None:
        slots = slots_of(signature)
        dtypes = {
            s.dtype.short: s.dtype
            for s in (*signature.inputs, *signature.outputs)
            if isinstance(s, ArraySpec)
        }
        known = dict(objects or {})
        fixed: dict[str, int] = {
            "array_type": id(np.ndarray),
            "long_type": id(int),
            "float_type": id(float),
            "bool_type": id(bool),
            "list_type": id(list),
            "true": id(True),
            "miss": id(miss),
            "error": id(error),
            "empty": _numpy_api()[PYARRAY_EMPTY],
            "set_handler": _numpy_api()[SET_HANDLER],
            "handler": id(_handler(memory)),
            "gradients": gradients,
        }

        def entry(name: str) -> int:
            if name in fixed:
                return fixed[name]
            return _descr(dtypes[name]) if name in dtypes else id(known.get(name, miss))

        values = [entry(name) for name in slots]
        table, method = _table(struct.pack(f"{len(values)}Q", *values), name, address)
        table.alive = (miss, error, known, code)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
        self.call: Callable[..., Any] = make(method, table, name)


def _table(entries: bytes, name: str, function: int) -> tuple[_Table, int]:
    """The `self` of a builtin, and the address of the PyMethodDef in it."""
    spelt = name.encode() + b"\0"
    table = _Table(len(entries) + METHOD_DEF.size + len(spelt))
    start = ctypes.pythonapi.PyBytes_AsString
    start.restype, start.argtypes = ctypes.c_void_p, [ctypes.py_object]
    memory = start(table)
    method = memory + len(entries)
    fields = METHOD_DEF.pack(method + METHOD_DEF.size, function, METH_FASTCALL_KEYWORDS, 0)
    # Nobody has seen these bytes yet, and where they lie is part of what they say.
    ctypes.memmove(memory, entries + fields + spelt, len(table))
    return table, method
