"""Why an operator has no native form, for the refusal of `compile` and `export` and for the docs.

A reason stands before the words that pick its operators: a whole name, or the start of one (`*`).
The first that fits counts.
"""

from __future__ import annotations

from functools import cache

_REASONS: tuple[tuple[str, str], ...] = (
    ("how many random numbers it draws depends on the data",
     "binomial poisson _standard_gamma _sample_dirichlet"),
    ("generators of random numbers are objects of the host", "Generator seed initial_seed"),
    ("it makes a tensor anew that may have other names", "set set_ resize resize_as"),
    ("code for one device does not move tensors to another", "cuda"),
    ("products whose sizes lie in a tensor have no native code", "_grouped_mm"),
    ("sparse and nested tensors have no native form",
     "sparse_* dense_dim to_sparse* to_dense to_padded_tensor nested_to_padded_tensor"),
    ("this special function has no native code", "gamma"),
    ("this question is answered by a tensor of eager mode alone", "is_neg is_conj is_set_to"),
    ("strings are known when compiling, and this one is not folded", "hash"),
    ("an old operator that only archives of years ago name", "__round_to_zero_floordiv"),
)  # fmt: skip


@cache
def reason_of(name: str) -> str:
    """Why `aten::name` or `name.overload` has no row; a general word where nothing else is said."""
    base, _, overload = name.rpartition("::")[2].partition(".")
    if base.startswith("Complex") or "complex" in overload:
        return "complex numbers outside of tensors have to be known"
    for reason, words in _REASONS:
        for word in words.split():
            if base == word or (word.endswith("*") and base.startswith(word[:-1])):
                return reason
    return "has no native form"
