"""`torch.tensor` of lists in the interpreter."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import OperatorError
from tensorscript.dialects.ts.list_tensors import element_of, refusal, tensor_dtype
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.tensor import Tensor


def tensor_of_list(type: Attribute, data: list[Any], dtype: Any, rest: list[Any]) -> Tensor:
    """The tensor of nested lists of the static type `type`.

    Raises:
        OperatorError: lists of different lengths, or of other things than numbers.
    """
    sizes = _sizes(data)
    _check(data, sizes, 0)
    element = element_of(type)
    if why := refusal(element, is_empty=not data):
        raise OperatorError(why)
    kind = tensor_dtype(element) if dtype is None else dtype
    made: Tensor = call_overload("aten::tensor", (data, kind, *rest))
    return made


def _sizes(data: Any) -> list[int]:
    """The lengths of nested lists, each told by the first of its depth."""
    sizes: list[int] = []
    while isinstance(data, list):
        sizes.append(len(data))
        data = data[0] if data else None
    return sizes


def _check(data: list[Any], sizes: list[int], dim: int) -> None:
    if len(data) != sizes[dim]:
        raise OperatorError(
            f"Expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})"
        )
    for row in data:
        if isinstance(row, list) and dim + 1 < len(sizes):
            _check(row, sizes, dim + 1)
