"""Attributes and methods of values by type: `x.shape`, `x.dtype`, `point.x`, `e.name`, `x.add`."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Attribute

from tensorscript.base.schema import has_operator, overloads
from tensorscript.base.source import Span, in_library
from tensorscript.dialects.ts import type_variables, typing
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    DEVICE,
    STRING,
    TENSOR,
    ClassType,
    EnumType,
    InterfaceType,
    OptionalType,
    TensorType,
    TupleType,
)

from .callables import Builtin
from .draft import Value
from .emission import Emission
from .signature import signature_of
from .values import Args, Kwargs, Simple, Sugared

TENSOR_PROPERTIES = {
    "dtype": "prim::dtype", "device": "prim::device", "layout": "prim::layout",
    "grad": "prim::grad", "data": "prim::data", "requires_grad": "prim::requires_grad",
    "is_cuda": "prim::is_cuda", "is_cpu": "prim::is_cpu", "is_xla": "prim::is_xla",
    "is_xpu": "prim::is_xpu", "is_sparse": "prim::is_sparse", "is_mkldnn": "prim::is_mkldnn",
    "is_quantized": "prim::is_quantized", "is_meta": "prim::is_meta", "is_leaf": "aten::is_leaf",
    "is_sparse_csr": "prim::is_sparse_csr", "is_mps": "prim::is_mps",
    "is_vulkan": "prim::is_vulkan", "is_nested": "prim::is_nested", "is_ipu": "prim::is_ipu",
    "is_maia": "prim::is_maia", "is_mtia": "prim::is_mtia",
    "name": "prim::name", "itemsize": "prim::itemsize",
    "nbytes": "prim::nbytes", "shape": "aten::size", "ndim": "aten::dim", "T": "aten::numpy_T",
    "H": "aten::matrix_H", "mT": "aten::mT", "mH": "aten::mH", "real": "aten::real",
    "imag": "aten::imag", "retains_grad": "aten::retains_grad",
}  # fmt: skip

_LIBRARY_LINES = {"ndim": 3, "T": 5, "H": 7, "shape": 13}
"""In which lines of PyTorch's library in its own language these are defined."""

CONVERSIONS = {
    "byte": 0, "char": 1, "short": 2, "int": 3, "long": 4, "half": 5, "float": 6, "double": 7,
    "cfloat": 9, "cdouble": 10, "bool": 11, "bfloat16": 15,
}  # fmt: skip
"""`x.float()` and its like become `aten::to` with this dtype code; the last two are extensions."""

ABSENT = frozenset({"new", "new_tensor", "numpy", "unique", "nelement", "map_"})
"""Tensor attributes that eager mode has and the language does not."""


class ToDtype(Sugared):
    """`x.float`: a conversion waiting for its call."""

    kind = "Cast"

    def __init__(self, value: Value, code: int) -> None:
        self.value = value
        self.code = code

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if args or kwargs:
            raise em.error("Expected at most 1 arguments but found more", span)
        return Simple(em.builtin("aten::to", [self.value, em.constant(self.code, span)], span))


class TensorItem(Sugared):
    """`x.__getitem__`: the index is a tensor or None."""

    kind = "method"

    def __init__(self, value: Value) -> None:
        self.value = value

    def call(self, em: Emission, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:
        if len(args) != 1:
            raise em.error(f"__getitem__ expected exactly 1 arguments, got {len(args)}", span)
        if not typing.is_compatible(args[0].type, _INDEX):
            raise em.error(
                f"Expected a list element that subtypes '{message_text(_INDEX)}' but got an "
                f"element of type '{message_text(args[0].type)}'",
                span,
            )
        indices = em.make_list(_INDEX, args, span)
        return Simple(em.builtin("aten::index", [self.value, indices], span))


_INDEX = OptionalType(TENSOR)


def _tensor_attr(em: Emission, value: Value, name: str, span: Span | None) -> Sugared | None:
    if (operator := TENSOR_PROPERTIES.get(name)) and has_operator(operator):
        return Simple(em.builtin(operator, [value], in_library(span, _LIBRARY_LINES.get(name))))
    if name == "__getitem__":
        return TensorItem(value)
    if name == "tolist":
        return Builtin("aten::tolist", value)
    if name == "type":
        # Called with nothing it converts to nothing: the text of a type is no value of scripts.
        return Builtin("aten::to", value)
    if name in CONVERSIONS:
        return ToDtype(value, CONVERSIONS[name])
    return None


def tuple_field(
    em: Emission, value: Value, at: int, span: Span | None, index: Value | None = None
) -> Value:
    """Element `at` of a tuple; `index` is that number in the program."""
    assert isinstance(value.type, TupleType)
    inputs = [value, index or em.integer(at)]
    types = [list(value.type.elements)[at]]
    return em.insert("prim::TupleIndex", inputs, types, span).output


def plain_attr(em: Emission, value: Value, name: str, span: Span | None) -> Sugared | None:
    """The attribute of a value that is not an object; None if there is none."""
    match value.type:
        case TensorType():
            if found := _tensor_attr(em, value, name, span):
                return found
            if name in ABSENT:
                return None
        case TupleType() if name in value.type.field_names:
            return Simple(tuple_field(em, value, value.type.field_names.index(name), span))
        case EnumType() if name in ("name", "value"):
            kind = "prim::EnumName" if name == "name" else "prim::EnumValue"
            type = STRING if name == "name" else value.type.value_type
            return Simple(em.insert(kind, [value], [type], span).output)
        case ClassType() | InterfaceType():
            return None
        case _ if value.type == DEVICE and name in ("type", "index"):
            return Simple(em.builtin(f"prim::{name}", [value], span))
    if _is_method(f"aten::{name}", value.type):
        return Builtin(f"aten::{name}", value)
    return None


@cache
def _is_method(operator: str, type: Attribute) -> bool:
    """Whether an overload of an operator takes a value of `type` as its `self`."""
    for found in overloads(operator):
        formal = next((a.type for a in signature_of(found).arguments if a.name == "self"), None)
        if formal is None:
            continue
        try:
            wanted = type_variables.match_variables(formal, type, {})
        except type_variables.VarMismatch:
            continue
        if typing.is_compatible(type, wanted):
            return True
    return False


def no_attribute(value: Value, name: str) -> str:
    """The message for an attribute that is not there."""
    text = f"'{message_text(value.type)}' object has no attribute or method '{name}'."
    if isinstance(value.type, ClassType):
        text += " Did you forget to initialize an attribute in __init__()?"
    return text
