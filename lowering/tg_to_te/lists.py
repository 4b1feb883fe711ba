"""tg.list to host code: calls of the run-time support, and who releases what.

A list that an action makes or fetches belongs to the block the action stands in, which releases it
at its end; who stores a list in another one, or carries it out of the block, takes a reference.

```
%h = tg.list "get" %rows, %i      te.invoke h: i64 = @list_get_i64(rows, i)
                             -->  te.invoke @list_retain(h)     .. and @list_release(h) at the end
tg.list "push" %h, %v             te.invoke @list_push_f64(h, v)
```
A list that is fetched only to be read or changed at once is borrowed: it is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from xdsl.ir import Attribute, Operation, SSAValue

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, mul, var
from tensorscript.dialects.te.lists import BindOp, InvokeOp, layout
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.tg.lists import ListOp
from tensorscript.dialects.tg.types import ListType, TensorType

from .liveness import Order


class Host(Protocol):
    """What the lowering of a function offers.

    Attributes:
        owned: handles that the block being lowered releases at its end.
        handles: buffers whose elements are those of a list, with its handle; they are written once.
        writable: buffers whose contents may be replaced once nothing reads them.
    """

    scalars: dict[SSAValue, Expr]
    buffers: dict[SSAValue, Buffer]
    owned: list[list[str]]
    handles: dict[str, Expr]
    writable: set[str]
    order: Order

    def fresh(self, stem: str) -> str: ...

    def place(self, value: SSAValue) -> Buffer: ...

    def copy(self, source: Buffer, target: Buffer) -> list[Operation]: ...


def retain(handle: Expr) -> Operation:
    return InvokeOp("list_retain", [handle])


def release(handle: Expr) -> Operation:
    return InvokeOp("list_release", [handle])


_KINDS = {int64: "i64", float64: "f64", bool_: "b1"}


def _list_type(value: SSAValue) -> ListType:
    assert isinstance(value.type, ListType)
    return value.type


def _of_lists(value: SSAValue) -> bool:
    """Whether the elements of a list are lists."""
    return _list_type(value).depth > 1


def _kind(value: SSAValue) -> str:
    """How the run-time support calls the elements of a list."""
    return "i64" if _of_lists(value) else _KINDS[_list_type(value).dtype]


class _Action:
    """One tg.list under lowering: its operands as expressions, and its statements."""

    def __init__(self, host: Host, op: ListOp) -> None:
        self.host, self.op = host, op
        self.made: list[Operation] = []

    @property
    def items(self) -> SSAValue:
        return self.op.arguments[0]

    @property
    def operands(self) -> list[Expr]:
        return [self.host.scalars[v] for v in self.op.arguments]

    @property
    def type(self) -> Attribute:
        return self.op.outputs[0].type

    def do(self, function: str, *arguments: Expr) -> None:
        self.made.append(InvokeOp(function, arguments))

    def ask(self, function: str, *arguments: Expr, dtype: DType = int64) -> Expr:
        """The result of a function, under a fresh name."""
        name = self.host.fresh("c0")
        self.made.append(InvokeOp(function, arguments, name))
        return var(name, dtype)

    def result(self, value: Expr, owned: bool = False) -> None:
        self.host.scalars[self.op.outputs[0]] = value
        if owned:
            self.host.owned[-1].append(str(value.value))

    def new(self, type_: ListType, count: Expr) -> Expr:
        return self.ask("list_new", const(layout(type_.dtype, type_.depth)), count)

    def bind(self, handle: Expr, dtype: DType, shape: tuple[Expr, ...]) -> Buffer:
        buffer = Buffer(self.host.fresh("b0"), dtype, shape)
        self.made.append(BindOp(buffer, handle))
        return buffer


def _get(a: _Action) -> None:
    dtype = int64 if _of_lists(a.items) else _list_type(a.items).dtype
    found = a.ask(f"list_get_{_kind(a.items)}", *a.operands, dtype=dtype)
    counted = _of_lists(a.items) and not a.host.order.is_borrowed(a.op)
    if counted:
        a.made.append(retain(found))
    a.result(found, counted)


def _set(a: _Action) -> None:
    items, at, value = a.operands
    kind = _kind(a.items)
    if not _of_lists(a.items):
        a.do(f"list_set_{kind}", items, at, value)
        return
    a.made.append(retain(value))
    old = a.ask(f"list_get_{kind}", items, at)
    a.do(f"list_set_{kind}", items, at, value)
    a.made.append(release(old))


def _push(a: _Action) -> None:
    items, value = a.operands
    if _of_lists(a.items):
        a.made.append(retain(value))
    a.do(f"list_push_{_kind(a.items)}", items, value)


def _insert(a: _Action) -> None:
    items, at, value = a.operands
    if _of_lists(a.items):
        a.made.append(retain(value))
    a.do("list_open", items, at)
    a.do(f"list_set_{_kind(a.items)}", items, at, value)


def _new(a: _Action) -> None:
    assert isinstance(a.type, ListType)
    a.result(a.new(a.type, const(0)), True)


def _fill(a: _Action) -> None:
    value, count = a.operands
    type_ = _list_type(a.op.outputs[0])
    made = a.new(type_, count)
    a.result(made, True)
    nested = type_.depth > 1
    buffer = a.bind(made, int64 if nested else type_.dtype, (count,))
    index = a.host.fresh("i0")
    step: list[Operation] = [StoreOp(buffer.name, [var(index)], value)]
    if nested:
        step.append(retain(value))
    a.made.append(ForOp(index, count, step))


def _count(shape: tuple[Expr, ...]) -> Expr:
    total = const(1)
    for size in shape:
        total = mul(total, size)
    return total


def _from(a: _Action) -> None:
    """A list with the elements of a tensor."""
    source = a.host.buffers[a.op.arguments[0]]
    made = a.new(_list_type(a.op.outputs[0]), _count(source.shape))
    a.result(made, True)
    a.made += a.host.copy(source, a.bind(made, source.dtype, source.shape))


def _box(a: _Action) -> None:
    """A tensor that is stored in a list already is its own box."""
    source = a.host.buffers[a.op.arguments[0]]
    if (handle := a.host.handles.get(source.name)) is None:
        _from(a)
        return
    a.host.writable.discard(source.name)
    a.result(handle)


def _read(a: _Action) -> None:
    out = a.op.outputs[0]
    target = a.host.place(out)
    source = a.bind(a.operands[0], target.dtype, target.shape)
    a.made += a.host.copy(source, target)


def _unbox(a: _Action) -> None:
    out = a.op.outputs[0]
    assert isinstance(out.type, TensorType)
    buffer = a.bind(a.operands[0], out.type.dtype, out.type.shape)
    a.host.buffers[out] = buffer
    a.host.handles[buffer.name] = a.operands[0]


def _plain(function: str) -> Callable[[_Action], None]:
    """An action without result that is one function of the run-time support."""
    return lambda a: a.do(function, *a.operands)


def _asked(function: str, dtype: DType = int64) -> Callable[[_Action], None]:
    return lambda a: a.result(a.ask(function, *a.operands, dtype=dtype))


def _asked_by_kind(function: str) -> Callable[[_Action], None]:
    return lambda a: a.result(a.ask(f"{function}_{_kind(a.items)}", *a.operands))


def _made(function: str) -> Callable[[_Action], None]:
    return lambda a: a.result(a.ask(function, *a.operands), True)


_ROWS: dict[str, Callable[[_Action], None]] = {
    "new": _new,
    "fill": _fill,
    "from": _from,
    "box": _box,
    "read": _read,
    "unbox": _unbox,
    "length": _asked("list_length"),
    "get": _get,
    "set": _set,
    "push": _push,
    "insert": _insert,
    "remove": _plain("list_remove"),
    "clear": _plain("list_clear"),
    "reverse": _plain("list_reverse"),
    "slice": _made("list_slice"),
    "extend": _plain("list_extend"),
    "sort": _plain("list_sort"),
    "find": _asked_by_kind("list_find"),
    "count": _asked_by_kind("list_count"),
    "equal": _asked("list_equal", bool_),
    "join": _made("list_join"),
    "lengths": _made("list_lengths"),
    "split": _made("list_split"),
    "search": _asked("list_search"),
    "less": _asked("list_less", bool_),
    "digits": _plain("list_digits"),
    "write": _plain("list_write"),
    "parses": _asked("list_parses", bool_),
    "parse": _asked("list_parse", float64),
}


def lower_list(host: Host, op: ListOp) -> list[Operation]:
    """The statements of one action."""
    action = _Action(host, op)
    _ROWS[op.action](action)
    return action.made


def list_argument(host: Host, value: SSAValue, buffer: Buffer) -> list[Operation]:
    """A list with the elements of a `list` parameter: the program may change its own copy."""
    type_ = _list_type(value)
    name = host.fresh("c0")
    host.scalars[value] = var(name)
    host.owned[-1].append(name)
    own = Buffer(host.fresh("b0"), buffer.dtype, buffer.shape)
    return [
        InvokeOp("list_new", [const(layout(type_.dtype)), buffer.shape[0]], name),
        BindOp(own, var(name)),
        *host.copy(buffer, own),
    ]


def list_result(host: Host, value: SSAValue) -> tuple[list[Operation], Buffer]:
    """The elements of a list as a buffer."""
    length, handle = host.fresh("c0"), host.scalars[value]
    buffer = Buffer(host.fresh("b0"), _list_type(value).dtype, (var(length),))
    return [InvokeOp("list_length", [handle], length), BindOp(buffer, handle)], buffer
