"""Text of a tensor as PyTorch prints it: `tensor([1., 2.], dtype=torch.float64)`.

A traced program can follow nothing of it. PyTorch's text is made by operators in Python, so it
warns of every number that it reads, and a size is a tensor: `size=(tensor(0), tensor(3))`. That
is so of ours: this file is code that a trace sees through, and of a traced tensor the elements are
read by operators (`traced_elements.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bool_, complex64, complex128, float16, int64

from .device import PLACES
from .dispatch import call
from .modes import MODES, no_grad
from .placement import device_of, existing
from .printing import PRINT_OPTIONS, elements_text, with_suffixes
from .storage import Sparse, TensorBase, value
from .traced_elements import traced_elements_text
from .tracing import active_tracer

Parts = tuple[str, list[str]]
"""The elements of a tensor, and what is said behind them."""


def tensor_repr(t: Any, name: str = "tensor") -> str:
    """`repr` of a tensor that is shown as a `name`."""
    if t._lengths is not None:
        return _nested(t)
    indent = len(name) + 1
    with no_grad():
        body, suffixes = _parts(t, indent)
    if MODES.has_gpus and not _is_at_home(t):
        suffixes.insert(0, f"device='{device_of(t)}'")
    if t._sparse is not None:
        suffixes.append(f"layout={t.layout}")
    if t.requires_grad:
        suffixes.append("requires_grad=True")
    return with_suffixes(f"{name}({body}", suffixes, indent, apart=t.is_sparse)


def _nested(t: Any) -> str:
    """The entries of a nested tensor, one below the other."""
    entries = (tensor_repr(entry).replace("\n", "\n  ") for entry in call("aten::unbind", (t, 0)))
    told = ", requires_grad=True" if t.requires_grad else ""
    return "nested_tensor([\n  " + ",\n  ".join(entries) + f"\n]{told})"


def _parts(t: Any, indent: int) -> Parts:
    if t._sparse is not None:
        return _sparse_parts(t, t._sparse, indent)
    if t.is_quantized:
        return _quantized_parts(t, indent)
    if t.numel() == 0:
        sizes = _sizes(t) if t.dim() != 1 else []
        return "[]", [*sizes, *_dtype(t, t.dtype is MODES.default_dtype)]
    sizes = [] if PRINT_OPTIONS.edgeitems else _sizes(t)
    return _elements(t, indent), [*sizes, *_dtype(t, _is_implied(t.dtype))]


def _elements(t: Any, indent: int) -> str:
    if active_tracer() is not None:
        return traced_elements_text(t, indent)
    numbers = value(t).astype(np.float32) if t.dtype is float16 else value(t)
    return elements_text(numbers, indent) if numbers.size else "[]"


def _sizes(t: Any) -> list[str]:
    return [f"size={tuple(t.shape)}"]


def _dtype(t: TensorBase, implied: bool) -> list[str]:
    return [] if implied else [f"dtype={t.dtype}"]


def _is_implied(dtype: DType) -> bool:
    """Whether the dtype of a tensor with elements goes without saying."""
    default = MODES.default_dtype
    return dtype in (default, complex128 if default.bits == 64 else complex64, int64, bool_)


def _quantized_parts(t: Any, indent: int) -> Parts:
    """The numbers that the integers stand for, and how."""
    told = [*_sizes(t), *_dtype(t, False)]
    if (axis := t._quantizer.axis) is None:
        scheme, scale, zero_point = "tensor_affine", t.q_scale(), t.q_zero_point()
    else:
        scheme = "channel_affine" + "_float_qparams" * t._quantizer.has_float_zeros
        scale, zero_point = t.q_per_channel_scales(), t.q_per_channel_zero_points()
    told += [f"quantization_scheme=torch.per_{scheme}", f"scale={scale}"]
    told.append(f"zero_point={zero_point}")
    told += [] if axis is None else [f"axis={axis}"]
    return _elements(t.dequantize(), indent), told


def _sparse_parts(t: Any, held: Sparse, indent: int) -> Parts:
    """The tensors that a sparse one consists of, without their dtypes."""
    told = [*_sizes(t), f"nnz={held.values._array.shape[0]}", *_dtype(t, _is_implied(t.dtype))]
    if held.rows is None:
        parts = {"indices": t._indices(), "values": t._values()}
    else:
        parts = {
            "crow_indices": t.crow_indices(), "col_indices": t.col_indices(), "values": t.values(),
        }  # fmt: skip
    texts = [_part(name, part, indent) for name, part in parts.items()]
    return (",\n" + " " * indent).join(texts), told


def _part(name: str, part: Any, indent: int) -> str:
    lead = f"{name}=tensor("
    part = call("aten::detach", (part,))
    body = _elements(part, indent + len(lead))
    sizes = _sizes(part) if part.numel() == 0 else []
    return with_suffixes(lead + body, sizes, indent, apart=False)


def _is_at_home(t: TensorBase) -> bool:
    """Whether the device goes without saying: it is where new tensors are made."""
    where, home = device_of(t), PLACES[-1]
    if where.type != home.type:
        return False
    return where.index is None or where.index == existing(None)
