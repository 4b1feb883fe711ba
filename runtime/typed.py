"""Lists and dicts that know their TorchScript type, where what they hold does not tell it.

A list of ints is a `List[int]`; an empty one, or one whose elements may be None, may be a list of
much else. Only `isinstance` of a value of type `Any` asks.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from tensorscript.dialects.ts import types as t
from tensorscript.dialects.ts.typing import is_told


class TypedList(list[Any]):
    """A list of a type that its elements do not tell."""

    __slots__ = ("type",)
    type: t.ListType


class TypedDict(dict[Any, Any]):
    """A dict of a type that its items do not tell."""

    __slots__ = ("type",)
    type: t.DictType


def typed(value: Any, type_: Attribute) -> Any:
    """A list or dict that has just been made, with its type if it does not tell it."""
    match type_:
        case t.ListType() if not (value and is_told(type_.element)):
            as_list = TypedList(value)
            as_list.type = type_
            return as_list
        case t.DictType() if not (value and is_told(type_)):
            as_dict = TypedDict(value)
            as_dict.type = type_
            return as_dict
    return value
