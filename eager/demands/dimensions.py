"""Which dimensions operators may name: of a tensor that has none, -1 and 0."""

from __future__ import annotations

from typing import Any

from tensorscript.base.errors import DimensionError

from ..kernels.shapes import normal_dim
from ..storage import array
from .words import Demand, Ints, each, require


def _named(*places: int) -> Demand:
    """The dimensions that stand at these places of the arguments."""

    def check(self: Any, *others: Any) -> None:
        for at in places:
            normal_dim(others[at - 1], array(self).ndim)

    return check


def _cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> None:
    normal_dim(dim, max(array(x1).ndim, array(x2).ndim))


def _topk(self: Any, k: int, dim: int = -1, *_: Any) -> None:
    n = array(self).ndim
    normal_dim(dim, n)
    require(n > 0 or 0 <= k <= 1, "selected index k out of range")


def _unbind(self: Any, dim: int = 0) -> None:
    n = array(self).ndim
    normal_dim(dim, n)
    if not n:
        raise DimensionError("Dimension specified as 0 but tensor has no dimensions")


def _split(self: Any, sizes: int | Ints, dim: int = 0) -> None:
    require(array(self).ndim > 0, "split expects at least a 1-dimensional tensor")


def _slice(self: Any, *_: Any) -> None:
    require(array(self).ndim > 0, "slice() cannot be applied to a 0-dim tensor.")


def _unfold(self: Any, dimension: int, size: int, step: int) -> None:
    n = array(self).ndim
    normal_dim(dimension, n)
    require(
        n > 0 or size <= 1,
        f"maximum size for tensor at dimension 0 is 1 but size is {size}",
    )


DIMENSIONED: dict[str, Demand] = {
    **each(_named(1, 2), "flatten.using_ints", "transpose.int", "transpose_"),
    **each(_named(1, 2), "swapaxes", "swapaxes_", "swapdims", "swapdims_"),
    **each(_named(1), "softmax.int", "log_softmax.int", "_softmax", "_log_softmax"),
    **each(_named(1), "sort", "argsort"),
    **each(_named(2), "sort.stable", "argsort.stable"),
    **each(_cosine_similarity, "cosine_similarity"),
    **each(_topk, "topk"),
    **each(_unbind, "unbind.int"),
    **each(_split, "split.Tensor", "split.sizes", "split", "split_with_sizes"),
    **each(_slice, "slice.Tensor"),
    **each(_unfold, "unfold"),
}
