"""In which order the dimensions of a Fourier transform's result lie in memory.

PyTorch moves the transformed dimensions behind the others, both sorted by stride: a transform
along dimension 0 of a row-major matrix is one by columns. An order names the slowest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..memory_format import format_strides, in_order, suggested_format
from ..storage import Array

Order = list[int]
Rule = Callable[[Order, Sequence[int]], Order]


def _behind(order: Order, dims: Sequence[int]) -> Order:
    return [d for d in order if d not in dims] + list(dims)


def of_complex(order: Order, dims: Sequence[int]) -> Order:
    return _behind(order, sorted(dims, key=order.index))


def from_real(order: Order, dims: Sequence[int]) -> Order:
    """The last of `dims` is cut in half: it is the fastest."""
    return _behind(order, [*sorted(dims[:-1], key=order.index), dims[-1]])


def from_real_last(order: Order, dims: Sequence[int]) -> Order:
    """The last of `dims` alone, then the others as complex numbers."""
    return of_complex(_behind(order, dims[-1:]), dims[:-1])


def to_real(order: Order, dims: Sequence[int]) -> Order:
    """All of `dims` but the last as complex numbers, then the last."""
    return _behind(of_complex(order, dims[:-1]), dims[-1:])


def ordered(out: Array, x: Array, rule: Rule, dims: Sequence[int], sizes: Sequence[int]) -> Array:
    """`out`, the transform of `x` along `dims`, in the order of a rule.

    Args:
        sizes: how many elements along `dims` were asked for; where `x` has fewer it is padded,
            as images are: channels last if `x` is, else row-major.
    """
    at = [d % x.ndim for d in dims]
    wanted = [*sizes[:-1], sizes[-1] // 2 + 1] if rule is to_real else sizes
    strides = x.strides
    if any(n > x.shape[d] for n, d in zip(wanted, at, strict=True)):
        strides = format_strides(x.shape, suggested_format(x))
    order = sorted(range(x.ndim), key=lambda d: -strides[d])
    return in_order(out, rule(order, at)[::-1])
