"""Operators on constants of immutable type, computed while compiling.

TorchScript folds only values that nobody can change: numbers, strings, tuples of them. What
raises is left to run time. A generator that the program makes is one for all calls. A result that
TorchScript's 64-bit integers cannot hold wraps around.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import BY_CODE, DType
from tensorscript.base.errors import OperatorError
from tensorscript.base.text import complex_text, float_of, float_text, integer_of
from tensorscript.dialects.ts.constants import Device, EnumRef, GeneratorLiteral
from tensorscript.dialects.ts.types import ANY, TensorType
from tensorscript.dialects.ts.typing import is_subtype
from tensorscript.eager.device import device
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.kernels.scalar import range_length
from tensorscript.eager.random import Generator

from . import draft
from .draft import Node
from .signature import constant_type


def _wrap(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value + 2**63) % 2**64 - 2**63
    return value


def _truediv(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)
    return a / b


def _pow(a: float, b: float) -> float:
    return float(math.pow(a, b))


def text_of(value: object) -> str:
    """A constant as `str` and `print` show it in script."""
    match value:
        case bool() | None:
            return str(value)
        case float():
            return float_text(value)
        case complex():
            return complex_text(value)
        case tuple():
            end = ",)" if len(value) == 1 else ")"
            return "(" + ", ".join(map(text_of, value)) + end
    return str(value)


def _int(value: float | str) -> int:
    return integer_of(value) if isinstance(value, str) else int(value)


def _float(value: float | str) -> float:
    return float_of(value) if isinstance(value, str) else float(value)


def is_same(a: object, b: object) -> bool:
    """`is` of two constants: numbers are compared by value, and others are two objects."""
    return (
        a is b
        if isinstance(a, bool | type(None))
        else (isinstance(a, int | float) and type(a) is type(b) and a == b)
    )


_Function = Callable[..., object]

_TABLE: dict[str, _Function] = {
    "aten::add": operator.add,
    "aten::sub": operator.sub,
    "aten::mul": operator.mul,
    "aten::div": _truediv,
    "aten::remainder": operator.mod,
    "aten::pow": _pow,
    "aten::neg": operator.neg,
    "aten::eq": operator.eq,
    "aten::ne": operator.ne,
    "aten::lt": operator.lt,
    "aten::le": operator.le,
    "aten::gt": operator.gt,
    "aten::ge": operator.ge,
    "aten::__and__": operator.and_,
    "aten::__or__": operator.or_,
    "aten::__xor__": operator.xor,
    "aten::__lshift__": operator.lshift,
    "aten::__rshift__": operator.rshift,
    "aten::__not__": operator.not_,
    "aten::__is__": is_same,
    "aten::__isnot__": lambda a, b: not is_same(a, b),
    "aten::__range_length": range_length,
    "aten::__derive_index": lambda index, start, step: start + index * step,
    "aten::len": lambda s: len(s.encode()),
    "aten::str": text_of,
    "aten::Int": _int,
    "aten::Float": _float,
    "aten::Bool": bool,
    "prim::min": min,
    "prim::max": max,
    "prim::abs": abs,
    "aten::sqrt": math.sqrt,
    "aten::exp": math.exp,
    "aten::log": math.log,
    "prim::EnumName": lambda e: e.member,
    "aten::device": lambda s: Device(str(device(s))),
}

_IDENTITY = frozenset({"aten::__is__", "aten::__isnot__"})
_NEVER = frozenset({"prim::id", "aten::warn", "aten::manual_seed"})
"""Operators whose result another process, or another day, does not share."""

_IMMUTABLE = (int, float, bool, str, complex, tuple, type(None), Device, EnumRef)


def _kernel(node: Node) -> _Function | None:
    """The eager kernel of an operator on numbers and strings."""
    found = node.schema
    if found is None or not node.inputs or found.is_mutable or node.kind in _NEVER:
        return None
    if found.is_vararg:
        return None  # TorchScript does not fold `format` either.
    if any(isinstance(v.type, TensorType) for v in (*node.inputs, *node.outputs)):
        return None
    kinds = [argument.type.without_optional().kind for argument in found.arguments]
    return lambda *values: _coded(call_overload(found.full_name, tuple(map(_eager, values, kinds))))


def _eager(value: object, kind: str) -> object:
    """A constant as eager kernels take it."""
    if kind == "ScalarType" and isinstance(value, int):
        return BY_CODE[value]
    return device(value.text) if isinstance(value, Device) else value


def _coded(result: object) -> object:
    """A result of an eager kernel as graphs hold it."""
    return result.code if isinstance(result, DType) else result


def fold(node: Node) -> tuple[object] | None:
    """The result of a node with constant inputs, in a tuple; None if it cannot be computed."""
    if not all(map(draft.is_constant, node.inputs)) or len(node.outputs) != 1:
        return None
    values = [draft.constant_of(v) for v in node.inputs]
    if not all(isinstance(v, _IMMUTABLE) for v in values):
        return None
    if node.kind == "prim::TupleConstruct":
        return (tuple(values),)
    if node.kind == "prim::TupleIndex":
        sequence, index = values
        assert isinstance(sequence, tuple) and isinstance(index, int)
        return (sequence[index],) if -len(sequence) <= index < len(sequence) else None
    if node.kind == "prim::isinstance":
        found, classes = constant_type(values[0], ANY), node.attributes["classes"]
        assert isinstance(classes, Sequence)
        return (any(is_subtype(found, wanted) for wanted in classes),)
    if node.kind == "prim::unchecked_cast":
        return (values[0],) if node.output.type != ANY else None
    if node.kind in _IDENTITY and isinstance(values[0], EnumRef):
        # Equal constants of other types are one value here, and two objects there.
        return ((node.inputs[0] is node.inputs[1]) == (node.kind == "aten::__is__"),)
    function = _TABLE.get(node.kind) or _kernel(node)
    if function is None:
        return None
    try:
        out = _wrap(function(*values))
    except (ArithmeticError, LookupError, ValueError, TypeError, OperatorError):
        return None
    if isinstance(out, Generator):
        out = GeneratorLiteral(out.initial_seed(), out)
    if not isinstance(out, (*_IMMUTABLE, GeneratorLiteral)):
        return None
    wanted = node.output.type
    return (out,) if is_subtype(constant_type(out, wanted), wanted) else None
