"""What operators that read or write by position demand of their arguments, in PyTorch's words.

The values of positions are checked when the program runs; here the shapes, so that every position
and every source element that is read exists.
"""

from __future__ import annotations

from tensorscript.base.dtypes import bool_, int32, int64
from tensorscript.dialects.te.expr import Expr, binary, const

from .builder import Builder
from .checked_rows import Check
from .dims import dimension
from .elements import known
from .sizes import product, sizes_text
from .values import Tensor, Value


def _is_index(t: Tensor) -> bool:
    return t.dtype is int32 or t.dtype is int64


def _check_fits(b: Builder, index: Tensor, limit: Tensor, skip: int | None, message: str) -> None:
    """`index` is not larger than `limit`, apart from dimension `skip`."""
    if index.rank != limit.rank:
        return
    for d, (size, most) in enumerate(zip(index.shape, limit.shape, strict=True)):
        if d != skip:
            b.check(known(binary("le", size, most)), message)


def _gather(b: Builder, x: Tensor, dim: Value, index: Tensor, *_: Value) -> None:
    """Ranks agree, and index is not larger but along `dim`."""
    if product(index.shape).is_int(0):
        return
    if not _is_index(index):
        b.error("gather(): Expected dtype int32/int64 for index")
    if max(x.rank, 1) != max(index.rank, 1):
        b.error("Index tensor must have the same number of dimensions as input tensor")
    at = dimension(b, dim, x.rank)
    if index.rank != x.rank:
        return
    for d, (size, most) in enumerate(zip(index.shape, x.shape, strict=True)):
        if d != at:
            b.check(
                known(binary("le", size, most)),
                f"Size does not match at dimension {d} expected index {sizes_text(index.shape)} to"
                f" be no larger than self {sizes_text(x.shape)} apart from dimension {at}",
            )


def _scatter(b: Builder, x: Tensor, dim: Value, index: Tensor, source: Value, *_: Value) -> None:
    if index.dtype is not int64 and not _is_index(index):
        b.error("scatter(): Expected dtype int32/int64 for index")
    if isinstance(source, Tensor) and source.rank and source.dtype is not x.dtype:
        b.error("scatter(): Expected self.dtype to be equal to src.dtype")
    if product(index.shape).is_int(0):
        return
    if max(x.rank, 1) != max(index.rank, 1):
        b.error("Index tensor must have the same number of dimensions as self tensor")
    at = dimension(b, dim, x.rank)
    message = (
        f"Expected index {sizes_text(index.shape)} to be no larger than self"
        f" {sizes_text(x.shape)} apart from dimension {at}"
    )
    is_whole = isinstance(source, Tensor) and (source.rank or index.rank == 0)
    if is_whole:
        if max(source.rank, 1) != max(index.rank, 1):
            b.error("Index tensor must have the same number of dimensions as src tensor")
        message += f" and to be no larger size than src {sizes_text(source.shape)}"
        _check_fits(b, index, source, None, message)
    _check_fits(b, index, x, at, message)


def _slices(
    b: Builder, x: Tensor, at: int, index: Tensor, source: Tensor, message: str
) -> tuple[Expr, Expr]:
    """How many slices along `at` the index names and the source has; they must fit those of x."""
    for d in range(x.rank):
        if d != at:
            b.require_same(source.shape[d], x.shape[d], message)
    have = source.shape[at] if source.rank else const(1)
    return index.shape[0] if index.rank else const(1), have


