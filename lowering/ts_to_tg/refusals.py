"""Why an operator has no native form, for the refusal of `compile` and `export` and for the docs.

A reason stands before the words that pick its operators: a whole name, or the start of one (`*`).
The first that fits counts.
"""

from __future__ import annotations

from functools import cache

_REASONS: tuple[tuple[str, str], ...] = (
    ("how many random numbers it draws depends on the data", "binomial poisson"),
    ("complex numbers outside of tensors have to be known", "Complex*"),
    ("this decomposition of matrices has no native code",
     "linalg_*"),
    ("products whose sizes lie in a tensor have no native code", "_grouped_mm"),
    ("sparse and nested tensors have no native form",
     "sparse_dim dense_dim nested_to_padded_tensor _nested_tensor_from_mask_left_aligned"),
    ("this special function has no native code", "special_* gamma"),
    ("strings are known when compiling, and this one is not folded", "hash is*"),
)  # fmt: skip


@cache
def reason_of(name: str) -> str:
    """Why `aten::name` or `name.overload` has no row; a general word where nothing else is said."""
    base = name.rpartition("::")[2].partition(".")[0]
    for reason, words in _REASONS:
        for word in words.split():
            if base == word or (word.endswith("*") and base.startswith(word[:-1])):
                return reason
    return "has no native form"
