"""`torch.tensor` of a list: what the list's type says that the list itself may not, being empty."""

from __future__ import annotations

from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType, bool_, int64

from .type_text import message_text
from .types import BOOL, COMPLEX, FLOAT, INT, ListType, TensorType

_DTYPES: dict[Attribute, DType | None] = {INT: int64, BOOL: bool_, FLOAT: None, COMPLEX: None}


def element_of(type: Attribute) -> Attribute:
    """The type of what nested lists hold."""
    while isinstance(type, ListType):
        type = type.element
    return type


def tensor_dtype(element: Attribute) -> DType | None:
    """The dtype of a tensor of such elements; None where the default dtype says it."""
    return _DTYPES[element]


def refusal(element: Attribute, is_empty: bool) -> str:
    """Why there is no tensor of such elements, or nothing."""
    if element in _DTYPES:
        return ""
    text = f"Input must be of ints, floats, or bools, got {message_text(element)}"
    if not (is_empty and isinstance(element, TensorType)):
        return text
    return (
        f"{text}\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment "
        "to create an empty list of another type (torch.jit.annotate(List[T, []]) where T is the "
        "type of elements in the list for Python 2)"
    )
