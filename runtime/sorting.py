"""`sort` and `sorted` in the interpreter: script objects are compared by their own `__lt__`."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import OperatorError
from tensorscript.dialects.ts.ops import FuncOp, OperatorOp
from tensorscript.dialects.ts.type_text import ir_text
from tensorscript.dialects.ts.types import (
    BOOL,
    FLOAT,
    INT,
    OPEN_TYPES,
    STRING,
    ClassType,
    ListType,
    TensorType,
    TupleType,
)
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.kernels.container import unsortable

from .codes import decode, encode
from .machine import Machine
from .values import ScriptObject


def sort(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> Any:
    """Sort a list in place, or give a sorted copy of one.

    Raises:
        OperatorError: its elements have no order.
    """
    items = arguments[0]
    listed = op.arguments[0].type
    if isinstance(listed, ListType) and items:
        _check_order(i, listed.element, items)
    if not (isinstance(items, list) and items and _holds_object(items[0])):
        return encode(call_overload(op.schema.data, decode(op.schema.data, arguments)))

    def compare(a: Any, b: Any) -> int:
        """Tuples by their first parts that differ."""
        if isinstance(a, tuple):
            return next((c for c in map(compare, a, b) if c), 0)
        if not isinstance(a, ScriptObject):
            return int(a > b) - int(a < b)
        less = f"{a.class_name}.__lt__"
        return int(i.call(less, [b, a])) - int(i.call(less, [a, b]))

    made = sorted(items, key=cmp_to_key(compare), reverse=bool(arguments[1:] and arguments[1]))
    if op.schema.data.startswith("aten::sorted"):
        return made
    items[:] = made
    return None


def _holds_object(x: Any) -> bool:
    return isinstance(x, ScriptObject) or (isinstance(x, tuple) and any(map(_holds_object, x)))


def _check_order(i: Machine, element: Attribute, items: list[Any]) -> None:
    """Refuse elements of a type that has no order."""
    if isinstance(element, OPEN_TYPES):
        raise unsortable(items)  # whatever the elements are
    if isinstance(element, ClassType):
        _check_object_order(i, element)
    elif isinstance(element, TupleType):
        for part in element.elements:
            if isinstance(part, ClassType | TupleType):
                _check_order(i, part, items)
            elif part not in (INT, BOOL, FLOAT, STRING) and not isinstance(part, TensorType):
                raise OperatorError(
                    f"Contained elements in {ir_text(element)} are not sortable. Only Int, Bool, "
                    "Float, String, Tensor, a User Defined Class with __lt__ method defined or "
                    "Tuples of aforementioned types can be sorted."
                )


def _check_object_order(i: Machine, type_: ClassType) -> None:
    name = type_.class_name.data
    less = i.function(f"{name}.__lt__")
    if less is None or not _is_order(less, type_):
        raise OperatorError(
            f"To sort a list of {name} it must define a __lt__ method with two inputs of type "
            f"{name} that returns a bool"
        )


def _is_order(less: FuncOp, type_: ClassType) -> bool:
    takes = [argument.type for argument in less.block.args]
    return takes == [type_, type_] and [v.type for v in less.return_op.values] == [BOOL]
