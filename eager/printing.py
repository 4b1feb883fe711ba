"""Text of a tensor as PyTorch prints it (`tensor([1., 2.])`), with its default options."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_, complex64, complex128, int64

from .modes import MODES
from .storage import Array, TensorBase, value

PRECISION = 4
THRESHOLD = 1000
EDGE_ITEMS = 3
LINE_WIDTH = 80


class _Format:
    """How the elements of one tensor are written: width and notation common to all."""

    def __init__(self, shown: Array) -> None:
        self.floating = shown.dtype.kind == "f"
        self.integral_floats = self.scientific = False
        self.width = 1
        flat = shown.reshape(-1)
        if not self.floating:
            self.width = max([1, *(len(str(v)) for v in flat.tolist())])
            return
        nonzero = np.abs(flat[np.isfinite(flat) & (flat != 0)]).astype(np.float64)
        if nonzero.size == 0:
            self.integral_floats = True
            return
        low, high = float(nonzero.min()), float(nonzero.max())
        self.integral_floats = bool((nonzero == np.ceil(nonzero)).all())
        ratio = high / low > 1000.0
        self.scientific = ratio or high > 1.0e8 or (not self.integral_floats and low < 1.0e-4)
        if self.integral_floats:
            self.scientific = ratio or high > 1.0e8
        kept = flat[np.isfinite(flat) & (flat != 0)]
        self.width = max(len(self.text(v)) for v in kept.tolist())
        if self.integral_floats and not self.scientific:
            self.width = max(self.width, 2)

    def text(self, v: Any) -> str:
        if not self.floating:
            return str(v)
        if self.scientific:
            return f"{v:.{PRECISION}e}"
        if self.integral_floats:
            return f"{v:.0f}" + ("." if math.isfinite(v) else "")
        return f"{v:.{PRECISION}f}"

    def padded(self, v: Any) -> str:
        return self.text(v).rjust(self.width)


def _summarised(a: Array) -> Array:
    """The elements that are shown: at most `EDGE_ITEMS` at either end of each dimension."""
    for axis in range(a.ndim):
        if a.shape[axis] > 2 * EDGE_ITEMS:
            n = a.shape[axis]
            edges = [*range(EDGE_ITEMS), *range(n - EDGE_ITEMS, n)]
            a = np.take(a, edges, axis=axis)
    return a


def _vector(a: Array, indent: int, shorten: bool, fmt: Any) -> str:
    per_line = max(1, (LINE_WIDTH - indent) // (fmt.width + 2))
    if shorten and a.shape[0] > 2 * EDGE_ITEMS:
        head, tail = a[:EDGE_ITEMS].tolist(), a[-EDGE_ITEMS:].tolist()
        cells = [fmt.padded(v) for v in head] + [" ..."] + [fmt.padded(v) for v in tail]
    else:
        cells = [fmt.padded(v) for v in a.tolist()]
    lines = [cells[i : i + per_line] for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"


def _nested(a: Array, indent: int, shorten: bool, fmt: Any) -> str:
    if a.ndim == 0:
        return str(fmt.padded(a.item()))
    if a.ndim == 1:
        return _vector(a, indent, shorten, fmt)
    if shorten and a.shape[0] > 2 * EDGE_ITEMS:
        head = [_nested(a[i], indent + 1, shorten, fmt) for i in range(EDGE_ITEMS)]
        tail = [_nested(a[i], indent + 1, shorten, fmt) for i in range(-EDGE_ITEMS, 0)]
        parts = [*head, "...", *tail]
    else:
        parts = [_nested(row, indent + 1, shorten, fmt) for row in a]
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


class _ComplexFormat:
    """Complex elements: both parts in the formats of their own."""

    def __init__(self, shown: Array) -> None:
        self.real = _Format(np.ascontiguousarray(shown.real))
        self.imag = _Format(np.ascontiguousarray(shown.imag))
        self.width = self.real.width + self.imag.width + 1

    def padded(self, v: complex) -> str:
        real = self.real.padded(v.real)
        imag = self.imag.text(v.imag) + "j"
        return real + ("" if imag.startswith("-") else "+") + imag


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """Suffixes behind the elements, on a line of their own where they would be too long."""
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > LINE_WIDTH:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def tensor_text(t: TensorBase) -> str:
    """`repr` of a tensor."""
    prefix = "tensor("
    suffixes = []
    shape = list(t._array.shape)
    complex_default = complex128 if MODES.default_dtype.bits == 64 else complex64
    implied = (MODES.default_dtype, complex_default, int64, bool_)
    if 0 in shape:
        if len(shape) != 1:
            suffixes.append(f"size={tuple(shape)}")
        if t.dtype is not MODES.default_dtype:
            suffixes.append(f"dtype={t.dtype}")
        body = "[]"
    else:
        numbers = value(t)
        if t.dtype.is_floating_point and numbers.dtype == np.float16:
            numbers = numbers.astype(np.float32)
        shorten = numbers.size > THRESHOLD
        shown = _summarised(numbers) if shorten else numbers
        fmt = _ComplexFormat(shown) if t.dtype.is_complex else _Format(shown)
        body = _nested(numbers, len(prefix), shorten, fmt)
        if t.dtype not in implied:
            suffixes.append(f"dtype={t.dtype}")
    if t.requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + body, suffixes, len(prefix))
