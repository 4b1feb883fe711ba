"""Type annotations: from their syntax, or from the objects they evaluate to, to types of `ts`."""

from __future__ import annotations

import ast
import types
import typing as python
import warnings
from collections.abc import Callable
from typing import Protocol

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import ir_text
from tensorscript.dialects.ts.types import (
    ANY,
    ANY_LIST,
    ANY_TUPLE,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    FUNCTION,
    GENERATOR,
    INT,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    DictType,
    FutureType,
    ListType,
    TensorType,
    TupleType,
)

NAMES: dict[str, Attribute] = {
    "Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "str": STRING,
    "complex": COMPLEX, "None": NONE, "NoneType": NONE, "number": NUMBER, "Any": ANY,
    "Device": DEVICE, "device": DEVICE, "Generator": GENERATOR, "list": ANY_LIST,
    "tuple": ANY_TUPLE, "Function": FUNCTION, "dtype": INT, "DType": INT, "Layout": INT,
    "LongTensor": TENSOR, "FloatTensor": TENSOR, "IntTensor": TENSOR, "DoubleTensor": TENSOR,
    "BoolTensor": TENSOR, "HalfTensor": TENSOR, "ByteTensor": TENSOR, "ShortTensor": TENSOR,
    "CharTensor": TENSOR, "Parameter": TENSOR, "Variable": TENSOR,
}  # fmt: skip
"""Type names that need no import in text; live annotations reach them by their objects' names."""

_NO_DTYPE = (
    "TorchScript will treat type annotations of Tensor dtype-specific subtypes as if they are "
    "normal Tensors. dtype constraints are not enforced in compilation either."
)

_BUILTIN_OBJECTS: dict[object, Attribute] = {
    int: INT, float: FLOAT, bool: BOOL, str: STRING, complex: COMPLEX, None: NONE,
    type(None): NONE, list: ANY_LIST, tuple: ANY_TUPLE, python.Any: ANY,
}  # fmt: skip

_BARE = ("List", "Dict", "Tuple", "Optional", "Future")
"""Constructors that need an argument."""


def without_contained(name: str) -> str:
    """What is said of a container type that does not say what it contains."""
    if name.endswith("ict"):
        return (
            f"Attempted to use {name} without contained types. Please add contained type, e.g. "
            f"{name}[int, int]"
        )
    return (
        f"Attempted to use {name} without a contained type. Please add a contained type, e.g. "
        f"{name}[int]"
    )


_TORCH_ROOTS = ("torch", "tensorscript")


class ClassTable(Protocol):
    """Who knows the user's own classes."""

    def type_of_class(self, cls: type, span: Span | None) -> Attribute:
        """The type of a user's class (compiled if need be)."""
        ...


def _list(args: list[Attribute]) -> Attribute:
    return ListType(args[0])


_KEYS = (INT, FLOAT, COMPLEX, BOOL, STRING, DEVICE)


def make_dict(key: Attribute, value: Attribute) -> DictType:
    """The type of a dict.

    Raises:
        CompileError: no dict has such keys.
    """
    if key not in _KEYS and not isinstance(key, TensorType):
        raise CompileError(
            f"Cannot create dict for key type '{ir_text(key)}', only int, float, complex, "
            "Tensor, device and string keys are supported"
        )
    return DictType(key, value)


def _dict(args: list[Attribute]) -> Attribute:
    return make_dict(args[0], args[1])


CONSTRUCTORS: dict[str, Callable[[list[Attribute]], Attribute]] = {
    "List": _list,
    "list": _list,
    "Dict": _dict,
    "dict": _dict,
    "Tuple": TupleType.of,
    "tuple": TupleType.of,
    "Optional": lambda args: typing.make_optional(args[0]),
    "Union": typing.make_union,
    "Future": lambda args: FutureType(args[0]),
    "BroadcastingList1": _list,
    "BroadcastingList2": _list,
    "BroadcastingList3": _list,
}


_MEMBERS = {"List": 1, "list": 1, "Dict": 2, "dict": 2, "Optional": 1, "Future": 1}
"""How many types a constructor takes."""


def _wrong_count(wanted: int, given: int) -> str:
    types = "one element type" if wanted == 1 else f"{wanted} element types"
    return f"expected exactly {types} but found {given}"


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{_dotted(node.value)}.{node.attr}"
    return ""


def _members(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Tuple):
        return list(node.elts)
    return [node]


