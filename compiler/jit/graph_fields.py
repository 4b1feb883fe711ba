"""The attributes of a graph's nodes: `node.i("value")`, `node.i_("value", 3)`, and so on.

| letter | attribute |
|---|---|
| `i`, `f`, `c`, `s`, `t`, `ty`, `g` | int, float, complex, string, tensor, type, graph |
| `is`, `fs`, `cs`, `ss`, `ts`, `tys` | lists of them |
| `ival` | any other constant: a list, a tuple, a dict |

A graph is an attribute of tasks only, of which `prim::fork` has its `Subgraph`; it is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation

from tensorscript.base.errors import GuardError
from tensorscript.compiler.arguments import tensor_of
from tensorscript.compiler.folding import literal_of
from tensorscript.dialects.ts.constants import ValueAttr
from tensorscript.dialects.ts.node_fields import fields_of, kind_of_field
from tensorscript.dialects.ts.ops import TaskOp
from tensorscript.eager.tensor import Tensor

from .graph_state import GraphState
from .graph_types import shown_type


class _HasFields(Protocol):
    state: GraphState

    @property
    def op(self) -> Operation: ...


_SUBGRAPH = "Subgraph"
"""What `prim::fork` calls the graph of its task."""


def _tensor(value: Any) -> ValueAttr:
    made = value if isinstance(value, Tensor) else tensor_of(value)
    return ValueAttr(literal_of(made))


_STORED: dict[str, Callable[[Any], Attribute]] = {
    "i": lambda value: ValueAttr(int(value)),
    "f": lambda value: ValueAttr(float(value)),
    "c": lambda value: ValueAttr(complex(value)),
    "s": lambda value: ValueAttr(str(value)),
    "t": _tensor,
    "ty": lambda value: value.attribute,
    "ival": lambda value: ValueAttr(literal_of(value)),
}


def _get(kind: str) -> Callable[[_HasFields, str], Any]:
    def get(self: _HasFields, name: str) -> Any:
        return field_of(self.state, self.op, kind, name)

    get.__name__ = kind
    get.__doc__ = f"The attribute `name`, of kind `{kind}`; GuardError if there is none such."
    return get


def _set(kind: str) -> Callable[[_HasFields, str, Any], Any]:
    element = _STORED.get(kind[:-1]) if kind.endswith("s") and kind != "s" else None

    def set_(self: _HasFields, name: str, value: Any) -> Any:
        self.state.set_field(self.op, name, stored(value))
        return self

    def stored(value: Any) -> Attribute:
        return _STORED[kind](value) if element is None else ArrayAttr(map(element, value))

    set_.__name__ = f"{kind}_"
    set_.__doc__ = f"Set the attribute `name`, of kind `{kind}`; gives the node."
    return set_


def field_of(state: GraphState, op: Operation, kind: str, name: str) -> Any:
    """The attribute `name` of a node.

    Raises:
        GuardError: there is none, or it is of another kind.
    """
    found = fields_of(op).get(name)
    is_empty = isinstance(found, ArrayAttr) and not found.data and kind.endswith("s")
    if _kind(op, name) != kind and not is_empty:
        raise GuardError(f"required keyword attribute '{name}' has the wrong type")
    if found is not None:
        return _seen(state, found)
    assert isinstance(op, TaskOp)
    return state.graph_of(op.callee.data)


def _names(op: Operation) -> list[str]:
    return [*fields_of(op), *([_SUBGRAPH] if isinstance(op, TaskOp) else [])]


def _kind(op: Operation, name: str) -> str:
    if name not in _names(op):
        raise GuardError(f"required keyword attribute '{name}' is undefined")
    found = fields_of(op).get(name)
    return "g" if found is None else kind_of_field(found)


def _seen(state: GraphState, field: Attribute) -> Any:
    """An attribute as Python sees it."""
    if isinstance(field, ArrayAttr):
        return [_seen(state, each) for each in field.data]
    if isinstance(field, ValueAttr):
        return state.interpreter.constant(field.data)
    return shown_type(field)


_KINDS = ("i", "f", "c", "s", "t", "ty", "ival", "is", "fs", "cs", "ss", "ts", "tys")

_Accessors: Any = type(
    "_Accessors",
    (),
    {kind: _get(kind) for kind in (*_KINDS, "g", "gs")}
    | {f"{kind}_": _set(kind) for kind in _KINDS},
)


class Fields(_Accessors):  # type: ignore[misc]  # made from the table above
    """What a node has for its attributes; the accessors `i`, `i_`, ... are the table's."""

    state: GraphState

    @property
    def op(self) -> Operation:
        raise NotImplementedError

    def attributeNames(self) -> list[str]:
        """The names of its attributes, in the order in which they are printed."""
        return _names(self.op)

    def hasAttribute(self, name: str) -> bool:
        return name in _names(self.op)

    def hasAttributes(self) -> bool:
        return bool(_names(self.op))

    def kindOf(self, name: str) -> str:
        """Which accessor gives the attribute `name`.

        Raises:
            GuardError: there is no such attribute.
        """
        return _kind(self.op, name)

    def removeAttribute(self, name: str) -> Self:
        """Take the attribute `name` away; gives the node.

        Raises:
            GuardError: there is no such attribute.
        """
        self.kindOf(name)
        self.state.set_field(self.op, name, None)
        return self

    def copyAttributes(self, node: Fields) -> Self:
        """Take over the attributes of another node; gives this one."""
        self._take(fields_of(node.op).items())
        return self

    def _take(self, fields: Iterable[tuple[str, Attribute]]) -> None:
        for name, held in list(fields):
            self.state.set_field(self.op, name, held)
