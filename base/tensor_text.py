"""Tensors as PyTorch's C++ prints them: columns above the type.

In prints of scripts, in constants of graphs and in messages (ATen/core/Formatting.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

LINE_WIDTH = 80


def tensor_text(values: np.ndarray[Any, Any], kind: str) -> str:
    """Rows of aligned columns, then `[ CPUFloatType{2,3} ]`.

    Args:
        values: the numbers; of complex ones the real parts are shown, as in PyTorch.
        kind: what the type is called, without the sizes.
    """
    values = np.asarray(values.real, np.float64)
    if values.ndim == 0:
        body = f"{_default(float(values))}\n"
    elif not values.size:
        body = ""
    elif values.ndim == 1:
        layout = _Layout(values)
        rows = "".join(f"{layout.text(v)}\n" for v in values)
        body = layout.head + rows
    elif values.ndim == 2:
        body = "".join(_matrix(values, 0))
    else:
        body = "\n".join(_slices(values))
    sizes = ",".join(map(str, values.shape))
    return f"{body}[ {kind}{{{sizes}}} ]"


def _default(value: float) -> str:
    """The shortest text that reads back as the number."""
    return repr(value).removesuffix(".0")


class _Layout:
    """The format that the numbers of one matrix share: notation, width and common factor."""

    def __init__(self, values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        sizes = np.abs(values[np.isfinite(values)])
        low, high = (_digits(float(f(sizes))) if sizes.size else 1 for f in (np.min, np.max))
        self.scale = 1.0
        self.spec = ".4f"
        if bool(np.all(sizes == np.ceil(sizes))):
            self.width, self.spec = (11, ".4e") if high > 9 else (high + 1, "g")
        elif high - low > 4:
            self.width, self.spec = 11 + (abs(high) > 99 or abs(low) > 99), ".4e"
        elif high > 5 or high < 0:
            self.width, self.scale = 7, 10.0 ** (high - 1)
        else:
            self.width = 7 if high == 0 else high + 6

    @property
    def head(self) -> str:
        return "" if self.scale == 1 else f"{_default(self.scale)} *\n"

    def text(self, value: float) -> str:
        return format(value / self.scale, self.spec).rjust(self.width)


def _digits(size: float) -> int:
    """Digits in front of the point; negative for small numbers."""
    return math.floor(math.log10(size)) + 1 if size else 1


def _matrix(values: np.ndarray[Any, np.dtype[np.float64]], indent: int) -> Iterator[str]:
    layout = _Layout(values)
    margin = " " * indent
    columns = values.shape[1]
    step = (LINE_WIDTH - indent) // (layout.width + 1)
    for first in range(0, columns, step):
        last = min(first + step, columns)
        if step < columns:
            yield "\n" * (first != 0) + f"Columns {first + 1} to {last}{margin}"
        if layout.head:
            yield layout.head + margin
        between = margin + (" " if layout.head else "")
        rows = (" ".join(map(layout.text, row[first:last])) + "\n" for row in values)
        yield between.join(rows)


def _slices(values: np.ndarray[Any, np.dtype[np.float64]]) -> Iterator[str]:
    """The matrices of a tensor of more dimensions; the first index counts fastest."""
    for backwards in product(*map(range, reversed(values.shape[:-2]))):
        index = backwards[::-1]
        name = "".join(f"{i + 1}," for i in index)
        yield f"({name}.,.) = \n" + "".join(_matrix(values[index], 1))
