"""How a loss is reduced: the words of the interface and the numbers of the operators."""

from __future__ import annotations

import warnings

from ... import namespace as ts
from ...tensor import Tensor


def reduction_code(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> int:
    """The operators' number of a word; the two flags are the former spelling and come first.

    Raises:
        ValueError: no such word.
    """
    word = reduction_word(reduction, size_average, reduce)
    if word == "none":
        code = 0
    elif word == "mean":
        code = 1
    elif word == "sum":
        code = 2
    else:
        code = -1
        raise ValueError(f"{word} is not a valid value for reduction")
    return code


def reduction_word(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """The word that the two flags stand for, or `reduction` if neither is given."""
    if size_average is None and reduce is None:
        return reduction
    word = "mean"
    if reduce is not None and not reduce:
        word = "none"
    elif size_average is not None and not size_average:
        word = "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.",
        stacklevel=2,
    )
    return word


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """`loss` as a whole, its mean, or its sum.

    Raises:
        ValueError: no such word.
    """
    if reduction == "none":
        return loss
    if reduction == "mean":
        return ts.mean(loss)
    if reduction == "sum":
        return ts.sum(loss)
    raise ValueError(f"{reduction} is not a valid value for reduction")
