"""What operators that select and write by index tensors ask of their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.dtypes import DType, bool_, int32, int64, uint8
from tensorscript.base.errors import DimensionError
from tensorscript.base.operand_dtypes import unimplemented
from tensorscript.base.scalar_range import check_range

from ..kernels.shapes import broadcast, normal_dim
from ..storage import TensorBase, array, value
from .words import Demand, each, require, sizes_of


def check_put(target: Any, kinds: Sequence[DType], values: Any, accumulate: bool = False) -> None:
    """Refuse to write `values` of another dtype at index tensors of the dtypes `kinds`.

    One number, as a tensor or not, at the places of one mask is `masked_fill_`, which converts it.

    Raises:
        OperatorError: the dtypes differ, or that one mask is of bytes, or the number is complex
            and the target is not.
    """
    is_tensor = isinstance(values, TensorBase)
    is_number = not is_tensor or array(values).size == 1
    if is_number and not accumulate and list(kinds) in ([bool_], [uint8]):
        require(
            kinds[0] is bool_,
            f"masked_fill_ only supports boolean masks, but got mask with dtype {cpp_name(uint8)}",
        )
        if is_tensor:
            check_range(value(values).item(), target.dtype, rounds_halves=True)
        return
    require(
        not is_tensor or target.dtype is values.dtype,
        "Index put requires the source and destination dtypes match, got "
        f"{target.dtype.word} for the destination and {values.dtype.word} for the source.",
    )


_PLACES = frozenset((int32, int64, uint8, bool_))


def _index(self: Any, indices: Sequence[Any]) -> None:
    if not all(i is None or i.dtype in _PLACES for i in indices):
        raise DimensionError("tensors used as indices must be long, int, byte or bool tensors")


def _index_put(
    self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False, *_: Any
) -> None:
    _index(self, indices)
    check_put(self, [i.dtype for i in indices if i is not None], values, accumulate)


def _index_select(self: Any, dim: int, index: Any) -> None:
    if array(index).ndim > 1:
        raise DimensionError("index_select(): Index is supposed to be a vector")
    require(
        index.dtype in (int32, int64), "index_select(): Expected dtype int32 or int64 for index"
    )


def _index_copy(self: Any, dim: int, index: Any, source: Any) -> None:
    require(
        self.dtype is source.dtype,
        "index_copy_(): self and source expected to have the same dtype, but got (self) "
        f"{self.dtype.word} and (source) {source.dtype.word}",
    )


def _added(name: str) -> Demand:
    """A slice of `self` at each index: of its dtype, and of its sizes but the dimension's own."""

    def check(self: Any, dim: int, index: Any, source: Any, *_: Any) -> None:
        rank = array(index).ndim
        if rank > 1:
            raise DimensionError(
                f"{name}_(): Index is supposed to be a vector, but got dim: {rank} with type: "
                f"{index.dtype.word} and size: {sizes_of(index)}"
            )
        require(
            index.dtype in (int32, int64),
            f"{name}_(): Expected dtype int32/int64 for index but got: {index.dtype.word}",
        )
        require(
            self.dtype is source.dtype,
            f"{name}_(): self ({self.dtype.word}) and source ({source.dtype.word}) must have the "
            "same scalar type",
        )
        target, given = sizes_of(self), sizes_of(source)
        axis = normal_dim(dim, len(target))
        require(
            len(target) == len(given) and _beside(target, axis) == _beside(given, axis),
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {target} source.shape = {given}",
        )
        count, wanted = array(index).size, given[axis] if given else 1
        require(
            count == wanted,
            f"{name}_(): Number of indices ({count}) should be equal to source.size(dim): "
            f"({wanted}), for dim: {dim}",
        )

    return check


def _beside(sizes: list[int], axis: int) -> list[int]:
    return [*sizes[:axis], *sizes[axis + 1 :]]


def _scatter_with(self: Any, dim: int, index: Any, src: Any, *_: Any) -> None:
    require(self.dtype is src.dtype, "scatter(): Expected self.dtype to be equal to src.dtype")


def _reduced_mean(
    self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> None:
    if reduce == "mean" and self.dtype is bool_:
        raise unimplemented("scatter_gather_tensor_cpu_reduce_mean", bool_)


def check_filled(self: Any, dim: int, index: Any, *_: Any) -> None:
    """What `index_fill` asks of the places that it writes."""
    if index.dtype is not int64:
        raise DimensionError("index_fill_(): Expected dtype int64 for index.")
    require(array(index).ndim <= 1, "Index has to be a vector/scalar")


def _masked_select(self: Any, mask: Any) -> None:
    require(mask.dtype is bool_, "masked_select: expected BoolTensor for mask")
    broadcast(array(mask).shape, array(self).shape)


def _where(condition: Any, *_: Any) -> None:
    require(
        condition.dtype in (bool_, uint8),
        "where expected condition to be a boolean tensor, but got a tensor with dtype "
        f"{condition.dtype.word}",
    )


INDEXED: dict[str, Demand] = {
    **each(check_filled, "index_fill.int_Tensor"),
    **each(_index, "index.Tensor"),
    **each(_index_put, "index_put", "_index_put_impl"),
    **each(_index_select, "index_select"),
    **each(_index_copy, "index_copy"),
    **each(_added("index_add"), "index_add"),
    **each(_added("index_reduce"), "index_reduce"),
    **each(_reduced_mean, "scatter_reduce.two"),
    **each(_masked_select, "masked_select"),
    **each(_where, "where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar"),
    **each(_scatter_with, "scatter.reduce"),
}
"""Overloads to what they ask, in the words of PyTorch."""
