"""Elements of a tensor as PyTorch prints them: `[1., 2.]`.

The elements of one tensor share a width and a notation, which the elements that are shown decide
(`Formatter`); long tensors show the ends of each dimension. `set_printoptions` changes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from tensorscript.base.records import dataclass

from .storage import Array


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
    return high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4


class ComplexFormatter:
    """Complex elements: both parts in formats of their own."""

    def __init__(self, shown: Array) -> None:
        self.real, self.imag = Formatter(shown.real), Formatter(shown.imag)
        self.width = self.real.width + self.imag.width + 1

    def text(self, v: complex) -> str:
        return joined(self.real.text(v.real), self.imag.text(v.imag))


def joined(real: str, imag: str) -> str:
    """A complex element of the texts of its parts."""
    imag = imag.lstrip() + "j"
    return real + ("" if imag[0] in "+-" else "+") + imag


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


def vector_text(cells: list[str], indent: int, width: int) -> str:
    """Elements of at most `width` characters in lines, those behind the first moved to the
    right by `indent`."""
    per_line = max(1, (PRINT_OPTIONS.linewidth - indent) // (width + 2))
    lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def rows_text(rows: list[str], indent: int, rank: int) -> str:
    """What a tensor of `rank` dimensions, at least two, holds along its first."""
    return "[" + ("," + "\n" * (rank - 1) + " " * (indent + 1)).join(rows) + "]"


def _nested(a: Array, indent: int, shorten: bool, fmt: Formatter | ComplexFormatter) -> str:
    if a.ndim == 0:
        return fmt.text(a.item())
    if a.ndim == 1:
        gap = " ..." if PRINT_OPTIONS.edgeitems else "..."
        cells = _parts(a, shorten, gap, lambda x: fmt.text(x.item()))
        return vector_text(cells, indent, fmt.width)
    rows = _parts(a, shorten, "...", lambda row: _nested(row, indent + 1, shorten, fmt))
    return rows_text(rows, indent, a.ndim)


def elements_text(numbers: Array, indent: int) -> str:
    """The elements, at least one, in brackets; lines behind the first are moved by `indent`."""
    shorten = numbers.size > PRINT_OPTIONS.threshold
    shown = _summarised(numbers) if shorten else numbers
    fmt = ComplexFormatter(shown) if numbers.dtype.kind == "c" else Formatter(shown)
    return _nested(numbers, indent, shorten, fmt)


def with_suffixes(text: str, suffixes: list[str], indent: int, apart: bool) -> str:
    """Suffixes behind the elements, on a line of their own where they would be too long.

    Args:
        apart: whether the first is on a line of its own in any case.
    """
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if apart or used + len(suffix) + 2 > PRINT_OPTIONS.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
        apart = False
    return text + ")"
