"""Expressions over all points of an iteration space at once.

Both sides of a select are computed, but reads of the side not taken are masked, so a read out of
bounds at a point where it counts is an error here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bfloat16, numbers
from tensorscript.base.errors import InternalError
from tensorscript.base.rounding import bfloat16_bits
from tensorscript.dialects.te.expr import Expr

from .evaluate_scalars import BINARY, CALLS, Array

Number = Any


def to_wide(array: Array, dtype: DType) -> Array:
    """Storage to what is computed with: bfloat16 bits to float32."""
    return np.asarray(numbers(np.asarray(array), dtype))


def to_storage(array: Array, dtype: DType) -> Array:
    """What is computed with to storage: float32 to bfloat16 bits, ties to even."""
    found = np.asarray(array)
    return bfloat16_bits(found) if dtype is bfloat16 else found.astype(dtype.numpy)


def wide_type(dtype: DType) -> np.dtype:
    """The NumPy dtype that `dtype` is computed with."""
    return np.dtype(np.float32) if dtype is bfloat16 else dtype.numpy


class Points:
    """Evaluates expressions at all points of an iteration space."""

    def __init__(self, buffers: Mapping[str, tuple[Array, DType]], values: Mapping[str, Number]):
        self.buffers = buffers
        self.values = values
        self.done: dict[tuple[Expr, int], Array] = {}
        self.masks: list[Array] = []

    def at(self, e: Expr, mask: Array | None) -> Array:
        key = (e, id(mask))
        if (found := self.done.get(key)) is None:
            with np.errstate(all="ignore"):
                found = self.done[key] = self._at(e, mask)
        return found

    def _at(self, e: Expr, mask: Array | None) -> Array:
        kind = wide_type(e.dtype)
        match e.op:
            case "const":
                return np.asarray(e.value, dtype=kind)
            case "var":
                return np.asarray(self.values[str(e.value)], dtype=kind)
            case "load":
                return self._load(e, mask)
            case "select":
                return self._select(e, mask)
            case "cast":
                return self._cast(self.at(e.args[0], mask), e.args[0].dtype, e.dtype)
            case "bitcast":
                stored = to_storage(self.at(e.args[0], mask), e.args[0].dtype)
                return to_wide(stored.view(e.dtype.numpy), e.dtype)
            case "neg":
                return np.asarray(np.negative(self.at(e.args[0], mask)), dtype=kind)
            case "not":
                return np.asarray(np.invert(self.at(e.args[0], mask)))
            case "call":
                values = [self.at(a, mask) for a in e.args]
                return np.asarray(CALLS[str(e.value)](*values), dtype=kind)
        a, b = (self.at(x, mask) for x in e.args)
        return np.asarray(BINARY[e.op](a, b), dtype=kind)

    def _cast(self, x: Array, source: DType, target: DType) -> Array:
        if target is bfloat16:
            return to_wide(to_storage(x, bfloat16), bfloat16)
        return np.asarray(x).astype(target.numpy)

    def _select(self, e: Expr, mask: Array | None) -> Array:
        condition = self.at(e.args[0], mask)
        yes = condition if mask is None else condition & mask
        no = ~condition if mask is None else ~condition & mask
        self.masks += [yes, no]  # their ids are keys: keep them alive
        left, right = self.at(e.args[1], yes), self.at(e.args[2], no)
        return np.where(condition, left, right)

    def _load(self, e: Expr, mask: Array | None) -> Array:
        array, dtype = self.buffers[str(e.value)]
        at = [self.at(i, mask) for i in e.args]
        if any(index.size == 0 for index in at):
            return np.zeros(np.broadcast_shapes(*(i.shape for i in at)), wide_type(dtype))
        clipped = []
        for index, size in zip(at, array.shape, strict=True):
            good = (index >= 0) & (index < size)
            counts = ~good if mask is None else ~good & mask
            if np.any(counts):
                raise InternalError(f"read {e} is out of bounds of {array.shape}", "tg")
            clipped.append(np.clip(index, 0, max(size - 1, 0)))
        if array.size == 0:
            shape = np.broadcast_shapes(*(c.shape for c in clipped))
            return np.zeros(shape, wide_type(dtype))
        return to_wide(array[tuple(clipped)], dtype)
