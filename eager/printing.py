"""Text of a tensor as PyTorch prints it: `tensor([1., 2.])`.

The elements of one tensor share a width and a notation, which the elements that are shown decide
(`Formatter`); long tensors show the ends of each dimension. `set_printoptions` changes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bool_, complex64, complex128, float16, int64

from .device import PLACES
from .kernels.quantization import dequantize
from .modes import MODES
from .placement import device_of, existing
from .storage import Array, Quantizer, Sparse, TensorBase, value


@dataclass
class PrintOptions:
    """How tensors are printed.

    Attributes:
        precision: digits behind the point.
        threshold: more elements than this are summarised.
        edgeitems: elements shown at either end of a summarised dimension.
        linewidth: characters of a line of elements.
        sci_mode: scientific notation always or never; None: where the elements ask for it.
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTIONS = PrintOptions()
_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed, as `torch.set_printoptions` does.

    Args:
        profile: "default", "short" or "full", which the other options refine.
        sci_mode: goes back to None (as the elements ask) where it is not given.
    """
    if (base := _PROFILES.get(profile or "")) is not None:
        _replace(base)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems,
             "linewidth": linewidth}  # fmt: skip
    kept: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _replace(replace(PRINT_OPTIONS, **kept, sci_mode=sci_mode))


def _replace(source: PrintOptions) -> None:
    for name, setting in asdict(source).items():
        setattr(PRINT_OPTIONS, name, setting)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Within, tensors are printed with other options."""
    before = replace(PRINT_OPTIONS)
    set_printoptions(**options)
    try:
        yield
    finally:
        _replace(before)


class Formatter:
    """How real elements are written: width and notation common to all that are shown."""

    def __init__(self, shown: Array) -> None:
        self.floating = shown.dtype.kind == "f"
        self.integral, self.scientific, self.width = True, False, 1
        if not self.floating:
            self.width = max([1, *(len(str(v)) for v in shown.reshape(-1).tolist())])
            return
        kept = shown[np.isfinite(shown) & (shown != 0)].astype(np.float64)
        if kept.size == 0:
            return
        self.integral = bool((kept == np.ceil(kept)).all())
        self.scientific = _needs_exponent(np.abs(kept))
        self.width = max(1, *(len(self._bare(v)) for v in kept.tolist()))

    def _bare(self, v: Any) -> str:
        if not self.floating:
            return str(v)
        if self.scientific:
            return f"{v:.{PRINT_OPTIONS.precision}e}"
        if self.integral:
            return f"{v:.0f}" + ("." if math.isfinite(v) else "")
        return f"{v:.{PRINT_OPTIONS.precision}f}"

    def text(self, v: Any) -> str:
        """`v`, moved to the right in its width."""
        return self._bare(v).rjust(self.width)


def _needs_exponent(magnitudes: Array) -> bool:
    if PRINT_OPTIONS.sci_mode is not None:
        return PRINT_OPTIONS.sci_mode
    low, high = float(magnitudes.min()), float(magnitudes.max())
    return high > 1000.0 * low or high > 1.0e8 or low < 1.0e-4


class ComplexFormatter:
    """Complex elements: both parts in formats of their own."""

    def __init__(self, shown: Array) -> None:
        self.real, self.imag = Formatter(shown.real), Formatter(shown.imag)
        self.width = self.real.width + self.imag.width + 1

    def text(self, v: complex) -> str:
        imag = self.imag.text(v.imag).lstrip() + "j"
        return self.real.text(v.real) + ("" if imag[0] in "+-" else "+") + imag


def _is_cut(size: int, shorten: bool) -> bool:
    return shorten and size > 2 * PRINT_OPTIONS.edgeitems


def _edges(size: int) -> list[int]:
    count = PRINT_OPTIONS.edgeitems
    return [*range(count), *range(size - count, size)]


def _summarised(a: Array) -> Array:
    """The elements that are shown."""
    for axis, size in enumerate(a.shape):
        if _is_cut(size, True):
            a = np.take(a, np.array(_edges(size), np.int64), axis=axis)
    return a


Text = Callable[[Any], str]


def _parts(a: Array, shorten: bool, gap: str, part: Text) -> list[str]:
    """The texts of what `a` holds, or of both ends with `gap` between."""
    if not _is_cut(a.shape[0], shorten):
        return [part(x) for x in a]
    found = [part(a[at]) for at in _edges(a.shape[0])]
    middle = PRINT_OPTIONS.edgeitems
    return [*found[:middle], gap, *found[middle:]]


