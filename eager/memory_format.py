"""How the elements of a result lie in memory: strides, in elements, as PyTorch chooses them.

An order names dimensions from the one whose neighbours lie closest to the one whose lie farthest
apart: row-major memory of three dimensions has the order (2, 1, 0), channels-last images (1, 3, 2,
0). The strides of a dense tensor follow from its sizes and its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorscript.base.errors import OperatorError

from .device import (
    MEMORY_FORMATS,
    MemoryFormat,
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
)
from .storage import Array

Order = Sequence[int]
_CHANNELS_ORDER: dict[MemoryFormat, Order] = {
    channels_last: (1, 3, 2, 0),
    channels_last_3d: (1, 4, 3, 2, 0),
}


def row_order(ndim: int) -> Order:
    return range(ndim - 1, -1, -1)


def dense_strides(shape: Sequence[int], order: Order) -> tuple[int, ...]:
    """Strides of a tensor without gaps; a size of 0 counts as 1."""
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim] = step
        step *= max(1, shape[dim])
    return tuple(strides)


def element_strides(a: Array) -> tuple[int, ...]:
    width = max(1, a.itemsize)
    return tuple(step // width for step in a.strides)


def laid_out(a: Array, strides: Sequence[int]) -> Array:
    """The elements of `a` with the given dense strides: `a` itself, a view or a copy."""
    wanted = tuple(step * a.itemsize for step in strides)
    if a.strides == wanted:
        return a
    if a.size and any(
        n != 1 and s != w for n, s, w in zip(a.shape, a.strides, wanted, strict=True)
    ):
        fresh = as_strided(np.empty(a.size, a.dtype), a.shape, wanted)
        fresh[...] = a
        return fresh
    return as_strided(a, a.shape, wanted)


def relaid(memory: Array, like: Array) -> Array:
    """A block of memory, in rows, with the strides of another array that has no gaps."""
    if not is_dense(like.shape, element_strides(like)):
        return memory
    strides = [step * memory.itemsize for step in element_strides(like)]
    return memory if memory.strides == tuple(strides) else as_strided(memory, like.shape, strides)


def unsqueezed(view: Array, source: Array, inserted: Sequence[int]) -> Array:
    """`view`, whose dimensions at `inserted` are new in front of dimensions of `source`, in the
    strides of PyTorch's `unsqueeze`: as if the new dimension held all of the next one.

    Args:
        view: `source` indexed with None at `inserted`, each before another dimension of `source`.
    """
    strides = list(view.strides)
    for count, at in enumerate(inserted):
        dim = at - count
        inner = source.shape[dim] * source.strides[dim] if dim < source.ndim else source.itemsize
        strides[at] = inner
    return view if tuple(strides) == view.strides else as_strided(view, view.shape, strides)


def in_order(a: Array, order: Order) -> Array:
    return laid_out(a, dense_strides(a.shape, order))


def known_format(code: MemoryFormat | int | None) -> MemoryFormat | None:
    """A memory format or its number in scripts."""
    return MEMORY_FORMATS[code] if isinstance(code, int) else code


def format_strides(shape: Sequence[int], wanted: MemoryFormat) -> tuple[int, ...]:
    """The strides of a memory format that is not `preserve_format`.

    Raises:
        OperatorError: a channels-last format of a tensor without four (or five) dimensions.
    """
    if wanted is contiguous_format:
        return dense_strides(shape, row_order(len(shape)))
    order = _CHANNELS_ORDER[wanted]
    if len(order) != len(shape):
        raise OperatorError(f"required rank {len(order)} tensor to use {wanted.name} format")
    return dense_strides(shape, order)


def in_format(a: Array, wanted: MemoryFormat) -> Array:
    """The elements of `a` in a memory format that is not `preserve_format`.

    Raises:
        OperatorError: a channels-last format of a tensor without four (or five) dimensions.
    """
    return laid_out(a, format_strides(a.shape, wanted))


def is_in_format(a: Array, wanted: MemoryFormat) -> bool:
    """Whether `a` is dense in that format (`preserve_format`: row-major); dimensions of size 1 may
    have any stride."""
    if wanted in (contiguous_format, preserve_format):
        return a.flags.c_contiguous
    order = _CHANNELS_ORDER[wanted]
    return len(order) == a.ndim and (a.size == 0 or _follows(a, dense_strides(a.shape, order)))


def _follows(a: Array, strides: Sequence[int]) -> bool:
    found = zip(a.shape, element_strides(a), strides, strict=True)
    return all(n == 1 or have == want for n, have, want in found)


def suggested_format(a: Array) -> MemoryFormat:
    """The format that results of image operators take from their input: channels-last if the
    strides grow in that order (also with gaps), row-major in doubt."""
    for wanted, order in _CHANNELS_ORDER.items():
        if len(order) == a.ndim and _grows_along(a, order):
            return wanted
    return contiguous_format


def _grows_along(a: Array, order: Order) -> bool:
    strides, least = element_strides(a), 0
    if strides[1] == 0:
        return False
    for dim in order:
        if a.shape[dim] == 0 or strides[dim] < least:
            return False
        if dim == 0 and least == strides[1]:  # only one pixel: row-major as well
            return False
        least = strides[dim] * max(1, a.shape[dim])
    return True


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill a block of memory, each once."""
    step = 1
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def preserved_strides(inputs: Sequence[Array], shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a result of `shape` computed elementwise from `inputs`, which broadcast to it.

    As PyTorch's TensorIterator: those of the inputs where they agree and have no gaps, else dense
    strides in the order in which the strides of the inputs grow, the first input deciding.
    """
    full = [a for a in inputs if a.shape == tuple(shape)]
    if len(full) == len(inputs):
        if all(a.flags.c_contiguous for a in inputs):
            return dense_strides(shape, row_order(len(shape)))
        for wanted in _CHANNELS_ORDER:
            if all(is_in_format(a, wanted) for a in inputs):
                return dense_strides(shape, _CHANNELS_ORDER[wanted])
        first = element_strides(inputs[0])
        if all(element_strides(a) == first for a in inputs) and is_dense(shape, first):
            return first
    spread = [_broadcast_strides(a, shape) for a in inputs]
    return dense_strides(shape, _common_order(spread, shape))


def kept_strides(a: Array) -> tuple[int, ...]:
    """The strides of a copy of `a`: its own, of sizes of 1 too, if it has no gaps."""
    found = element_strides(a)
    return found if is_dense(a.shape, found) else preserved_strides([a], a.shape)


def _broadcast_strides(a: Array, shape: Sequence[int]) -> tuple[int, ...]:
    lead = len(shape) - a.ndim
    own = zip(a.shape, element_strides(a), shape[lead:], strict=True)
    return (*[0] * lead, *(0 if n == 1 and m != 1 else step for n, step, m in own))


def _common_order(operands: Sequence[Sequence[int]], shape: Sequence[int]) -> Order:
    """An insertion sort of the dimensions, as pairs may be undecided (all strides 0)."""
    order = list(row_order(len(shape)))
    for start in range(1, len(order)):
        at = start
        for before in range(start - 1, -1, -1):
            found = _compared(order[before], order[at], operands, shape)
            if found < 0:
                break
            if found > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    return order


def _compared(one: int, other: int, operands: Sequence[Sequence[int]], shape: Sequence[int]) -> int:
    """Whether dimension `one` lies closer (-1) or farther (1) than `other`; 0: undecided."""
    for strides in operands:
        a, b = strides[one], strides[other]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if shape[one] > shape[other]:
            return 1
    return 0
