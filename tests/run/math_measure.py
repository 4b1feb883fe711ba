"""Calls math-library functions over arrays and measures their error in ulps."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tensorscript.backends.cpu.jit import LoadedModule, compile_object, load_object
from tensorscript.backends.llvm.math import closure, symbol
from tensorscript.backends.llvm.math.library import BINARY
from tensorscript.backends.target import Target

_NUMPY = {"f32": np.float32, "f64": np.float64}
_LLVM = {"f32": "float", "f64": "double"}
_kept: list[LoadedModule] = []


@cache
def native(fn: str, dtype: str, lanes: int, target: Target | None) -> ctypes._FuncPointer:
    """A loop over arrays (whose length is a multiple of `lanes`) around one function."""
    element = _LLVM[dtype]
    ty = element if lanes == 1 else f"<{lanes} x {element}>"
    step = np.dtype(_NUMPY[dtype]).itemsize
    operands = "xy"[: 2 if fn in BINARY else 1]
    loads = "".join(
        f"  %p{o} = getelementptr {element}, ptr %{o}, i64 %i\n"
        f"  %v{o} = load {ty}, ptr %p{o}, align {step}\n"
        for o in operands
    )
    arguments = ", ".join(f"{ty} %v{o}" for o in operands)
    text = f"""define void @run(ptr %x, ptr %y, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{loads}  %r = call {ty} @{symbol(fn, dtype, lanes)}({arguments})
  %po = getelementptr {element}, ptr %out, i64 %i
  store {ty} %r, ptr %po, align {step}
  %next = add i64 %i, {lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}
"""
    module = load_object(compile_object(closure([(fn, dtype, lanes)], target) + text), ["run"])
    _kept.append(module)
    pointer = ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)
    return kind(module.address("run"))


def evaluate(
    fn: str,
    dtype: str,
    x: NDArray[np.floating],
    y: NDArray[np.floating] | None = None,
    lanes: int = 16,
    target: Target | None = None,
) -> NDArray[np.floating]:
    """`fn` of every element, by the generated code; with a target, by its own instructions."""
    room = -(-x.size // lanes) * lanes
    kind = _NUMPY[dtype]
    a, b, out = np.ones(room, kind), np.ones(room, kind), np.empty(room, kind)
    a[: x.size] = x
    if y is not None:
        b[: x.size] = y
    native(fn, dtype, lanes, target)(a.ctypes.data, b.ctypes.data, out.ctypes.data, room)
    return out[: x.size]


def ulps(got: NDArray[np.floating], wanted: NDArray[np.longdouble], dtype: str) -> float:
    """The largest error in units of the last place of the wanted value, finite values only."""
    kind = _NUMPY[dtype]
    with np.errstate(all="ignore"):
        rounded = wanted.astype(kind)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        unit = np.spacing(np.abs(rounded)).astype(np.longdouble)
        error = np.abs(got.astype(np.longdouble) - wanted) / unit
    error = np.where(same & ~np.isfinite(rounded), 0, error)
    return float(np.max(np.where(np.isnan(error), np.inf, error)))
