"""Nested tensors as PyTorch's transformer encoder uses them for texts of several lengths.

A nested tensor of entries (t_b, E) is kept as its padded form (B, T, E) beside the lengths; what
stands in the rows behind an entry means nothing. Here are what makes one of a mask and what pads it
again; the fused encoder layer knows of them, and `nested_rules.py` says what others do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..modes import MODES
from ..storage import Array, array, make, value, wrap

Kernel = Callable[..., Any]


def shown_rows(lengths: Array, most: int) -> Array:
    """Which of `most` rows of each entry there are, (B, most)."""
    return np.asarray(np.arange(most) < lengths[:, None])


def lengths_of(t: Any) -> Array:
    """How many rows each entry of a nested tensor has, (B,)."""
    lengths: Array = t._lengths
    return lengths


def rows_of(t: Any) -> Any:
    """The rows of all entries end to end, (R, E), a copy."""
    held = array(t)
    return make(held[shown_rows(lengths_of(t), held.shape[1])], t.dtype)


def as_nested(padded: Any, lengths: Array) -> Any:
    """A tensor (B, T, E) marked as the padded form of entries of these lengths."""
    MODES.has_readings = True
    padded._lengths = lengths
    return padded


def _left_aligned(t: Any, mask: Any) -> bool:
    shown = value(mask).astype(bool)
    if shown.ndim != 2 or t._array.ndim != 3 or shown.shape != t._array.shape[:2]:
        raise OperatorError("Input tensor should be padded and the mask (N, L) should match it")
    return bool((shown == shown_rows(shown.sum(1), shown.shape[1])).all())


def from_mask(t: Any, mask: Any, mask_check: bool = True) -> Any:
    """The rows of t (B, T, E) that mask (B, T) shows: the first ones of each entry.

    Raises:
        OperatorError: shapes do not fit, or rows are shown behind hidden ones.
    """
    if mask.dtype.name != "bool":
        raise OperatorError("Expected mask to be of ScalarType Bool")
    if mask_check and not _left_aligned(t, mask):
        raise OperatorError("Mask must be left-aligned without gaps")
    return as_nested(wrap(value(t).copy(), t.dtype), value(mask).sum(1))


def to_padded(self: Any, padding: float, output_size: Sequence[int] | None = None) -> Any:
    """The padded form, of the longest entry's length or of a given size.

    Raises:
        OperatorError: not a nested tensor, or the size is too small.
    """
    if self._lengths is None:
        raise OperatorError("to_padded_tensor: expected a nested tensor")
    held = value(self)
    batch, most, width = held.shape
    longest = int(self._lengths.max(initial=0))
    size = tuple(output_size) if output_size is not None else (batch, longest, width)
    if len(size) != 3 or any(a < b for a, b in zip(size, (batch, longest, width), strict=True)):
        raise OperatorError("Value in output_size is less than NestedTensor padded size. Truncation"
                            " is not supported.")  # fmt: skip
    out = np.full(size, padding, held.dtype)
    rows = min(most, size[1])
    shown = shown_rows(self._lengths, rows)
    out[:batch, :rows, :width][shown] = held[:, :rows][shown]
    return wrap(out, self.dtype)


def hidden_rows(t: Any) -> Array | None:
    """The scores (B, 1, 1, T) that do not count in attention over a nested tensor."""
    if t._lengths is None:
        return None
    return ~shown_rows(t._lengths, array(t).shape[1])[:, None, None, :]


KERNELS: dict[str, Kernel] = {
    "aten::_nested_tensor_from_mask": from_mask,
    "aten::_nested_tensor_from_mask_left_aligned": _left_aligned,
    "aten::to_padded_tensor": to_padded,
    "aten::nested_to_padded_tensor": to_padded,
    "prim::is_nested": lambda self: self._lengths is not None,
}