def _added(name: str) -> Check:
    """A slice of x at each index: of its dtype, and of its sizes but the dimension's own."""

    def check(b: Builder, x: Tensor, dim: Value, index: Tensor, source: Tensor, *_: Value) -> None:
        if index.rank > 1:
            b.error(
                f"{name}_(): Index is supposed to be a vector, but got dim: {index.rank} with type:"
                f" {index.dtype.word} and size: {sizes_text(index.shape)}"
            )
        if not _is_index(index):
            b.error(f"{name}_(): Expected dtype int32/int64 for index but got: {index.dtype.word}")
        if source.dtype is not x.dtype:
            b.error(
                f"{name}_(): self ({x.dtype.word}) and source ({source.dtype.word}) must have the"
                " same scalar type"
            )
        at = dimension(b, dim, x.rank)
        message = (
            "source tensor shape must match self tensor shape, excluding the specified dimension."
            f" Got self.shape = {sizes_text(x.shape)} source.shape = {sizes_text(source.shape)}"
        )
        if source.rank != x.rank:
            b.error(message)
        count, have = _slices(b, x, at, index, source, message)
        b.require_same(
            count,
            have,
            f"{name}_(): Number of indices ({count}) should be equal to source.size(dim): ({have}),"
            f" for dim: {at}",
        )

    return check


def _index_copy(
    b: Builder, x: Tensor, dim: Value, index: Tensor, source: Tensor, *_: Value
) -> None:
    if index.rank > 1:
        b.error(f"index_copy_(): Index should have dimension 1 or 0 (got {index.rank})")
    if index.dtype is not int64:
        b.error("index_copy_(): Expected a long tensor for index, but got " + index.dtype.word)
    if source.dtype is not x.dtype:
        b.error(
            "index_copy_(): self and source expected to have the same dtype, but got (self)"
            f" {x.dtype.word} and (source) {source.dtype.word}"
        )
    if source.rank != x.rank:
        b.error(
            "index_copy_(): When source and destination are not scalars, their dimensionality must"
            f" match. Source dimensionality ({source.rank}), destination dimensionality ({x.rank})"
        )
    at = dimension(b, dim, x.rank)
    slices = [" ".join(str(s) for d, s in enumerate(t.shape) if d != at) for t in (x, source)]
    message = (
        "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice"
        f" shape: {slices[0]} at dimension {at} and source slice shape: {slices[1]} at dimension 0."
    )
    count, have = _slices(b, x, at, index, source, message)
    b.require_same(
        count,
        have,
        f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({have})",
    )


def _index_select(b: Builder, x: Tensor, dim: Value, index: Tensor, *_: Value) -> None:
    if index.rank > 1:
        b.error("index_select(): Index is supposed to be a vector")
    if not _is_index(index):
        b.error("index_select(): Expected dtype int32 or int64 for index")


def _index_put(
    b: Builder, x: Tensor, indices: Value, values: Tensor, accumulate: bool = False, *_: Value
) -> None:
    """One number at the places of one mask is converted, as `masked_fill_` does."""
    given = [i for i in indices if i is not None] if isinstance(indices, list) else []
    masked = len(given) == 1 and isinstance(given[0], Tensor) and given[0].dtype is bool_
    if masked and not accumulate and product(values.shape).is_int(1):
        return
    if values.dtype is not x.dtype:
        b.error(
            f"Index put requires the source and destination dtypes match, got {x.dtype.word} for"
            f" the destination and {values.dtype.word} for the source."
        )


def _embedding(b: Builder, weight: Tensor, index: Tensor, *_: Value) -> None:
    if weight.rank != 2:
        b.error("'weight' must be 2-D")
    if not _is_index(index):
        kind = f"torch.{index.dtype.word}Tensor"
        b.error(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types:"
            f" Long, Int; but got {kind} instead (while checking arguments for embedding)"
        )


INDEX_ARGUMENTS: dict[str, Check] = {
    "aten::gather": _gather,
    "aten::scatter": _scatter,
    "aten::scatter_add": _scatter,
    "aten::scatter_reduce": _scatter,
    "aten::index_add": _added("index_add"),
    "aten::index_reduce": _added("index_reduce"),
    "aten::index_copy": _index_copy,
    "aten::index_select": _index_select,
    "aten::index_put": _index_put,
    "aten::_index_put_impl": _index_put,
    "aten::embedding": _embedding,
}
