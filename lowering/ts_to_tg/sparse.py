"""Sparse tensors of the caller: products with dense ones, their dense form, and their parts.

As in eager mode (`eager/kernels/sparse.py`) such a tensor is the coordinates of its values; here it
is a constant, of a known size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tensorscript.base.dtypes import BY_CODE, int64

from .builder import Builder, Rows
from .elements import as_expr
from .values import SparseTensor, Tensor, Value

Row = Callable[..., Value]


def has_sparse(values: Sequence[Value]) -> bool:
    """Whether there is a sparse tensor among the values."""
    return any(isinstance(v, SparseTensor) for v in values)


def call_sparse(b: Builder, name: str, arguments: list[Value]) -> Value:
    """The result of an operator of which an argument is sparse.

    Raises:
        NotCompilable: it has no native form there.
    """
    x, *rest = arguments
    row = _ROWS.get(name.partition(".")[0])
    if row is None or not isinstance(x, SparseTensor) or has_sparse(rest):
        return b.cannot("has no native form on sparse tensors")
    return row(b, x, *rest)


def _added(b: Builder, size: Sequence[Value], at: Tensor, values: Tensor) -> Tensor:
    """Zeros of `size` with each of `values` added to the place in its first dimension."""
    zeros = b.full([as_expr(extent) for extent in size], 0, values.dtype)
    found: Tensor = b.call("aten::index_add", zeros, 0, at, values)
    return found


def _multiplied(b: Builder, x: SparseTensor, other: Tensor) -> Value:
    """A sparse matrix times a dense matrix or vector."""
    if x.values.rank != 1 or x.rank != 2 or other.rank not in (1, 2):
        return b.cannot("a product of other tensors than matrices")
    message = f"mm: Argument #1: Expected dim 0 size {x.size[1]}"
    b.require_same(other.shape[0], as_expr(x.size[1]), message)
    rows, columns = (b.call("aten::select", x.indices, 0, k) for k in (0, 1))
    taken = b.call("aten::index_select", other, 0, columns)
    factors = b.call("aten::unsqueeze", x.values, 1) if other.rank == 2 else x.values
    parts = b.call("aten::mul", factors, taken)
    return _added(b, [x.size[0], *other.shape[1:]], rows, parts)


def _extents(b: Builder, x: SparseTensor) -> tuple[int, ...]:
    """The sizes of the dimensions that coordinates lie in."""
    placed = x.rank - (x.values.rank - 1)
    return x.size[:placed] if placed else b.cannot("a tensor without sparse dimensions")


def _places(b: Builder, x: SparseTensor) -> Tensor:
    """The row-major number of each place among the sparse dimensions."""
    found: Tensor = b.call("aten::select", x.indices, 0, 0)
    for dim, extent in enumerate(_extents(b, x)[1:], 1):
        own = b.call("aten::select", x.indices, 0, dim)
        found = b.call("aten::add", b.call("aten::mul", found, extent), own)
    return found


def _to_dense(b: Builder, x: SparseTensor, code: Value = None, *_: Value) -> Value:
    if code is not None:
        return b.cannot("has no native form with a dtype")
    extents = _extents(b, x)
    size = [prod(extents), *x.size[len(extents) :]]
    return b.call("aten::reshape", _added(b, size, _places(b, x), x.values), list(x.size))


def _part(name: str) -> Row:
    def row(b: Builder, x: SparseTensor) -> Value:
        if not x.coalesced:
            b.error(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
        return getattr(x, name)

    return row


def _coalesce(b: Builder, x: SparseTensor) -> Value:
    """Each place once, in row-major order."""
    if x.coalesced:
        return x
    kept, of, _ = b.call("aten::_unique2", _places(b, x), True, True, False)
    extents = _extents(b, x)
    values = _added(b, [kept.shape[0], *x.size[len(extents) :]], of, x.values)
    rows, step = [], 1
    for extent in reversed(extents):
        rows.append(b.call("aten::remainder", b.call("aten::floor_divide", kept, step), extent))
        step *= extent
    return SparseTensor(x.size, b.call("aten::stack", rows[::-1], 0), values, True)


def _made(b: Builder, indices: Tensor, values: Tensor, size: Value, *rest: Value) -> Value:
    if not all(isinstance(extent, int) for extent in size) or indices.rank != 2:
        return b.cannot("a sparse tensor whose size is not known")
    dtype = rest[0] if rest else None
    if dtype is not None and dtype != values.dtype.code:
        values = b.cast(values, BY_CODE[dtype])
    return SparseTensor(tuple(size), b.cast(indices, int64), values, False)


def _size(b: Builder, x: SparseTensor, dim: Value = None) -> Value:
    if dim is None:
        return list(x.size)
    return x.size[dim] if isinstance(dim, int) else b.cannot("a dimension that is not known")


_ROWS: dict[str, Row] = {
    "aten::mm": _multiplied,
    "aten::mv": _multiplied,
    "aten::matmul": _multiplied,
    "aten::_sparse_mm": _multiplied,
    "aten::to_dense": _to_dense,
    "aten::coalesce": _coalesce,
    "aten::is_coalesced": lambda b, x: x.coalesced,
    "aten::indices": _part("indices"),
    "aten::values": _part("values"),
    "aten::_indices": lambda b, x: x.indices,
    "aten::_values": lambda b, x: x.values,
    "aten::dim": lambda b, x: x.rank,
    "aten::size": _size,
    "aten::_nnz": lambda b, x: x.values.shape[0],
}

SPARSE: Rows = {
    "aten::sparse_coo_tensor.indices_size": _made,
    "aten::_sparse_coo_tensor_unsafe": _made,
}
"""What ordinary tensors are handed to."""
