"""Hashes of tensors: the bits of all elements, by exclusive or."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import uint64
from tensorscript.base.errors import OperatorError

from ..storage import compute, wrap
from .shapes import axes

Kernel = Callable[..., Any]


def hash_tensor(self: Any, dim: Sequence[int] = (), keepdim: bool = False, mode: int = 0) -> Any:
    """Numbers with a fraction count as the bits of a float64, integers as 64 bits.

    Raises:
        OperatorError: an unknown mode, or no elements at all.
    """
    if mode != 0:
        raise OperatorError(f"Unknown hash_tensor mode: {mode}")
    x = compute(self)
    if not x.size and not dim:
        raise OperatorError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    is_float = self.dtype.is_floating_point
    bits = x.astype(np.float64).view(np.uint64) if is_float else x.astype(np.int64).view(np.uint64)
    over = axes(list(dim) or None, x.ndim)
    combine: Any = np.bitwise_xor.reduce
    return wrap(combine(bits, axis=over, keepdims=keepdim), uint64)


KERNELS: dict[str, Kernel] = {"aten::hash_tensor": hash_tensor}
