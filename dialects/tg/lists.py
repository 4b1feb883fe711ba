"""Run-time lists of `tg`: references to lists that grow, and the actions on them.

A value of type `!tg.list<"i64">` refers to a list of numbers, `!tg.list<"i64[]">` to a list of such
lists. Two values may refer to one list, so actions are ordered with other effects as they stand in
the block. An index is in bounds (the program asserts it before); counts are not negative.

| action | operands | result |
|---|---|---|
| new | | an empty list |
| fill | element, count | a list with an element `count` times |
| from | tensor | the elements of a tensor, row-major |
| box | tensor | a list that holds a tensor, which is never changed |
| read | list | a tensor with the elements of the list now, its shape given by the type |
| unbox | list | the tensor of a box |
| length, get, set, push, insert, remove, clear, reverse | list, index, element | as in Python |
| slice | list, start, step, count | a new list |
| extend | list, list | |
| sort | list, descending | |
| find, count | list, element | the first place (-1 if there is none); how many |
| equal | list, list | b1 |
| join, lengths | list of lists | the elements of all, one after the other; how many each has |
| split | list, lengths | the list of lists that `join` and `lengths` take apart |

On strings, lists of their bytes:

| action | operands | result |
|---|---|---|
| search | text, text, start, step | the first of these places at which the other stands, or -1 |
| less | text, text | b1 |
| digits | text, f64, form | appends a float as TorchScript shows it (0) or as C does (its letter) |
| write | text, i64 | writes it to this file descriptor |
| parses, parse | text | whether it is a float; that float |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import bool_, float64, int64

from .bases import FormattedOp
from .types import ListType, ScalarType, TensorType


class Action(NamedTuple):
    """Kinds of an action's operands and of its result ("" for none).

    A kind is "list", "element" (of that list), "i64", "f64", "b1", "tensor", "numbers" (a list of
    i64), or "nested" (a list of lists, whose elements "list" then is).
    """

    operands: tuple[str, ...]
    result: str
    writes: bool = False


ACTIONS: dict[str, Action] = {
    "new": Action((), "list"),
    "fill": Action(("element", "i64"), "list"),
    "from": Action(("tensor",), "list"),
    "box": Action(("tensor",), "list"),
    "read": Action(("list",), "tensor"),
    "unbox": Action(("list",), "tensor"),
    "length": Action(("list",), "i64"),
    "get": Action(("list", "i64"), "element"),
    "set": Action(("list", "i64", "element"), "", True),
    "push": Action(("list", "element"), "", True),
    "insert": Action(("list", "i64", "element"), "", True),
    "remove": Action(("list", "i64"), "", True),
    "clear": Action(("list",), "", True),
    "reverse": Action(("list",), "", True),
    "slice": Action(("list", "i64", "i64", "i64"), "list"),
    "extend": Action(("list", "list"), "", True),
    "sort": Action(("list", "b1"), "", True),
    "find": Action(("list", "element"), "i64"),
    "count": Action(("list", "element"), "i64"),
    "equal": Action(("list", "list"), "b1"),
    "join": Action(("nested",), "list"),
    "lengths": Action(("nested",), "numbers"),
    "split": Action(("list", "numbers"), "nested"),
    "search": Action(("numbers", "numbers", "i64", "i64"), "i64"),
    "less": Action(("numbers", "numbers"), "b1"),
    "digits": Action(("numbers", "f64", "i64"), "", True),
    "write": Action(("numbers", "i64"), "", True),
    "parses": Action(("numbers",), "b1"),
    "parse": Action(("numbers",), "f64"),
}


def element_of(type_: ListType) -> Attribute:
    """The type of an element."""
    if type_.depth > 1:
        return ListType.of(type_.dtype, type_.depth - 1)
    return ScalarType(type_.dtype)


def list_of(element: Attribute) -> ListType:
    """The type of a list of such elements.

    Raises:
        TypeError: neither a scalar nor a list.
    """
    if isinstance(element, ScalarType):
        return ListType.of(element.dtype)
    if isinstance(element, ListType):
        return ListType.of(element.dtype, element.depth + 1)
    raise TypeError(f"no list of {element}")


@irdl_op_definition
class ListOp(FormattedOp):
    """One action of `ACTIONS`."""

    name = "tg.list"
    action_attr = prop_def(StringAttr, prop_name="action")
    arguments = var_operand_def()
    outputs = var_result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    FORMAT: ClassVar[str] = "$action $arguments attr-dict `:` functional-type($arguments, $outputs)"

    def __init__(
        self, action: str, arguments: Sequence[SSAValue], result: Attribute | None = None
    ) -> None:
        super().__init__(
            operands=[arguments],
            properties={"action": StringAttr(action)},
            result_types=[[] if result is None else [result]],
        )

    @property
    def action(self) -> str:
        return self.action_attr.data

    @property
    def writes(self) -> bool:
        """Whether it changes a list."""
        return ACTIONS[self.action].writes

    def verify_(self) -> None:
        if (action := ACTIONS.get(self.action)) is None:
            raise VerifyException(f"unknown action {self.action!r} on a list")
        if len(action.operands) != len(self.arguments):
            raise VerifyException(f"tg.list {self.action!r} takes {len(action.operands)} operands")
        if len(self.outputs) != (action.result != ""):
            raise VerifyException(f"tg.list {self.action!r}: wrong number of results")
        kinds = [*action.operands, *([action.result] if action.result else [])]
        types = [v.type for v in (*self.arguments, *self.outputs)]
        self._check(kinds, types)

    def _check(self, kinds: Sequence[str], types: Sequence[Attribute]) -> None:
        bound: dict[str, Attribute] = {
            "i64": ScalarType(int64), "f64": ScalarType(float64), "b1": ScalarType(bool_),
            "numbers": ListType.of(int64),
        }  # fmt: skip
        for kind, type_ in zip(kinds, types, strict=True):
            wanted = {"tensor": TensorType, "list": ListType, "nested": ListType}.get(kind)
            if wanted is not None and not isinstance(type_, wanted):
                raise VerifyException(f"tg.list {self.action!r}: {type_} is not a {kind}")
            if kind == "list" and isinstance(type_, ListType):
                self._agree(bound, "element", element_of(type_))
            if kind == "nested" and isinstance(type_, ListType):
                self._agree(bound, "list", element_of(type_))
            self._agree(bound, kind, type_)
        held = [t for k, t in bound.items() if k in ("list", "tensor")]
        if len(held) == 2 and len({t.dtype for t in held}) != 1:  # type: ignore[attr-defined]
            raise VerifyException(f"tg.list {self.action!r}: the dtypes differ")

    def _agree(self, bound: dict[str, Attribute], kind: str, type_: Attribute) -> None:
        if bound.setdefault(kind, type_) != type_:
            raise VerifyException(f"tg.list {self.action!r}: {type_} where {bound[kind]} is wanted")


@irdl_op_definition
class SizeOp(FormattedOp):
    """Gives a number the name that stands for it in the shapes of tensors made after it, in this
    block and those inside it. A size is not negative (the program asserts it before)."""

    name = "tg.size"
    value = operand_def(ScalarType)
    symbol_attr = prop_def(StringAttr, prop_name="symbol")
    FORMAT: ClassVar[str] = "$symbol $value attr-dict `:` type($value)"
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, symbol: str, value: SSAValue) -> None:
        super().__init__(operands=[value], properties={"symbol": StringAttr(symbol)})

    @property
    def symbol(self) -> str:
        return self.symbol_attr.data


LIST_OPS = (ListOp, SizeOp)
