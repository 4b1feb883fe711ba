"""Nested tensors as PyTorch's transformer encoder uses them for texts of several lengths.

A nested tensor of entries (t_b, E) is kept as its padded form (B, T, E) beside the lengths. Three
operators know of them: what makes one of a mask, the fused encoder layer, and what pads it again;
between these nothing else is done to one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError

from ..storage import Array, array, value, wrap

Kernel = Callable[..., Any]


def shown_rows(lengths: Array, most: int) -> Array:
    """Which of `most` rows of each entry there are, (B, most)."""
    return np.asarray(np.arange(most) < lengths[:, None])


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
    made = wrap(value(t).copy(), t.dtype)
    made._lengths = value(mask).sum(1)
    return made


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
