"""Run-time lists in host code: calls of the run-time support, lists as buffers, grown results.

A list is known by a *handle*, an i64 scalar that is 0 or refers to an object with a reference
count, a length and a block of elements (numbers, or handles of other lists). Handles live in te.let
and te.var like other scalars. Host code retains and releases; what an error leaves behind is freed
when the function ends.

```
te.invoke h: i64 = @list_new(8, 0)        a function of RUNTIME; those that make a list may fail
te.invoke @list_push_i64(h, n + 1)
te.bind b: f64[n] = h                     `b` is the data of list h, until something changes h
te.give out0 = b                          hands a copy of buffer `b` to the caller
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import DType, bool_, float64, int64

from .buffers import Buffer, BufferAttr, ExprAttr, ExprsAttr, parse_parameter, split_commas
from .expr import Expr
from .expr_parse import parse
from .expr_text import text
from .syntax import HeadOp, match_head


class Function(NamedTuple):
    """A function of the run-time support: kinds of its parameters and of its result.

    h: a handle; i: i64; d: f64; b: bool; e: an element, whose dtype ends the function's name.
    `fails`: it may lack memory, which ends the caller with an error status.
    """

    parameters: str
    result: str = ""
    fails: bool = False


ELEMENTS = {"i64": int64, "f64": float64, "b1": bool_}
"""Dtypes of the numbers that lists hold, by the ending of the functions' names."""

_PER_ELEMENT = {
    "list_get": Function("hi", "e"),
    "list_set": Function("hie"),
    "list_push": Function("he", "", True),
    "list_find": Function("he", "i"),
    "list_count": Function("he", "i"),
}
_OF_ANY = {
    "list_new": Function("ii", "h", True),  # layout, length
    "list_length": Function("h", "i"),
    "list_retain": Function("h"),
    "list_release": Function("h"),
    "list_open": Function("hi", "", True),  # room for an element at an index
    "list_remove": Function("hi"),
    "list_clear": Function("h"),
    "list_grow": Function("hi", "", True),  # by so many elements, which the caller writes
    "list_slice": Function("hiii", "h", True),  # start, step, count
    "list_extend": Function("hh", "", True),
    "list_reverse": Function("h"),
    "list_sort": Function("hb"),
    "list_equal": Function("hh", "b"),
    "list_join": Function("h", "h", True),
    "list_lengths": Function("h", "h", True),
    "list_split": Function("hh", "h", True),
    "list_search": Function("hhii", "i"),  # another list, first place, step
    "list_less": Function("hh", "b"),
    "list_digits": Function("hdi", "", True),  # 0 or the code of a letter of `printf`
    "list_write": Function("hi"),  # file descriptor
    "list_parses": Function("h", "b"),
    "list_parse": Function("h", "d"),
}
RUNTIME: dict[str, Function] = _OF_ANY | {
    f"{name}_{kind}": function for name, function in _PER_ELEMENT.items() for kind in ELEMENTS
}

NESTED = 1 << 8
"""What each level of nesting adds to a layout."""
_LEAF = {"f64": 1 << 16, "f32": 1 << 16, "f16": 1 << 16, "bf16": 1 << 16}


def layout(dtype: DType, depth: int = 1) -> int:
    """The number that tells the run-time support what a list holds: bytes of an element, how often
    lists stand inside it (from the second byte), and whether the numbers are floats."""
    size = dtype.itemsize if depth == 1 else 8
    leaf = dtype.itemsize << 24
    return size | (depth - 1) * NESTED | leaf | _LEAF.get(dtype.short, 0)


def kinds_of(function: str) -> tuple[tuple[DType, ...], DType | None]:
    """Dtypes of parameters and result of a function of `RUNTIME`."""
    found = RUNTIME[function]
    element = ELEMENTS.get(function.rpartition("_")[2], int64)
    dtypes = {"h": int64, "i": int64, "d": float64, "b": bool_, "e": element}
    result = dtypes[found.result] if found.result else None
    return tuple(dtypes[c] for c in found.parameters), result


@irdl_op_definition
class InvokeOp(HeadOp):
    """Calls a function of `RUNTIME`; its result, if it has one, is bound to `var` as by te.let."""

    name = "te.invoke"
    var_name = prop_def(StringAttr)
    function_attr = prop_def(StringAttr)
    arguments_attr = prop_def(ExprsAttr)

    def __init__(self, function: str, arguments: Sequence[Expr], var: str = "") -> None:
        super().__init__(
            properties={
                "var_name": StringAttr(var),
                "function_attr": StringAttr(function),
                "arguments_attr": ExprsAttr(tuple(arguments)),
            }
        )

    @property
    def var(self) -> str:
        return self.var_name.data

    @property
    def function(self) -> str:
        return self.function_attr.data

    @property
    def arguments(self) -> tuple[Expr, ...]:
        return self.arguments_attr.data

    def verify_(self) -> None:
        if self.function not in RUNTIME:
            raise VerifyException(f"the run-time support has no function {self.function}")
        wanted, result = kinds_of(self.function)
        if tuple(a.dtype for a in self.arguments) != wanted:
            raise VerifyException(f"te.invoke: arguments of @{self.function} are {wanted}")
        if (self.var == "") != (result is None):
            raise VerifyException(f"te.invoke: result of @{self.function} is {result}")

    def head(self) -> str:
        call = f"@{self.function}({', '.join(map(text, self.arguments))})"
        if not self.var:
            return call
        result = kinds_of(self.function)[1]
        return f"{self.var}: {result.short if result else '?'} = {call}"

    @classmethod
    def from_head(cls, head: str) -> InvokeOp:
        found = match_head(r"(?:(\S+): \w+ = )?@(\w+)\((.*)\)", head)
        arguments = [parse(p) for p in split_commas(found[3])]
        return cls(found[2], arguments, found[1] or "")


@irdl_op_definition
class BindOp(HeadOp):
    """The elements of a list as a buffer; visible to the end of the enclosing block."""

    name = "te.bind"
    buffer_attr = prop_def(BufferAttr)
    value_attr = prop_def(ExprAttr)

    def __init__(self, buffer: Buffer, handle: Expr) -> None:
        super().__init__(
            properties={"buffer_attr": BufferAttr(buffer), "value_attr": ExprAttr(handle)}
        )

    @property
    def buffer(self) -> Buffer:
        return self.buffer_attr.data

    @property
    def handle(self) -> Expr:
        return self.value_attr.data

    def head(self) -> str:
        return f"{self.buffer} = {text(self.handle)}"

    @classmethod
    def from_head(cls, head: str) -> BindOp:
        found = match_head(r"(.*?) = (.*)", head)
        buffer = parse_parameter(found[1])
        if not isinstance(buffer, Buffer):
            raise ValueError("te.bind takes a buffer")
        return cls(buffer, parse(found[2]))


@irdl_op_definition
class GiveOp(HeadOp):
    """Makes a copy of a contiguous buffer the value of a `grown` parameter."""

    name = "te.give"
    target_name = prop_def(StringAttr)
    source_name = prop_def(StringAttr)

    def __init__(self, target: str, source: str) -> None:
        super().__init__(
            properties={"target_name": StringAttr(target), "source_name": StringAttr(source)}
        )

    @property
    def target(self) -> str:
        return self.target_name.data

    @property
    def source(self) -> str:
        return self.source_name.data

    def head(self) -> str:
        return f"{self.target} = {self.source}"

    @classmethod
    def from_head(cls, head: str) -> GiveOp:
        found = match_head(r"(\S+) = (\S+)", head)
        return cls(found[1], found[2])
