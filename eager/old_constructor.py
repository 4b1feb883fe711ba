"""PyTorch's old constructors: `Tensor(2, 3)` of sizes, `FloatTensor([1.0])` of data, `x.new(..)`.

A trace goes on with what they make: `aten::empty` of sizes, a constant of data, an alias of a
tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArgumentError
from tensorscript.base.schema import schema

from .device import CPU, strided
from .storage import TensorBase, make, shown, to_storage, value
from .tracing import Tracer, active_tracer, traced_by
from .tracking import shares


def fill(made: TensorBase, data: tuple[Any, ...], dtype: DType, kind: DType | None = None) -> None:
    """Make `made` what an old constructor gives for `data`.

    Args:
        dtype: of the elements, unless they come from a tensor.
        kind: the dtype that a tensor has to have, where one is asked for.

    Raises:
        ArgumentError: a tensor of another dtype.
    """
    tracer = active_tracer()
    first = data[0] if data else 0
    if isinstance(first, TensorBase) and len(data) == 1:
        if kind is not None and first.dtype is not kind:
            raise ArgumentError(f"expected {kind.word}Tensor (got {first.dtype.word}Tensor)")
        TensorBase.__init__(made, shown(first), first.dtype)
        shares(first, made)
        if tracer is not None:
            tracer.ran(schema("aten::alias"), (first,), made)
        return
    with traced_by(None):
        sizes = _sizes(data)
        if sizes is None:
            found = value(first) if isinstance(first, TensorBase) else np.asarray(first)
            TensorBase.__init__(made, np.array(to_storage(found, dtype)), dtype)
        else:
            TensorBase.__init__(made, np.zeros(sizes, dtype.numpy), dtype)
    if tracer is not None:
        _tell(tracer, made, sizes)


def _sizes(data: tuple[Any, ...]) -> list[int] | None:
    """The sizes that are asked for, or None: `data` is the elements."""
    first = data[0] if data else 0
    if isinstance(first, int | np.integer | TensorBase):
        return [int(n) for n in data] or [0]
    is_size = isinstance(first, tuple) and type(first) is not tuple
    return [int(n) for n in first] if is_size else None


def _tell(tracer: Tracer, made: TensorBase, sizes: list[int] | None) -> None:
    if sizes is not None:
        given = (sizes, made.dtype, strided, CPU, None, None)
        tracer.ran(schema("aten::empty.memory_format"), given, made)
        return
    with traced_by(None):
        constant = make(made._array, made.dtype)
    tracer.ran(schema("aten::to.device"), (constant, CPU, made.dtype, False, False, None), made)
