"""Sparse tensors of lists of numbers: `sparse_coo_tensor`, `sparse_csr_tensor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import DType, int64

from .data import tensor
from .device import Layout, sparse_coo, sparse_csr
from .device import device as Device
from .dispatch import call, call_overload
from .tensor import Tensor
from .tracing import active_tracer, traced_by


def _factory(function: str, name: str, layout: Layout, *indices: str) -> Callable[..., Any]:
    """The function that makes a sparse tensor by the operator `name`: of `indices` and values,
    which may be lists of numbers, too; with fewer positional arguments an empty one of a size."""
    parts = (*indices, "values")

    def run(*args: Any, **options: Any) -> Any:
        if (tracer := active_tracer()) is not None:
            tracer.builds(function)
        given = dict(zip(parts, args, strict=False)) if len(args) >= len(parts) else {}
        given |= {part: options.pop(part) for part in parts if part in options}
        if len(given) < len(parts):
            return call(f"aten::{function}", args, options | given)
        dtype, device = options.get("dtype"), options.get("device")
        values = _part(given["values"], dtype, device)
        made = [_part(given[part], _index_dtype(given[part], layout), device) for part in indices]
        stated = {"dtype": dtype or values.dtype, "layout": layout}
        return call(name, (*made, values, *args[len(parts) :]), options | stated)

    return run


def _index_dtype(given: Any, layout: Layout) -> DType | None:
    """What indices are taken to: coordinates to 64 bits, compressed rows to none of their own."""
    return int64 if layout is sparse_coo and isinstance(given, Tensor) else None


def _part(given: Any, dtype: DType | None, device: Any) -> Any:
    """Indices or values as a tensor; a trace records that a tensor is taken to dtype and device."""
    if isinstance(given, Tensor):
        if active_tracer() is None:
            return given
        place = given.device if device is None else Device(device)
        wanted = (given, place, dtype or given.dtype, False, False, None)
        return call_overload("aten::to.device", wanted)
    with traced_by(None):
        made = tensor(given, dtype=dtype)
    tracer = active_tracer()
    return made if tracer is None else tracer.enters("part", made)


SPARSE_FACTORIES: dict[str, Callable[..., Any]] = {
    "sparse_coo_tensor": _factory(
        "sparse_coo_tensor", "aten::sparse_coo_tensor", sparse_coo, "indices"
    ),
    "sparse_csr_tensor": _factory(
        "sparse_csr_tensor", "aten::sparse_compressed_tensor", sparse_csr,
        "crow_indices", "col_indices",
    ),
}  # fmt: skip
