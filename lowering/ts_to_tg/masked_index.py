"""Rows of indexing under a mask: places that the mask leaves out may lie outside."""

from __future__ import annotations

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary

from .builder import Builder, Rows
from .complex_tensors import AnyTensor, filled
from .values import Tensor, Value


def _inside(b: Builder, x: AnyTensor, indices: Value) -> list[Value]:
    """The index tensors, cut to where elements are."""

    def cut(index: Tensor, size: Expr) -> Tensor:
        def fn(e: Expr) -> Expr:
            return binary("min", binary("max", e, -size), binary("max", size - 1, 0))

        return b.pointwise(fn, b.cast(index, int64), dtype=int64, compute=int64)

    pairs = zip(indices, x.shape, strict=False)
    return [None if index is None else cut(index, size) for index, size in pairs]


def _masked_index(b: Builder, x: AnyTensor, mask: Tensor, indices: Value, fill: Value) -> Value:
    found = b.call("aten::index", x, _inside(b, x, indices))
    return b.call("aten::where", mask, found, filled(b, (), fill, x.dtype))


def _masked_put(b: Builder, x: AnyTensor, mask: Tensor, indices: Value, values: AnyTensor) -> Value:
    kept = b.call("aten::masked_fill", values, b.apply("aten::logical_not", mask), 0)
    return b.call("aten::index_put", x, _inside(b, x, indices), kept, True)


MASKED_INDEX: Rows = {
    "aten::_unsafe_masked_index": _masked_index,
    "aten::_unsafe_masked_index_put_accumulate": _masked_put,
}
