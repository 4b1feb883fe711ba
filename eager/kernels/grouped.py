"""Products of groups of rows or columns, as layers of experts have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bfloat16, float16, float32, int32
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, wrap
from .products import same_dtype

Kernel = Callable[..., Any]
_DTYPES = (float32, bfloat16, float16)
_ALIGNMENT = 16


def grouped_mm(
    self: Any, mat2: Any, offs: Any = None, bias: Any = None, out_dtype: int | None = None
) -> Any:
    """One product per group.

    Args:
        self: (M, K), or (G, M, K).
        mat2: (K, N), or (G, K, N).
        offs: where each group ends, int32 of shape (G,), if one of them is a matrix. The groups of
            (M, K) by (G, K, N) are rows, those of (G, M, K) by (K, N) columns, and those of two
            matrices parts of K.

    Returns:
        (M, N); (G, M, N) of two matrices and of two batches. What is in no group is 0.

    Raises:
        OperatorError: operands that do not fit together, or rows that do not begin at multiples of
            16 bytes.
    """
    _check(self, mat2, offs, bias, out_dtype)
    a, b = compute(self), compute(mat2)
    if offs is None:
        return wrap(np.asarray(np.matmul(a, b)), self.dtype)
    return wrap(_groups(a, b, array(offs)), self.dtype)


def _groups(a: Array, b: Array, ends: Array) -> Array:
    parts = [slice(*ends_of) for ends_of in zip((0, *ends[:-1]), ends, strict=True)]
    count, rows, columns = len(parts), a.shape[-2], b.shape[-1]
    if a.ndim == b.ndim == 2:
        out = np.zeros((count, rows, columns), a.dtype)
        for g, part in enumerate(parts):
            out[g] = a[:, part] @ b[part]
        return out
    out = np.zeros((rows, columns), a.dtype)
    for g, part in enumerate(parts):
        if a.ndim == 2:
            out[part] = a[part] @ b[g]
        else:
            out[:, part] = a[g] @ b[:, part]
    return out


def _check(self: Any, mat2: Any, offs: Any, bias: Any, out_dtype: int | None) -> None:
    same_dtype(self, mat2)
    for name, t in (("mat_a", self), ("mat_b", mat2)):
        if t.dtype not in _DTYPES:
            raise OperatorError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {t.dtype.word}"
            )
        if t.dim() not in (2, 3):
            raise OperatorError(f"{name} has to be 2 or 3d")
    if self.shape[-1] != mat2.shape[-2]:
        raise OperatorError("contraction dimension of mat_a and mat_b must match")
    has_matrix = 2 in (self.dim(), mat2.dim())
    if has_matrix == (offs is None):
        raise OperatorError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is not None and offs.dtype is not int32:
        raise OperatorError("Offsets have to be int32")
    batches = {t.shape[0] for t in (self, mat2) if t.dim() == 3}
    batches |= {offs.shape[0]} if offs is not None else set()
    if len(batches) > 1:
        raise OperatorError("matrix batch sizes have to match")
    for t in (self, mat2):
        if any(s != 1 and s * t.dtype.itemsize % _ALIGNMENT for s in t.stride()):
            raise OperatorError("strides should be multiple of 16 bytes")
    if bias is not None:
        raise OperatorError("Bias not supported yet")
    if out_dtype is not None and out_dtype != self.dtype.code:
        raise OperatorError("Grouped gemm output dtype must match `mat_a` dtype")


KERNELS: dict[str, Kernel] = {"aten::_grouped_mm": grouped_mm}
