"""What operators that put tensors together ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..kernels.shapes import normal_dim
from ..storage import array
from .words import Demand, each, require, sizes_of


def _some(name: str) -> Demand:
    return lambda tensors: require(len(tensors) > 0, f"{name} expects a non-empty TensorList")


def _chunk_cat(tensors: Sequence[Any], dim: int, num_chunks: int) -> None:
    name = "_chunk_cat expects"
    require(len(tensors) > 0, f"{name} a non-empty input tensor list")
    require(num_chunks >= 1, f"{name} positive num_chunks")
    shapes = [sizes_of(x) for x in tensors]
    require(all(array(x).size for x in tensors), f"{name} non-empty tensor")
    mixed = len({len(s) for s in shapes}) > 1
    require(not (mixed and dim < 0), f"{name} non-negative dim when input tensors have different "
             "ndims")  # fmt: skip
    at = dim if mixed else normal_dim(dim, len(shapes[0]))
    require(all(at < len(s) for s in shapes), f"{name} dim < ndim for all input tensors")
    require(
        all(s[:at] == shapes[0][:at] for s in shapes),
        f"{name} same sizes of 0,...,dim-1 dimensions for all tensors",
    )


def _cartesian(tensors: Sequence[Any]) -> None:
    for x in tensors:
        require(array(x).ndim == 1, f"Expect a 1D vector, but got shape {sizes_of(x)}")


def _combinations(self: Any, r: int = 2, with_replacement: bool = False) -> None:
    require(array(self).ndim == 1, f"Expect a 1D vector, but got shape {sizes_of(self)}")
    require(r >= 0, f"Expect a non-negative number, but got {r}")


def _one_dimensional(x: Any, *_: Any) -> None:
    require(array(x).ndim == 1, "x must be a one-dimensional tensor.")


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> None:
    _one_dimensional(x)
    require(N is None or N >= 0, "N must be non-negative.")


JOINED: dict[str, Demand] = {
    **each(_some("hstack"), "hstack"),
    **each(_some("vstack"), "vstack"),
    **each(_some("dstack"), "dstack"),
    **each(_chunk_cat, "_chunk_cat"),
    **each(_cartesian, "cartesian_prod"),
    **each(_combinations, "combinations"),
    **each(_vander, "vander"),
}
"""Overloads to what they ask, in the words of PyTorch."""
