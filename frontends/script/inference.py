"""The types of Python values that no annotation types: attributes, and arguments for Any and Union.

Values of a list, and keys and values of a dict, have one type if the language unifies theirs (None
makes it optional); classes are compiled for their instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from tensorscript.base.errors import UserError
from tensorscript.dialects.ts.type_text import annotation_text, ir_text
from tensorscript.dialects.ts.types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    STRING,
    TENSOR,
    DictType,
    ListType,
    TupleType,
)
from tensorscript.dialects.ts.typing import unify
from tensorscript.eager.random import Generator

from .python_names import python_constant
from .signature import constant_type

ClassTypes = Callable[[type], Attribute]
"""The type that a class becomes; a UserError or NotInferable says why it becomes none."""

_KEYS = (ANY, BOOL, INT, FLOAT, COMPLEX, STRING, TENSOR, DEVICE)


class NotInferable(Exception):
    """A value whose type cannot be told; the text says why."""


class RefusedKey(Exception):
    """A dict whose keys are of a type that no dict of the language has; the text says so."""


def infer_type(value: Any, type_of_class: ClassTypes) -> Attribute:
    """The type of a Python value.

    Raises:
        NotInferable: the language has no such type.
        RefusedKey: a dict has keys that the language does not know.
    """
    match value:
        case list():
            if not value:
                raise NotInferable("List trace inputs must have elements")
            try:
                found = [infer_type(v, type_of_class) for v in value]
            except NotInferable as reason:
                raise NotInferable(f"Could not infer type of list element: {reason}") from None
            return ListType(
                _shared(found, "List inputs to traced functions must have consistent element type.")
            )
        case dict():
            return _dict_type(value, type_of_class)
        case tuple():
            return TupleType.of(infer_type(v, type_of_class) for v in value)
        case bytes():
            return STRING
        case np.ndarray():
            return TENSOR
        case Generator():
            return GENERATOR
        case np.generic():
            return infer_type(value.item(), type_of_class)
    if any(c.__name__ in ("Tensor", "TensorBase") for c in type(value).__mro__):
        return TENSOR
    try:
        return constant_type(python_constant(value))
    except TypeError:
        pass
    if isinstance(value, type) or type(value).__module__ == "builtins":
        raise _foreign(value)
    try:
        return type_of_class(type(value))
    except UserError:
        raise _foreign(value) from None


def _dict_type(value: dict[Any, Any], type_of_class: ClassTypes) -> DictType:
    if not value:
        raise NotInferable("Dictionary inputs must have entries")
    same = "Dictionary inputs to traced functions must have consistent type."
    key = _shared([infer_type(k, type_of_class) for k in value], same)
    content = _shared([infer_type(v, type_of_class) for v in value.values()], same)
    if key not in _KEYS:
        raise RefusedKey(
            f"Cannot create dict for key type '{ir_text(key)}', only int, float, complex, "
            "Tensor, device and string keys are supported"
        )
    return DictType(key, content)


def _shared(types: Iterable[Attribute], demand: str) -> Attribute:
    """What all of the types unify to."""
    shared, *rest = types
    for other in rest:
        found = unify(shared, other)
        if found is None:
            names = f"{annotation_text(shared)} and {annotation_text(other)}"
            raise NotInferable(f"{demand} Found {names}")
        shared = found
    return shared


def _foreign(value: object) -> NotInferable:
    return NotInferable(
        "Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as "
        "inputs or outputs of traced functions, but instead got value of type "
        f"{type(value).__name__}."
    )
