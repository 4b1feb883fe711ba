"""What searches in sorted sequences ask of their arguments, in the order of PyTorch's checks."""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import int64

from ..storage import array
from .words import Demand, each, require, sizes_of


def _bucketize(self: Any, boundaries: Any, *_: Any) -> None:
    n = array(boundaries).ndim
    require(n == 1, f"boundaries tensor must be 1 dimension, but got dim({n})")


def _searchsorted(
    sequence: Any, self: Any, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None, *_: Any,
) -> None:  # fmt: skip
    require(
        side in (None, "left", "right"),
        f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}",
    )
    require(
        not right or side != "left",
        "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
        "right was True",
    )
    if sorter is not None:
        _permutation(sequence, sorter)
    bounds = sizes_of(sequence)
    keys = sizes_of(self) if hasattr(self, "dtype") else []
    require(
        bool(keys) or len(bounds) <= 1,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension "
        f"is 1, but we got boundaries tensor dim({len(bounds)}) and input value's dim(0) numel(1)",
    )
    require(
        bool(bounds),
        "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 "
        "dimension",
    )
    require(
        len(bounds) == 1 or bounds[:-1] == keys[:-1],
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
        "of boundaries tensor and input value tensor must match, but we got boundaries tensor "
        f"{bounds} and input value tensor {keys}",
    )


def _permutation(sequence: Any, sorter: Any) -> None:
    require(
        sizes_of(sequence) == sizes_of(sorter),
        "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
        f"tensor {sizes_of(sequence)}and got sorter tensor {sizes_of(sorter)}",
    )
    require(
        sorter.dtype is int64,
        "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
        f"{sorter.dtype.word}",
    )


def _segments(
    data: Any, reduce: str, lengths: Any = None, indices: Any = None, offsets: Any = None, *_: Any
) -> None:
    for name, found in (("offsets", offsets), ("lengths", lengths)):
        require(
            found is None or array(data).ndim >= array(found).ndim,
            f"Expected data.dim() >= {name}_value.dim() to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request to PyTorch.)",
        )


SEARCHED: dict[str, Demand] = {
    **each(_segments, "segment_reduce"),
    **each(_bucketize, "bucketize.Tensor"),
    **each(_searchsorted, "searchsorted.Tensor", "searchsorted.Scalar"),
}
"""Overloads to what they ask, in the words of PyTorch."""
