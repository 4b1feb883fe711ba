"""Type variables of schemas: binding them to the types of arguments, and replacing them."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Attribute

from .type_text import message_text
from .types import (
    NONE,
    AwaitType,
    DictType,
    FutureType,
    ListType,
    OptionalType,
    TupleType,
    VarType,
)
from .typing import Fulfils, make_optional, map_inside, nominal, unify, unify_all


class VarMismatch(Exception):
    """A type that a schema's type variable cannot take; the text says why."""


def match_variables(
    formal: Attribute,
    actual: Attribute,
    bound: dict[str, Attribute],
    fulfils: Fulfils = nominal,
) -> Attribute:
    """`formal` with its variables replaced after binding them to match `actual`.

    Raises:
        VarMismatch: no binding fits.
    """
    if not has_variables(formal):
        return formal
    match formal:
        case VarType():
            name = formal.var_name.data
            if name not in bound:
                bound[name] = actual
                return actual
            # What is not of the type that was matched first, its place refuses, not the variable.
            if unify(bound[name], actual, fulfils=fulfils) is None:
                raise VarMismatch(
                    f"Type variable '{name}' previously matched to type "
                    f"{message_text(bound[name])} is matched to type {message_text(actual)}"
                )
            return bound[name]
        case ListType():
            if isinstance(actual, ListType):
                return ListType(match_variables(formal.element, actual.element, bound, fulfils))
            if isinstance(actual, TupleType) and actual.elements.data:
                joined = unify_all(list(actual.elements), fulfils)
                if joined is None:
                    raise VarMismatch("Cannot unify types of tuple elements")
                return ListType(match_variables(formal.element, joined, bound, fulfils))
        case DictType() if isinstance(actual, DictType):
            return DictType(
                match_variables(formal.key, actual.key, bound, fulfils),
                match_variables(formal.value, actual.value, bound, fulfils),
            )
        case FutureType() if isinstance(actual, FutureType):
            return FutureType(match_variables(formal.element, actual.element, bound, fulfils))
        case AwaitType():
            if isinstance(actual, AwaitType):
                return AwaitType(match_variables(formal.element, actual.element, bound, fulfils))
            raise VarMismatch(f"Cannot match an await to {message_text(actual)}")
        case OptionalType():
            if isinstance(actual, OptionalType):
                return OptionalType(match_variables(formal.element, actual.element, bound, fulfils))
            if actual != NONE:
                return make_optional(match_variables(formal.element, actual, bound, fulfils))
            return actual
        case TupleType() if isinstance(actual, TupleType):
            if len(formal.elements) == len(actual.elements):
                pairs = zip(formal.elements, actual.elements, strict=True)
                return TupleType.of(match_variables(f, a, bound, fulfils) for f, a in pairs)
    shown = "a dict" if isinstance(formal, DictType) else message_text(formal)
    raise VarMismatch(f"Cannot match {shown} to {message_text(actual)}")


@cache
def has_variables(type: Attribute) -> bool:
    """Whether a schema's type variable occurs in `type`."""
    match type:
        case VarType():
            return True
        case ListType() | OptionalType() | FutureType() | AwaitType():
            return has_variables(type.element)
        case DictType():
            return has_variables(type.key) or has_variables(type.value)
        case TupleType():
            return any(map(has_variables, type.elements))
    return False


def substitute(type: Attribute, bound: dict[str, Attribute]) -> Attribute:
    """`type` with type variables replaced by what they were bound to."""
    if isinstance(type, VarType):
        return bound.get(type.var_name.data, type)
    if not has_variables(type):
        return type
    return map_inside(type, lambda inner: substitute(inner, bound))
