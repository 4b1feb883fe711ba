"""Softmax over many classes by a short list of frequent ones and clusters of rare ones.

Edouard Grave and others, "Efficient softmax approximation for GPUs", 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ... import namespace as ts
from ...tensor import Tensor
from .. import functional as F
from ..container import ModuleList, Sequential
from ..module import Module
from .linear import Linear


class _ASMoutput(NamedTuple):
    """Log-probabilities of the targets (N), and their mean loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """(N, in_features) and targets (N) to log-probabilities (N) and their mean loss.

    Classes below the first cutoff have a row in `head`; each further cutoff is a cluster in `tail`
    that the head chooses, with weights narrowed by `div_value` to the power of its number.
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*_checked(list(cutoffs), n_classes), n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList(
            Sequential(
                Linear(in_features, narrow, False, device, dtype),
                Linear(narrow, high - low, False, device, dtype),
            )
            for narrow, (low, high) in zip(self._widths(), pairwise(self.cutoffs), strict=True)
        )

    def _widths(self) -> list[int]:
        """The inner features of each cluster."""
        return [int(self.in_features // self.div_value ** (k + 1)) for k in range(self.n_clusters)]

    def reset_parameters(self) -> None:
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of each target, and the mean of their negatives.

        Raises:
            RuntimeError: sizes that do not fit, or a target that is no class.
        """
        _check_sizes(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        rows = target.size(0)
        output, gather_inds, found = input.new_zeros(rows), target.new_empty(rows), 0
        for k, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            target_mask = (target >= low) & (target < high)
            row_indices = target_mask.nonzero().squeeze()
            if row_indices.numel() == 0:
                continue
            if k == 0:  # these have columns of their own
                gather_inds.index_copy_(0, row_indices, target[target_mask])
            else:
                within = target[target_mask] - low
                cluster = self.tail[k - 1](input.index_select(0, row_indices))
                gather_inds.index_fill_(0, row_indices, self.shortlist_size + k - 1)
                inside = F.log_softmax(cluster, dim=1).gather(1, within.unsqueeze(1))
                output.index_copy_(0, row_indices, inside.squeeze(1))
            found += row_indices.numel()
        if found != rows:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, gather_inds.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for k, cluster in enumerate(self.tail):
            inside = F.log_softmax(cluster(input), dim=1)
            parts.append(inside + head[:, self.shortlist_size + k].unsqueeze(1))
        found: Tensor = ts.cat(parts, 1)
        return found

    def log_prob(self, input: Tensor) -> Tensor:
        """(N, in_features) to the log-probabilities of all classes (N, n_classes)."""
        return self._full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """(N, in_features) to the most probable class (N)."""
        head_output = self.head(input)
        best: Tensor = ts.argmax(head_output, dim=1)
        rare = best >= self.shortlist_size
        if not bool(rare.any()):
            return best
        full = self._full_log_prob(input[rare], head_output[rare])
        best[rare] = ts.argmax(full, dim=1)
        return best


def _checked(cutoffs: list[int], n_classes: int) -> list[int]:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = cutoffs == sorted(set(cutoffs)) and all(int(c) == c for c in cutoffs)
    if not rising or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )
    return cutoffs


def _check_sizes(input: Tensor, target: Tensor) -> None:
    ndim = target.dim()
    if ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if ndim == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != ndim + 1:
        raise RuntimeError(
            f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
