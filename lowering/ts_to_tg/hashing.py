"""Hashes of tensors: the bits of all elements, by exclusive or."""

from __future__ import annotations

from tensorscript.base.dtypes import float64, int64, uint64
from tensorscript.dialects.te.expr import bitcast

from .builder import Builder, Rows
from .dims import dimensions
from .reduction import combine
from .sizes import product
from .values import Tensor, Value


def _hash_tensor(
    b: Builder,
    x: Tensor,
    dims: Value = None,
    keepdim: Value = False,
    mode: Value = 0,
    *_: Value,
) -> Tensor:
    """Numbers with a fraction count as the bits of a float64, integers as 64 bits."""
    if mode != 0:
        b.error(f"Unknown hash_tensor mode: {mode}")
    if not dims and product(x.shape).is_int(0):
        b.error(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify"
            " the reduction dim with the 'dim' argument."
        )
    wide = float64 if x.dtype.is_floating_point else int64
    found = dimensions(b, dims, x.rank)
    bits = b.compute(x.shape, uint64, lambda body, i: bitcast(body.read(x, i, wide), uint64))
    return combine(b, bits, found, keepdim, "xor", uint64)


HASHED: Rows = {"aten::hash_tensor": _hash_tensor}
