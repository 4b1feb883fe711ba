"""What operators that show a tensor anew ask of its dimensions."""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.errors import DimensionError

from ..kernels.shapes import normal_dim, normal_dims
from ..storage import array
from .words import Demand, Ints, each, require


def _diag(self: Any, diagonal: int = 0) -> None:
    n = array(self).ndim
    require(n in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {n}D")


def _diagonal(lead: int) -> Demand:
    """The two dimensions of a diagonal; `lead` more than the tensor has in `diag_embed`."""

    def check(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> None:
        ndim = array(self).ndim + lead
        require(
            normal_dim(dim1, ndim) != normal_dim(dim2, ndim),
            f"diagonal dimensions cannot be identical {dim1}, {dim2}",
        )

    return check


def _at_least(ndim: int) -> Demand:
    return lambda self: require(array(self).ndim >= ndim, f"Input must be >= {ndim}-d.")


def _rot90(self: Any, k: int = 1, dims: Ints = (0, 1)) -> None:
    n = array(self).ndim
    require(len(dims) == 2, f"expected total rotation dims == 2, but got dims = {len(dims)}")
    require(n >= 2, f"expected total dims >= 2, but got total dims = {n}")
    require(
        dims[0] != dims[1] and abs(dims[0] - dims[1]) != n,
        f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
    )
    for dim in dims:
        normal_dim(dim, n)


def _movedim(self: Any, source: Ints, destination: Ints) -> None:
    require(
        len(source) == len(destination),
        f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain "
        f"the same number of dims as destination ({list(destination)} dims)",
    )
    for name, dims in (("source", source), ("destination", destination)):
        found = [normal_dim(d, array(self).ndim) for d in dims]
        require(len(set(found)) == len(found), f"movedim: repeated dim in `{name}` ({list(dims)})")


def _narrow(self: Any, dim: int, start: Any, length: int) -> None:
    require(
        array(start).ndim == 0 and start.dtype.is_integral and start.dtype is not bool_,
        "start must be an 0-dim integral Tensor.",
    )


def _narrow_at(self: Any, dim: int, start: int, length: int) -> None:
    shape = array(self).shape
    require(bool(shape), "narrow() cannot be applied to a 0-dim tensor.")
    size = shape[normal_dim(dim, len(shape))]
    require(length >= 0, "narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise DimensionError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )


def _tensor_split(self: Any, *_: Any) -> None:
    require(
        array(self).ndim > 0,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
    )


def _chunk(self: Any, chunks: int, dim: int = 0) -> None:
    require(array(self).ndim > 0, "chunk expects at least a 1-dimensional tensor")
    require(chunks > 0, f"chunk expects `chunks` to be greater than 0, got: {chunks}")


def _strided(self: Any, size: Ints, stride: Ints, storage_offset: int | None = None) -> None:
    require(
        min(stride, default=0) >= 0,
        "as_strided: Negative strides are not supported at the moment, got strides: "
        f"{list(stride)}",
    )
    offset = storage_offset or 0
    require(offset >= 0, f"Tensor: invalid storage offset {offset}")


def _triangle(name: str) -> Demand:
    def check(self: Any, diagonal: int = 0) -> None:
        require(array(self).ndim >= 2, f"{name}: input tensor must have at least 2 dimensions")

    return check


def _flip(self: Any, dims: Ints) -> None:
    normal_dims(dims, array(self).ndim)


def _renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> None:
    n = array(self).ndim
    require(n >= 2, f"renorm: input needs at least 2 dimensions, got {n} dimensions")


def _split_where(self: Any, where: Any, dim: int = 0) -> None:
    _tensor_split(self)
    require(
        where.dtype is int64,
        "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
        f"{where.dtype.word}",
    )


VIEWED: dict[str, Demand] = {
    **each(_diag, "diag"),
    **each(_diagonal(0), "diagonal", "linalg_diagonal"),
    **each(_diagonal(1), "diag_embed"),
    **each(_at_least(1), "flipud"),
    **each(_at_least(2), "fliplr"),
    **each(_rot90, "rot90"),
    **each(_movedim, "movedim.intlist", "moveaxis.intlist"),
    **each(_narrow, "narrow.Tensor"),
    **each(_narrow_at, "narrow"),
    **each(_tensor_split, "tensor_split.sections", "tensor_split.indices"),
    **each(_split_where, "tensor_split.tensor_indices_or_sections"),
    **each(_triangle("tril"), "tril"),
    **each(_triangle("triu"), "triu"),
    **each(_flip, "flip"),
    **each(_renorm, "renorm"),
    **each(_chunk, "chunk", "unsafe_chunk"),
    **each(_strided, "as_strided"),
    **each(lambda self, src, *view: _strided(self, *view), "as_strided_scatter"),
}
"""Overloads to what they ask, in the words of PyTorch."""