def type_of_syntax(
    node: ast.expr,
    lookup: Callable[[ast.expr], object],
    classes: ClassTable,
    span: Span | None,
) -> Attribute:
    """The type an annotation spells.

    Args:
        lookup: the Python object that a dotted name means, or `NOT_FOUND`.

    Raises:
        CompileError: it is not a type of the language.
    """

    def inside(inner: ast.expr) -> Attribute:
        return type_of_syntax(inner, lookup, classes, span)

    match node:
        case ast.Constant(None):
            return NONE
        case ast.Constant(str(text)):
            return inside(ast.parse(text, mode="eval").body)
        case ast.BinOp(left, ast.BitOr(), right):
            return typing.make_union([inside(left), inside(right)])
        case ast.Subscript():
            name = _dotted(node.value).rpartition(".")[2]
            if name not in CONSTRUCTORS:
                raise CompileError(f"Unknown type constructor {_dotted(node.value)}", span)
            members = _members(node.slice)
            if name.startswith("BroadcastingList"):
                return ListType(inside(members[0]))
            if len(members) != _MEMBERS.get(name, len(members)):
                raise CompileError(_wrong_count(_MEMBERS[name], len(members)), span)
            return CONSTRUCTORS[name]([inside(m) for m in members])
        case ast.Name() | ast.Attribute():
            found = lookup(node)
            if found is not NOT_FOUND:
                return type_of_object(found, classes, span)
            name = _dotted(node).removeprefix("torch.")
            if name in NAMES:
                return NAMES[name]
            raise CompileError(f"Unknown type name '{_dotted(node)}'", span)
    if isinstance(node, ast.Constant):
        raise _no_type(node.value, span)
    if (kind := _NO_TYPES.get(type(node))) is not None:
        raise CompileError(f"Expression of type {kind} cannot be used in a type expression", span)
    raise CompileError(f"Unknown type name '{ast.unparse(node)}'", span)


_NO_TYPES: dict[type[ast.expr], str] = {
    ast.Call: "apply", ast.List: "list-literal", ast.Tuple: "tuple-literal",
    ast.Dict: "dict-literal",
}  # fmt: skip
_NO_TYPE_OBJECTS: dict[type, str] = {
    int: "const", float: "const", complex: "const", type(...): "dots", list: "list-literal",
    dict: "dict-literal", tuple: "tuple-literal",
}  # fmt: skip


def _no_type(value: object, span: Span | None) -> CompileError:
    """What is wrong with a value in place of a type."""
    kind = _NO_TYPE_OBJECTS.get(type(value))
    if isinstance(value, bool):
        kind = str(value)
    if kind is None:
        return CompileError(f"Unknown type name '{value}'", span)
    return CompileError(f"Expression of type {kind} cannot be used in a type expression", span)


NOT_FOUND = object()


def type_of_object(found: object, classes: ClassTable, span: Span | None) -> Attribute:
    """The type that an annotation object means.

    Raises:
        CompileError: it is not a type of the language.
    """
    if isinstance(found, python.Hashable) and found in _BUILTIN_OBJECTS:
        return _BUILTIN_OBJECTS[found]
    if isinstance(found, Attribute):
        return found
    if isinstance(found, str):
        node = ast.parse(found, mode="eval").body
        return type_of_syntax(node, lambda _: NOT_FOUND, classes, span)
    origin, args = python.get_origin(found), python.get_args(found)
    is_bare = str(found) == f"typing.{getattr(found, '_name', '')}"
    if origin is not None and not is_bare:
        shown = getattr(found, "_name", None) or getattr(origin, "__name__", None)
        return _generic(origin, str(shown or origin), args, classes, span)
    if isinstance(found, python.ForwardRef):
        return type_of_object(found.__forward_arg__, classes, span)
    if isinstance(found, type):
        root = found.__module__.partition(".")[0]
        if root in _TORCH_ROOTS and found.__name__ in NAMES:
            if found.__name__ != "Tensor" and found.__name__.endswith("Tensor"):
                warnings.warn(_NO_DTYPE, stacklevel=2)
            return NAMES[found.__name__]
        if root == "builtins":
            raise CompileError(f"Unknown type name '{found.__name__}'", span)
        if root in _TORCH_ROOTS and found.__name__ == "Size":
            raise CompileError("Unknown type name 'torch.Size'", span)
        if root not in _TORCH_ROOTS or found.__name__ not in _BARE:
            return classes.type_of_class(found, span)
    bare = getattr(found, "_name", None) or getattr(found, "__name__", None)
    if bare in _BARE:
        raise CompileError(without_contained(str(bare)), span)
    raise CompileError(f"Unknown type name '{bare}'", span) if bare else _no_type(found, span)


def _generic(
    origin: object,
    name: str,
    args: tuple[object, ...],
    classes: ClassTable,
    span: Span | None,
) -> Attribute:
    if name not in CONSTRUCTORS and origin not in (python.Union, types.UnionType):
        raise CompileError(f"Unknown type constructor {name}", span)
    inside = [type_of_object(a, classes, span) for a in args if a != ()]
    if origin is list:
        return ListType(inside[0])
    if origin is dict:
        return make_dict(inside[0], inside[1])
    if origin is tuple:
        return TupleType.of(inside)
    if origin in (python.Union, types.UnionType):
        return typing.make_union(inside)
    return CONSTRUCTORS[name](inside)
