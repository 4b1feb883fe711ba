"""Dimension numbers and broadcasting, with PyTorch's refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorscript.base.errors import DimensionError, OperatorError


def normal_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front. A 0-dim tensor has the dimensions -1 and 0.

    Raises:
        DimensionError: out of range.
    """
    size = max(ndim, 1)
    if not -size <= dim < size:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})"
        )
    return dim % size


def normal_dims(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Several dimensions, each once."""
    out: list[int] = []
    for dim in dims:
        found = normal_dim(dim, ndim)
        if found in out:
            raise OperatorError(f"dim {found} appears multiple times in the list of dims")
        out.append(found)
    return tuple(out)


def axes(dims: Sequence[int] | int | None, ndim: int) -> tuple[int, ...]:
    """Dimensions to reduce, for NumPy: none given means all."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return tuple(range(ndim))
    given = (dims,) if isinstance(dims, int) else dims
    found = normal_dims(given, ndim)
    return found if ndim else ()


def broadcast(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The common shape of two.

    Raises:
        OperatorError: in PyTorch's words.
    """
    ndim = max(len(a), len(b))
    out = []
    for k in range(ndim - 1, -1, -1):
        i, j = k - ndim + len(a), k - ndim + len(b)
        m, n = (a[i] if i >= 0 else 1), (b[j] if j >= 0 else 1)
        if m != n and m != 1 and n != 1:
            raise OperatorError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                f"non-singleton dimension {k}"
            )
        out.append(n if m == 1 else m)
    return tuple(reversed(out))


def check_broadcast(*arrays: Any) -> None:
    """Raise unless the shapes of `arrays` broadcast together."""
    shape: tuple[int, ...] = ()
    for a in arrays:
        if a.shape != shape and a.shape != ():
            shape = broadcast(shape, a.shape)


def check_sizes(size: Sequence[int]) -> None:
    """Refuse a negative size of a new tensor.

    Raises:
        OperatorError: in the words of PyTorch.
    """
    for n in size:
        if n < 0:
            raise OperatorError(
                f"Trying to create tensor with negative dimension {n}: {list(size)}"
            )


def whole_shape(size: Sequence[int], numel: int) -> tuple[int, ...]:
    """`size` with -1 filled in.

    Raises:
        OperatorError: the element counts do not agree.
    """
    shape = [int(n) for n in size]
    known = 1
    for at, n in enumerate(shape):
        if n < -1:
            raise OperatorError(f"invalid shape dimension {n} at index {at} of shape {shape}")
        known *= 1 if n == -1 else n
    if shape.count(-1) > 1:
        raise OperatorError("only one dimension can be inferred")
    if -1 in shape:
        if known == 0 and numel == 0:
            raise OperatorError(
                f"cannot reshape tensor of 0 elements into shape {shape} because the unspecified "
                "dimension size -1 can be any value and is ambiguous"
            )
        if known and numel % known == 0:
            shape[shape.index(-1)] = numel // known
            return tuple(shape)
    elif known == numel:
        return tuple(shape)
    raise OperatorError(f"shape '{shape}' is invalid for input of size {numel}")
