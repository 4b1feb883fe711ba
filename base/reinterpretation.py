"""What reading memory as another dtype refuses, in PyTorch's words."""

from __future__ import annotations

from .dtypes import DType


def of_no_dimension(source: DType, target: DType) -> str:
    """A 0-dim tensor has no elements beside its own."""
    return f"self.dim() cannot be 0 {_what(source, target)}"


def of_stride(source: DType, target: DType, stride: object) -> str:
    """Elements that are joined or taken apart have to lie side by side."""
    return f"self.stride(-1) must be 1 {_what(source, target)}, but got {stride}"


def of_size(source: DType, target: DType, size: object) -> str:
    """So many elements make no whole number of wider ones."""
    times = target.itemsize // source.itemsize
    return f"self.size(-1) must be divisible by {times} {_what(source, target)}, but got {size}"


def _what(source: DType, target: DType) -> str:
    return f"to view {source.word} as {target.word} (different element sizes)"
