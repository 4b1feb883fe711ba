"""Einstein summation. An ellipsis stands for dimensions that broadcast; those that the output does
not name are summed like any letter's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorscript.base.errors import OperatorError
from tensorscript.base.operand_dtypes import demand_of
from tensorscript.base.subscripts import equation_of

from ..storage import Array, array, cast, compute_dtype, promoted, sum_dtype, wrap
from .contraction import Step, contracted

Shape = Sequence[int]
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


def _check_sizes(shapes: Sequence[Shape], inputs: list[list[int]]) -> None:
    sizes: dict[int, int] = {}
    for k, (shape, labels) in enumerate(zip(shapes, inputs, strict=True)):
        own: dict[int, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise OperatorError(
                    f"einsum(): subscript {chr(label)} is repeated for operand {k} but the sizes "
                    f"don't match, {size} != {own[label]}"
                )
            known = sizes.get(label, 1)
            if size not in (1, known) and known != 1:
                name = chr(label) if label < _HIDDEN else "..."
                raise OperatorError(
                    f"einsum(): subscript {name} has size {size} for operand {k} which does not "
                    f"broadcast with previously seen size {known}"
                )
            sizes[label] = max(known, size) if size else 0


def labelled(equation: str, shapes: Sequence[Shape]) -> tuple[list[list[int]], list[int]]:
    """The labels of the dimensions of each operand, and those of the result.

    Raises:
        OperatorError: the equation is none, or does not fit these shapes.
    """
    if not shapes:
        raise OperatorError("einsum(): must provide at least one operand")
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        fewer = "fewer" if len(terms) > len(shapes) else "more"
        raise OperatorError(
            f"einsum(): {fewer} operands were provided than specified in the equation"
        )
    inputs = [_expanded(_parsed(term, f"operand {k}"), len(shape), k)
              for k, (term, shape) in enumerate(zip(terms, shapes, strict=True))]  # fmt: skip
    output = _output(right if arrow else None, inputs)
    _check_sizes(shapes, inputs)
    return inputs, output


def _is_summed_alone(operands: Sequence[Array], kept: int) -> bool:
    """Whether a dimension of one operand only is summed, as `sum` does it and not a product."""
    if len(operands) == 1:
        return operands[0].ndim > kept
    owners = [sum(a.shape[k] != 1 for a in operands) for k in range(kept, operands[0].ndim)]
    return 1 in owners


def _contracts(inputs: list[list[int]], output: list[int]) -> bool:
    """Whether operands share a label that is summed, as a product of matrices does it."""
    seen = [x for labels in inputs for x in set(labels)]
    return any(seen.count(x) > 1 and x not in output for x in seen)


def einsum(equation: str, tensors: Sequence[Any], path: Sequence[int] | None = None) -> Any:
    """Two operands at a time are multiplied, in the order of `path` or in one that costs least."""
    inputs, output = labelled(equation, [array(x).shape for x in tensors])
    dtype = promoted(*tensors)
    arrays = [cast(x, dtype) for x in tensors]
    if _contracts(inputs, output) and (demand := demand_of("aten::bmm")):
        demand.check((dtype,))
    order = [*output, *sorted({x for labels in inputs for x in labels} - set(output))]
    operands = [_aligned(a, labels, order) for a, labels in zip(arrays, inputs, strict=True)]
    if _is_summed_alone(operands, len(output)):
        dtype = sum_dtype(dtype)
        operands = [a.astype(compute_dtype(dtype), copy=False) for a in operands]
    steps = _given_steps(path, len(arrays)) if path else _cheap_steps(arrays, inputs, order, output)
    return wrap(contracted(operands, steps, len(output), dtype), dtype)


def _aligned(a: Array, labels: list[int], order: list[int]) -> Array:
    """`a` with one dimension for each label of `order`: diagonals of those that it has twice, and
    dimensions of one element for those that it lacks."""
    left = list(labels)
    for label in labels:
        while left.count(label) > 1:
            first = left.index(label)
            second = left.index(label, first + 1)
            shape, strides = list(a.shape), list(a.strides)
            strides[first] += strides[second]
            del left[second], shape[second], strides[second]
            a = as_strided(a, shape, strides)
    a = a.transpose([left.index(x) for x in order if x in left])
    return a[tuple(slice(None) if x in left else None for x in order)]


def _given_steps(path: Sequence[int], count: int) -> list[Step]:
    if len(path) != 2 * (count - 1):
        raise OperatorError(
            f"einsum(): expected contraction path given in path parameter to have size "
            f"{2 * (count - 1)} but got {len(path)}"
        )
    return list(zip(path[::2], path[1::2], strict=True))


def _cheap_steps(
    arrays: Sequence[Array], inputs: list[list[int]], order: list[int], output: list[int]
) -> list[Step]:
    """NumPy's choice of an order, where it takes two at a time."""
    if len(arrays) < 3:
        return [(0, 1)] * (len(arrays) - 1)
    operands: list[Any] = []
    for a, labels in zip(arrays, inputs, strict=True):
        operands += [a, [order.index(x) for x in labels]]
    how = "optimal" if len(arrays) < 5 else "greedy"
    found = np.einsum_path(*operands, list(range(len(output))), optimize=how)[0][1:]
    if any(len(step) != 2 for step in found):
        return [(0, 1), *((0, len(arrays) - k) for k in range(2, len(arrays)))]
    return [(a, b) for a, b in found]


def einsum_of_lists(*pairs: Any) -> Any:
    return einsum(*equation_of(pairs))


KERNELS: dict[str, Callable[..., Any]] = {
    "aten::einsum": einsum,
    "aten::einsum.sublist": einsum_of_lists,
}
