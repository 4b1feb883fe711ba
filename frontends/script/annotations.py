"""Type annotations: from their syntax, or from the objects they evaluate to, to types of `ts`."""

from __future__ import annotations

import ast
import types
import typing as python
import warnings
from collections.abc import Callable
from inspect import isroutine
from typing import Protocol

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError, ModuleTypeError
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
    AwaitType,
    DictType,
    FutureType,
    ListType,
    TensorType,
    TupleType,
)

from .source import SourceUnavailable

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
    "Await": lambda args: AwaitType(args[0]),
    "_Await": lambda args: AwaitType(args[0]),
    "BroadcastingList1": _list,
    "BroadcastingList2": _list,
    "BroadcastingList3": _list,
}


_ELEMENTS = {
    "List": 1,
    "list": 1,
    "Optional": 1,
    "Future": 1,
    "Await": 1,
    "_Await": 1,
    "Dict": 2,
    "dict": 2,
}
"""How many types a constructor takes; the others take any number."""


def _check_constructor(full_name: str, count: int, span: Span | None) -> str:
    """The constructor that a dotted name means, if it takes `count` types.

    Raises:
        CompileError: there is none, or it takes another number.
    """
    name = full_name.rpartition(".")[2]
    if name not in CONSTRUCTORS and name.startswith("BroadcastingList"):
        raise CompileError("subscript of Broadcastable list must be a positive integer", span)
    if name not in CONSTRUCTORS:
        raise CompileError(f"Unknown type constructor {full_name}", span)
    wanted = _ELEMENTS.get(name, count)
    if wanted != count:
        types = "one element type" if wanted == 1 else f"{wanted} element types"
        raise CompileError(f"expected exactly {types} but found {count}", span)
    return name


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{_dotted(node.value)}.{node.attr}"
    return ""


def _members(node: ast.Subscript) -> list[ast.expr]:
    """What stands in the brackets; an empty tuple says something in those of a tuple only."""
    inside = node.slice
    is_tuple = _dotted(node.value).lower().endswith("tuple")
    if isinstance(inside, ast.Tuple) and (inside.elts or is_tuple):
        return list(inside.elts)
    return [inside]


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
            if not (full := _dotted(node.value)):
                raise CompileError("Subscripted type must be a type identifier", span)
            members = _members(node)
            name = _check_constructor(full, len(members), span)
            return CONSTRUCTORS[name]([inside(m) for m in members])
        case ast.Name() | ast.Attribute():
            found = lookup(node)
            if found is not NOT_FOUND:
                return _named_type(found, node, classes, span)
            name = _dotted(node).removeprefix("torch.")
            if name in NAMES:
                return NAMES[name]
            raise CompileError(f"Unknown type name '{_dotted(node)}'", span)
    if isinstance(node, ast.Constant):
        raise _no_type(node.value, span)
    if (kind := _NO_TYPES.get(type(_spelled(node)))) is not None:
        raise CompileError(f"Expression of type {kind} cannot be used in a type expression", span)
    raise CompileError(f"Unknown type name '{ast.unparse(node)}'", span)


def _named_type(found: object, node: ast.expr, classes: ClassTable, span: Span | None) -> Attribute:
    """The type that a dotted name means."""
    try:
        return type_of_object(found, classes, span)
    except (ModuleTypeError, SourceUnavailable) as error:
        if isinstance(error, SourceUnavailable) and _has_code(found):
            raise
        raise CompileError(f"Unknown type name '{_dotted(node)}'", span) from None


def _has_code(cls: object) -> bool:
    """Whether the methods of a class were compiled by Python, whose text can be wanted then."""
    methods = [getattr(cls, name) for name in vars(cls) if isroutine(getattr(cls, name, None))]
    return all(hasattr(method, "__code__") for method in methods)


_NO_TYPES: dict[type[ast.AST], str] = {
    ast.Call: "apply", ast.List: "list-literal", ast.Tuple: "tuple-literal",
    ast.Dict: "dict-literal", ast.IfExp: "if", ast.And: "and", ast.Or: "or", ast.Not: "not",
    ast.USub: "unary minus", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.Mod: "%", ast.MatMult: "@", ast.FloorDiv: "//", ast.Pow: "**", ast.BitAnd: "&",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
"""Kinds of expressions, and of what operators have, by their names in errors."""


def _spelled(node: ast.expr) -> ast.AST:
    """What tells the kind of an expression: the operator of an operation."""
    return node.op if isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp) else node


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
        if root in _TORCH_ROOTS and found.__name__ in ("Await", "_Await"):
            return AwaitType(ANY)
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
    if origin in (python.Union, types.UnionType):
        return typing.make_union([type_of_object(a, classes, span) for a in args])
    given = [a for a in args if a != ()]
    made = CONSTRUCTORS[_check_constructor(name, len(given), span)]
    return made([type_of_object(a, classes, span) for a in given])