def _nested(a: Array, indent: int, shorten: bool, fmt: Formatter | ComplexFormatter) -> str:
    if a.ndim == 0:
        return fmt.text(a.item())
    if a.ndim == 1:
        gap = " ..." if PRINT_OPTIONS.edgeitems else "..."
        cells = _parts(a, shorten, gap, lambda x: fmt.text(x.item()))
        per_line = max(1, (PRINT_OPTIONS.linewidth - indent) // (fmt.width + 2))
        lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = _parts(a, shorten, "...", lambda row: _nested(row, indent + 1, shorten, fmt))
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def _elements(numbers: Array, indent: int) -> str:
    shorten = numbers.size > PRINT_OPTIONS.threshold
    shown = _summarised(numbers) if shorten else numbers
    fmt = ComplexFormatter(shown) if numbers.dtype.kind == "c" else Formatter(shown)
    return _nested(numbers, indent, shorten, fmt)


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """Suffixes behind the elements, on a line of their own where they would be too long."""
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > PRINT_OPTIONS.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def _is_implied(dtype: DType, empty: bool) -> bool:
    """Whether the dtype goes without saying."""
    default = MODES.default_dtype
    if empty:
        return dtype is default
    return dtype in (default, complex128 if default.bits == 64 else complex64, int64, bool_)


def _quantizer_texts(t: TensorBase, held: Quantizer) -> list[str]:
    """What is said of a quantized tensor besides its numbers and its dtype."""
    kind = "tensor" if held.axis is None else "channel"
    texts = [
        f"size={tuple(t._array.shape)}",
        f"dtype={t.dtype}",
        f"quantization_scheme=torch.per_{kind}_affine",
        f"scale={held.scale.tolist()}",
        f"zero_point={held.zero_point.tolist()}",
    ]
    return texts if held.axis is None else [*texts, f"axis={held.axis}"]


def _sparse_text(t: TensorBase, held: Sparse, prefix: str) -> str:
    """`repr` of a sparse tensor: that of its parts."""
    names = ("indices", "values") if held.rows is None else ("col_indices", "values")
    named = dict(zip(names, (held.indices, held.values), strict=True))
    parts = named if held.rows is None else {"crow_indices": held.rows, **named}
    pad = " " * len(prefix)
    leads = (f"{prefix if k == 0 else pad}{name}=tensor(" for k, name in enumerate(parts))
    lines = [tensor_text(part, lead) for part, lead in zip(parts.values(), leads, strict=True)]
    layout = "sparse_coo" if held.rows is None else "sparse_csr"
    told = [f"size={tuple(t._array.shape)}", f"nnz={held.values._array.shape[0]}"]
    if not _is_implied(t.dtype, False):
        told.append(f"dtype={t.dtype}")
    last = [*told, f"layout=torch.{layout}" + (", requires_grad=True" if t.requires_grad else "")]
    return ",\n".join([*lines, pad + ", ".join(last)]) + ")"


def _is_at_home(t: TensorBase) -> bool:
    """Whether the device goes without saying: it is where new tensors are made."""
    where, home = device_of(t), PLACES[-1]
    if where.type != home.type:
        return False
    return where.index is None or where.index == existing(None)


def tensor_text(t: TensorBase, prefix: str = "tensor(") -> str:
    """`repr` of a tensor."""
    if t._sparse is not None:
        return _sparse_text(t, t._sparse, prefix)
    numbers = value(t).astype(np.float32) if t.dtype is float16 else value(t)
    suffixes = []
    if t._quantizer is not None:
        numbers, suffixes = value(dequantize(t)), _quantizer_texts(t, t._quantizer)
    elif numbers.ndim != 1 if numbers.size == 0 else not PRINT_OPTIONS.edgeitems:
        suffixes.append(f"size={tuple(numbers.shape)}")
    if MODES.has_gpus and not _is_at_home(t):
        suffixes.insert(0, f"device='{device_of(t)}'")
    if t._quantizer is None and not _is_implied(t.dtype, numbers.size == 0):
        suffixes.append(f"dtype={t.dtype}")
    if t.requires_grad:
        suffixes.append("requires_grad=True")
    body = _elements(numbers, len(prefix)) if numbers.size else "[]"
    return _with_suffixes(prefix + body, suffixes, len(prefix))
