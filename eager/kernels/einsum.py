"""Einstein summation. An ellipsis stands for dimensions that broadcast; those that the output does
not name are summed like any letter's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import OperatorError
from tensorscript.base.operand_dtypes import demand_of
from tensorscript.base.subscripts import equation_of

from ..storage import Array, cast, promoted, sum_dtype, wrap

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HIDDEN = 1000
"""Labels of ellipsis dimensions count from here; those of letters are their code points."""


def _parsed(term: str, where: str) -> list[int]:
    """Labels of one term, -1 for an ellipsis."""
    out: list[int] = []
    left = term
    while left:
        if left.startswith("..."):
            if -1 in out:
                raise OperatorError(f"einsum(): found '.' for {where} for which an ellipsis was "
                                    "already found")  # fmt: skip
            out.append(-1)
            left = left[3:]
        elif left[0] in _LETTERS:
            out.append(ord(left[0]))
            left = left[1:]
        elif left[0] == ".":
            raise OperatorError(f"einsum(): found '.' for {where} that is not part of any ellipsis")
        else:
            raise OperatorError(
                f"einsum(): invalid subscript given at index {len(term) - len(left)} in the "
                "equation string, subscripts must be in [a-zA-Z]"
            )
    return out


def _expanded(labels: list[int], ndim: int, operand: int) -> list[int]:
    """The ellipsis as labels, counted from the last dimension it covers."""
    named = [x for x in labels if x != -1]
    if -1 not in labels:
        if len(named) != ndim:
            raise OperatorError(
                f"einsum(): the number of subscripts in the equation ({len(named)}) does not match "
                f"the number of dimensions ({ndim}) for operand {operand} and no ellipsis was given"
            )
        return labels
    if len(named) > ndim:
        raise OperatorError(
            f"einsum(): the number of subscripts in the equation ({len(named)}) is more than the "
            f"number of dimensions ({ndim}) for operand {operand}"
        )
    at, hidden = labels.index(-1), ndim - len(named)
    middle = [_HIDDEN + hidden - 1 - k for k in range(hidden)]
    return [*labels[:at], *middle, *labels[at + 1 :]]


def _output(text: str | None, inputs: list[list[int]]) -> list[int]:
    """Labels of the result; by default the ellipsis, then letters that occur once."""
    seen = [x for labels in inputs for x in labels]
    hidden = sorted({x for x in seen if x >= _HIDDEN}, reverse=True)
    if text is None:
        once = sorted({x for x in seen if x < _HIDDEN and seen.count(x) == 1})
        return [*hidden, *once]
    out: list[int] = []
    for label in _parsed(text, "the output"):
        if label == -1:
            out += hidden
            continue
        if label in out:
            raise OperatorError(
                f"einsum(): output subscript {chr(label)} appears more than once in the output"
            )
        if label not in seen:
            raise OperatorError(
                f"einsum(): output subscript {chr(label)} does not appear in the equation for any "
                "input operand"
            )
        out.append(label)
    return out


def _check_sizes(arrays: Sequence[Array], inputs: list[list[int]]) -> None:
    sizes: dict[int, int] = {}
    for k, (a, labels) in enumerate(zip(arrays, inputs, strict=True)):
        for label, size in zip(labels, a.shape, strict=True):
            known = sizes.get(label, 1)
            if size not in (1, known) and known != 1:
                name = chr(label) if label < _HIDDEN else "..."
                raise OperatorError(
                    f"einsum(): subscript {name} has size {size} for operand {k} which does not "
                    f"broadcast with previously seen size {known}"
                )
            sizes[label] = max(known, size) if size else 0


def _summed_alone(inputs: list[list[int]], output: list[int]) -> bool:
    """Whether a label of one operand only is summed, as `sum` does it and not a product."""
    seen = [x for labels in inputs for x in set(labels)]
    return any(seen.count(x) == 1 and x not in output for x in seen)


def _contracts(inputs: list[list[int]], output: list[int]) -> bool:
    """Whether operands share a label that is summed, as a product of matrices does it."""
    seen = [x for labels in inputs for x in set(labels)]
    return any(seen.count(x) > 1 and x not in output for x in seen)


def einsum(equation: str, tensors: Sequence[Any], path: Any = None) -> Any:
    if not tensors:
        raise OperatorError("einsum(): must provide at least one operand")
    dtype = promoted(*tensors)
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        fewer = "fewer" if len(terms) > len(tensors) else "more"
        raise OperatorError(
            f"einsum(): {fewer} operands were provided than specified in the equation"
        )
    arrays = [cast(x, dtype) for x in tensors]
    inputs = [_expanded(_parsed(term, f"operand {k}"), a.ndim, k)
              for k, (term, a) in enumerate(zip(terms, arrays, strict=True))]  # fmt: skip
    output = _output(right if arrow else None, inputs)
    _check_sizes(arrays, inputs)
    if _contracts(inputs, output) and (demand := demand_of("aten::bmm")):
        demand.check((dtype,))
    numbers = {label: n for n, label in enumerate(dict.fromkeys(x for t in inputs for x in t))}
    operands: list[Any] = []
    for a, labels in zip(arrays, inputs, strict=True):
        operands += [a, [numbers[x] for x in labels]]
    if _summed_alone(inputs, output):
        dtype = sum_dtype(dtype)
        operands[::2] = [cast(x, dtype) for x in tensors]
    found = np.einsum(*operands, [numbers[x] for x in output], optimize=len(tensors) > 2)
    return wrap(found, dtype)


def einsum_of_lists(*pairs: Any) -> Any:
    return einsum(*equation_of(pairs))


KERNELS: dict[str, Callable[..., Any]] = {
    "aten::einsum": einsum,
    "aten::einsum.sublist": einsum_of_lists,
}
