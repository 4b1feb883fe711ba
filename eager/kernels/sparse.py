"""Sparse tensors: what stands at some places of a tensor of zeros.

Such a tensor has a `Sparse` and shows one zero everywhere, so that sizes and dtypes are asked as of
any tensor. An operator that is handed one is looked up here and nowhere else; anything that has no
row is refused, as in PyTorch. Products add in the order of the stored elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, int64
from tensorscript.base.errors import OperatorError
from tensorscript.base.quantization import ASKED
from tensorscript.base.schema import Schema

from ..device import sparse_coo, sparse_csr
from ..modes import MODES
from ..storage import Array, Sparse, TensorBase, array, compute, make, value, wrap
from .shapes import normal_dim

Kernel = Callable[..., Any]


def is_sparse(x: object) -> bool:
    """Whether `x` is a sparse tensor, or a list of tensors that starts with one."""
    if isinstance(x, TensorBase):
        return x._sparse is not None
    return type(x) in (list, tuple) and len(x) > 0 and is_sparse(x[0])  # type: ignore[arg-type,index]  # a sequence


def sparse(held: Sparse, size: Sequence[int], dtype: DType) -> Any:
    """A sparse tensor.

    Raises:
        OperatorError: the size is more than memory has addresses.
    """
    try:
        zeros = np.broadcast_to(np.zeros((), dtype.numpy), tuple(size))
    except ValueError as error:
        raise OperatorError(f"a sparse tensor of size {tuple(size)} is too large") from error
    made = make(zeros, dtype)
    made._sparse = held
    return made


def coo(indices: Array, values: TensorBase, size: Sequence[int], coalesced: bool = False) -> Any:
    """A sparse tensor by the coordinates (sparse dimensions, n) of its n values.

    Raises:
        OperatorError: the parts do not fit the size, or a coordinate is outside of it.
    """
    check_coo(indices, array(values).shape, size)
    held = Sparse(make(np.ascontiguousarray(indices, np.int64), int64), values, None, coalesced)
    return sparse(held, size, values.dtype)


def check_coo(indices: Array, values: Sequence[int], size: Sequence[int]) -> None:
    """Refuse coordinates and shapes of values that are not those of a tensor of `size`.

    Raises:
        OperatorError: they are not.
    """
    if indices.ndim != 2:
        raise OperatorError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    placed, count = indices.shape
    if placed > len(size) or tuple(values) != (count, *size[placed:]):
        raise OperatorError(
            f"the sparse tensor of size {list(size)} has indices of size {list(indices.shape)}"
            f" and values of size {list(values)}"
        )
    for dim, extent in enumerate(size[:placed]):
        if count and not 0 <= indices[dim].min() <= indices[dim].max() < extent:
            wrong = int(indices[dim].max() if indices[dim].min() >= 0 else indices[dim].min())
            kind = "smaller than" if wrong >= 0 else "at least 0 and smaller than"
            raise OperatorError(
                f"size is inconsistent with indices: for dim {dim}, size is {extent} but found"
                f" index {wrong}, which is not {kind} it"
            )


def check_csr(rows: Array, columns: Array, values: Sequence[int], size: Sequence[int]) -> None:
    """Refuse parts that are not those of a matrix in rows.

    Raises:
        OperatorError: they are not.
    """
    fits = (
        len(size) == 2 and rows.shape == (size[0] + 1,) and columns.shape == tuple(values)
        and len(columns) == rows[-1] and rows[0] == 0 and (np.diff(rows) >= 0).all()
    )  # fmt: skip
    if not fits or (columns.size and not 0 <= columns.min() <= columns.max() < size[1]):
        raise OperatorError(f"the parts of the sparse matrix of size {list(size)} do not fit")


def csr(rows: Array, columns: Array, values: TensorBase, size: Sequence[int]) -> Any:
    """A sparse matrix by where each row starts, and by the columns of its values.

    Raises:
        OperatorError: the parts do not fit.
    """
    check_csr(rows, columns, array(values).shape, size)
    parts = (make(np.ascontiguousarray(part, np.int64), int64) for part in (columns, rows))
    return sparse(Sparse(next(parts), values, next(parts), True), size, values.dtype)


# --- the parts -----------------------------------------------------------------------------------


def places(self: Any) -> Array:
    """The coordinates (sparse dimensions, n) of the stored elements, of either layout."""
    held: Sparse = self._sparse
    if held.rows is None:
        return array(held.indices)
    starts = array(held.rows)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.stack([rows, array(held.indices)])


def coalesce(self: Any) -> Any:
    """Each place once, in row-major order."""
    held: Sparse = self._sparse
    if held.coalesced:
        return self
    size, at = array(self).shape, array(held.indices)
    extents = size[: at.shape[0]]
    flat = np.ravel_multi_index(tuple(at), extents) if extents else np.zeros(at.shape[1], np.int64)
    kept, of = np.unique(flat, return_inverse=True)
    sums = _added(of, held.values, len(kept))
    unique = np.stack(np.unravel_index(kept, extents)) if extents else at[:, : len(kept)]
    return coo(unique, sums, size, coalesced=True)


def _added(at: Array, values: TensorBase, count: int) -> Any:
    """The sums of the values that go to each of `count` places."""
    given = compute(values)
    sums = np.zeros((count, *given.shape[1:]), given.dtype)
    np.add.at(sums, at, given)
    return wrap(sums, values.dtype)


def to_dense(self: Any, dtype: DType | None = None, *_: Any) -> Any:
    """The same elements, all of them stored."""
    given, at, size = compute(self._sparse.values), places(self), array(self).shape
    out = np.zeros(size, given.dtype)
    np.add.at(out, tuple(at), given)
    return wrap(out, dtype or self.dtype)


def _coalesced_part(name: str) -> Kernel:
    def run(self: Any) -> Any:
        held: Sparse = self._sparse
        if not held.coalesced:
            raise OperatorError(
                f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
            )
        return getattr(held, name)

    return run


def _row_part(name: str, part: Callable[[Sparse], Any]) -> Kernel:
    def run(self: Any) -> Any:
        if self._sparse.rows is None:
            raise OperatorError(
                f"{name} expected sparse row compressed tensor layout but got Sparse"
            )
        return part(self._sparse)

    return run


def to_sparse(self: Any, sparse_dim: int | None = None) -> Any:
    """The elements that are not zero, by their coordinates."""
    stored = array(self)
    placed = stored.ndim if sparse_dim is None else sparse_dim
    shown = value(self) != 0
    kept = shown.any(axis=tuple(range(placed, stored.ndim)))
    at = np.stack(np.nonzero(kept)) if placed else np.zeros((0, int(kept)), np.int64)
    return coo(at, make(stored[kept], self.dtype), stored.shape, coalesced=True)


def to_sparse_csr(self: Any, *_: Any) -> Any:
    """A matrix by rows."""
    found = coalesce(self if is_sparse(self) else to_sparse(self))
    size = array(found).shape
    if len(size) != 2 or array(found._sparse.indices).shape[0] != 2:
        raise OperatorError("Only matrices have a form by rows")
    rows, columns = array(found._sparse.indices)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size[0]))])
    return csr(starts, columns, found._sparse.values, size)


# --- operators -----------------------------------------------------------------------------------


def _with_values(self: Any, values: TensorBase) -> Any:
    """Other values at the same places."""
    held: Sparse = self._sparse
    made = Sparse(held.indices, values, held.rows, held.coalesced)
    return sparse(made, array(self).shape, values.dtype)


def _multiplied(self: Any, other: Any) -> Any:
    """A sparse matrix times a dense matrix or vector."""
    if is_sparse(other) or not is_sparse(self):
        raise OperatorError("only products of a sparse matrix with a dense one are supported")
    size, right = array(self).shape, compute(other)
    if len(size) != 2 or right.ndim not in (1, 2) or size[1] != right.shape[0]:
        raise OperatorError(
            f"mm: Argument #1: Expected dim 0 size {size[-1]}, got {right.shape[0]}"
        )
    (rows, columns), factors = places(self), compute(self._sparse.values)
    parts = (factors[:, None] if right.ndim == 2 else factors) * right[columns]
    out = np.zeros((size[0], *right.shape[1:]), parts.dtype)
    np.add.at(out, rows, parts)
    return wrap(out, other.dtype)


def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = compute(_multiplied(mat1, mat2)) * alpha
    return wrap(compute(self) * beta + product, self.dtype)


def _transposed(self: Any, first: int = 0, second: int = 1) -> Any:
    held: Sparse = self._sparse
    size = list(array(self).shape)
    at = places(self).copy()
    p, q = normal_dim(first, len(size)), normal_dim(second, len(size))
    if max(p, q) >= len(at):
        raise OperatorError("only sparse dimensions of a sparse tensor are exchanged")
    at[[p, q]], (size[p], size[q]) = at[[q, p]], (size[q], size[p])
    found = coo(at, held.values, size)
    return found if held.rows is None else to_sparse_csr(found)


def _summed(self: Any, other: Any, plain: Kernel, rest: Sequence[Any]) -> Any:
    """Of a dense tensor and a sparse one a dense tensor; of two sparse ones their elements."""
    if not (is_sparse(self) and is_sparse(other)):
        dense = (to_dense(x) if is_sparse(x) else x for x in (self, other))
        return plain(*dense, *rest)
    if array(self).shape != array(other).shape:
        raise OperatorError("only sparse tensors of one size are added")
    (ours, theirs), scale = (places(self), places(other)), rest[0] if rest else 1
    values = np.concatenate([compute(self._sparse.values), compute(other._sparse.values) * scale])
    found = coo(np.concatenate([ours, theirs], 1), wrap(values, self.dtype), array(self).shape)
    return coalesce(found) if self._sparse.coalesced and other._sparse.coalesced else found


def _summed_over(self: Any, dim: Sequence[int]) -> Any:
    """The sums along some dimensions: sparse, while one of those that are stored by place stays."""
    size, at = array(self).shape, places(self)
    dims, stored = {normal_dim(d, len(size)) for d in dim}, len(at)
    values = compute(self._sparse.values)
    given = wrap(
        values.sum(tuple(1 + d - stored for d in dims if d >= stored)), self._sparse.values.dtype
    )
    if not (kept := [d for d in range(stored) if d not in dims]):
        return wrap(compute(given).sum(0), self.dtype)
    return coalesce(coo(at[kept], given, [n for d, n in enumerate(size) if d not in dims]))


def _scaled(self: Any, other: Any, plain: Kernel, rest: Sequence[Any]) -> Any:
    """By a number, or by the elements of a dense tensor of the same size."""
    if not is_sparse(self) and is_sparse(other):
        self, other = other, self
    if isinstance(other, TensorBase) and array(other).ndim:
        if is_sparse(other) or array(other).shape != array(self).shape:
            raise OperatorError("only products with numbers and tensors of one size are supported")
        other = wrap(value(other)[tuple(places(self))], other.dtype)
    return _with_values(self, plain(self._sparse.values, other, *rest))


def _to(plain: Kernel) -> Kernel:
    """A conversion: of the values, as `plain` does it."""

    def run(self: Any, *rest: Any) -> Any:
        return _with_values(self, plain(self._sparse.values, *rest))

    return run


def _of_values(plain: Kernel) -> Kernel:
    """What keeps zeros: done to the values, each place once."""

    def run(self: Any, *rest: Any) -> Any:
        once = coalesce(self)
        return _with_values(once, plain(once._sparse.values, *rest))

    return run


_MOVED = frozenset({"aten::clone", "aten::detach", "aten::to", "aten::type_as", "aten::cpu",
                    "aten::alias", "aten::contiguous"})  # fmt: skip
_KEEP_ZERO = """
    abs neg relu sqrt sin sinh tan tanh asin atan sign floor ceil round trunc expm1 log1p erf"""
_ZERO_KEPT = frozenset(f"aten::{name}" for name in _KEEP_ZERO.split())
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "aten::add": _summed,
    "aten::sub": lambda self, other, plain, rest: _summed(
        self, other, plain, [-rest[0]] if rest and is_sparse(self) and is_sparse(other) else rest
    ),
    "aten::mul": _scaled,
    "aten::div": _scaled,
}

_OWN: dict[str, Kernel] = {
    "aten::to_dense": to_dense,
    "aten::_to_dense": to_dense,
    "aten::coalesce": coalesce,
    "aten::_coalesced_": lambda self, coalesced: _marked(self, coalesced),
    "aten::is_coalesced": lambda self: self._sparse.coalesced,
    "aten::indices": _coalesced_part("indices"),
    "aten::values": _coalesced_part("values"),
    "aten::_indices": lambda self: self._sparse.indices,
    "aten::_values": lambda self: self._sparse.values,
    "aten::crow_indices": _row_part("crow_indices", lambda held: held.rows),
    "aten::col_indices": _row_part("col_indices", lambda held: held.indices),
    "aten::_nnz": lambda self: array(self._sparse.values).shape[0],
    "aten::sparse_dim": lambda self: len(places(self)),
    "aten::dense_dim": lambda self: array(self).ndim - len(places(self)),
    "aten::to_sparse": lambda self, *_: self if self._sparse.rows is None else _by_places(self),
    "aten::to_sparse_csr": to_sparse_csr,
    "aten::mm": _multiplied,
    "aten::mv": _multiplied,
    "aten::matmul": _multiplied,
    "aten::_sparse_mm": _multiplied,
    "aten::addmm": _addmm,
    "aten::_sparse_addmm": _addmm,
    "aten::t": _transposed,
    "aten::transpose": _transposed,
    "aten::sum": lambda self, *_: _total(self),
    "aten::_sparse_sum": lambda self: _total(self),
    "aten::_sparse_sum.dtype": lambda self, dtype: wrap(value(_total(self)), dtype),
    "aten::_sparse_sum.dim": _summed_over,
    "aten::_sparse_sum.dim_dtype": lambda self, dim, dtype: _summed_over(
        _with_values(self, wrap(value(self._sparse.values), dtype)), dim
    ),
    "prim::is_sparse": lambda self: self._sparse.rows is None,
    "prim::is_sparse_csr": lambda self: self._sparse.rows is not None,
    "prim::layout": lambda self: sparse_coo if self._sparse.rows is None else sparse_csr,
    "prim::data": lambda self: _with_values(self, self._sparse.values),
}


def _by_places(self: Any) -> Any:
    return coo(places(self), self._sparse.values, array(self).shape, coalesced=True)


def _marked(self: Any, coalesced: bool) -> Any:
    held: Sparse = self._sparse
    self._sparse = Sparse(held.indices, held.values, held.rows, coalesced)
    return self


def _total(self: Any) -> Any:
    given = value(self._sparse.values)
    exact = self.dtype.is_floating_point or self.dtype.is_complex
    return wrap(np.asarray(given.sum()), self.dtype if exact else int64)


def kernel_of_sparse(declared: Schema, plain: Kernel | None) -> Kernel:
    """What computes an overload where an argument is sparse; `plain` gives the kernel of ordinary
    tensors.

    Raises:
        OperatorError: nothing does.
    """
    name = declared.name
    if name == "aten::sum" and declared.full_name != "aten::sum":
        own = None
    else:
        own = _OWN.get(declared.full_name) or _OWN.get(name)
    if own is not None:
        return own
    if plain is not None and (name in ASKED or any(_is_any_list(declared))):
        return plain
    if plain is not None and (how := _ARITHMETIC.get(name)) is not None:
        return lambda self, other, *rest: how(self, other, plain, rest)
    if plain is not None and name in _MOVED:
        return _to(plain)
    if plain is not None and name in _ZERO_KEPT:
        return _of_values(plain)
    raise OperatorError(
        f"Could not run '{declared.full_name}' with arguments from the 'SparseCPU' backend."
    )


def _is_any_list(declared: Schema) -> list[bool]:
    """Of lists of whatever they are of no element is asked."""
    return [a.type.is_list and a.type.element.kind == "var" for a in declared.arguments]


def sparse_coo_tensor(indices: Any, values: Any, size: Sequence[int] | None = None,
                      *rest: Any) -> Any:  # fmt: skip
    """A tensor of the values at the coordinates `indices` (sparse dimensions, n)."""
    at = array(indices).astype(np.int64)
    if at.ndim != 2:
        raise OperatorError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    if size is None:
        if at.size and at.min() < 0:
            raise OperatorError(f"found negative index {int(at.min())} for dim 0")
        extents = at.max(1) + 1 if at.size else np.zeros(at.shape[0], np.int64)
        size = (*extents.tolist(), *array(values).shape[1:])
    dtype = rest[0] if rest and isinstance(rest[0], DType) else values.dtype
    given = values if dtype is values.dtype else wrap(value(values), dtype)
    coalesced = next((flag for flag in rest[-1:] if isinstance(flag, bool)), False)
    return coo(at, given, size, coalesced)


def _of_zeros(size: Sequence[int], dtype: DType | None = None, *_: Any) -> Any:
    """A sparse tensor without elements."""
    empty = wrap(np.zeros(0), dtype or MODES.default_dtype)
    return coo(np.zeros((len(size), 0), np.int64), empty, tuple(size), False)


def _by_rows(rows: Any, columns: Any, values: Any, size: Sequence[int] | None = None,
             dtype: DType | None = None, *_: Any) -> Any:  # fmt: skip
    given = values if dtype in (None, values.dtype) else wrap(value(values), dtype)
    if size is None:
        size = (len(array(rows)) - 1, int(array(columns).max(initial=-1)) + 1)
    return csr(array(rows), array(columns), given, size)


def _compressed(rows: Any, columns: Any, values: Any, size: Sequence[int] | None = None,
                dtype: DType | None = None, layout: Any = None, *_: Any) -> Any:  # fmt: skip
    """As `_by_rows`, for the layout that is named.

    Raises:
        OperatorError: another layout than that of compressed rows, or none.
    """
    if layout is not sparse_csr:
        raise OperatorError(f"sparse_compressed_tensor of layout {layout} is not provided")
    return _by_rows(rows, columns, values, size, dtype)


KERNELS: dict[str, Kernel] = {
    "aten::sparse_coo_tensor.indices": lambda indices, values, *rest: sparse_coo_tensor(
        indices, values, None, *rest
    ),
    "aten::sparse_coo_tensor.indices_size": sparse_coo_tensor,
    "aten::sparse_coo_tensor.size": _of_zeros,
    "aten::_sparse_coo_tensor_unsafe": sparse_coo_tensor,
    "aten::sparse_csr_tensor.crow_col_value_size": _by_rows,
    "aten::sparse_csr_tensor.crow_col_value": lambda rows, columns, values, *rest: _by_rows(
        rows, columns, values, None, *rest[:1]
    ),
    "aten::sparse_compressed_tensor.comp_plain_value_size": _compressed,
    "aten::sparse_compressed_tensor.comp_plain_value": lambda rows, columns, values, *rest: (
        _compressed(rows, columns, values, None, *rest)
    ),
    "aten::to_sparse": lambda self, *_: to_sparse(self),
    "aten::to_sparse.sparse_dim": to_sparse,
    "aten::to_sparse_csr": to_sparse_csr,
    "aten::to_dense": lambda self, dtype=None, **_: (
        self if dtype is None else wrap(value(self), dtype)
    ),
}
"""What ordinary tensors are handed to."""
