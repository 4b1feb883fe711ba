"""Memory that is written and read: in-place operators that may write to a tensor whose elements
share memory (a stride of 0), and `out=`.

All others refuse, in eager mode and in compiled code. PyTorch checks where each element is computed
from the old one; these write what does not depend on the order.
"""

from __future__ import annotations

OVERLAP_ALLOWED = frozenset(
    f"aten::{name}_"
    for name in (
        "_index_put_impl",
        "_no_grad_fill",
        "_no_grad_zero",
        "addmv",
        "baddbmm",
        "copy",
        "detach",
        "dropout",
        "fill",
        "index_fill",
        "index_put",
        "masked_fill",
        "threshold",
        "tril",
        "triu",
        "zero",
    )
)
APART = frozenset(
    ("bernoulli", "cat", "gather", "index_select", "kthvalue", "masked_select", "take")
)
"""Operators whose `out=` may not share memory with what they read; others write it at the end."""

SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a"
    " single memory location. Please clone() the tensor before performing the operation."
)
MESSAGE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single"
    " memory location. Please clone() the tensor before performing the operation."
)
