"""Rows on run-time lists (`Grown`): what list operators emit. See `grown.py` for what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, binary, const, select, unary
from tensorscript.dialects.tg.lists import list_of
from tensorscript.dialects.tg.types import ListType, ScalarType, tensor

from .branches import branch
from .builder import Builder, Rows
from .dims import dtype_of
from .element_kinds import (
    ListElement,
    NumberElement,
    TextElement,
    columns,
    joined,
    of_list,
    of_value,
    of_values,
)
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import as_grown, leaves_of, must_grow
from .list_access import check, fetch, length, named, position
from .list_actions import perform
from .list_order import has_order, sort_in_order
from .loops import LONG, loop
from .scalars import SCALAR
from .text_access import count_in, place_in
from .text_values import is_textual
from .values import Grown, ListRef, Tensor, Value, Variant
from .variants import each_option

_I64, _B1 = ScalarType(int64), ScalarType(bool_)


def grow(ev: Evaluator, x: ListRef, reason: str, *values: Value) -> NoReturn:
    """The list `x`, of which `values` become elements, has to be a run-time list.

    Raises:
        ListGrows: always, if the list can be made anew.
        NotCompilable: it cannot.
    """
    element = of_list(ev.b, x)
    if values:
        element = joined(element, of_values(ev.b, values))
    must_grow(ev.b, x.sites, element, reason)


# --- reading ----------------------------------------------------------------------------------


def _content(ev: Evaluator, x: ListRef) -> Grown:
    content = ev.b.heap[x]
    assert isinstance(content, Grown)
    return content


def _length(ev: Evaluator, x: ListRef) -> Value:
    return length(ev.b, _content(ev, x))


def _get_item(ev: Evaluator, x: ListRef, index: Value) -> Value:
    content = _content(ev, x)
    return fetch(ev.b, content, position(ev.b, content, index))


def _single(ev: Evaluator, x: ListRef) -> SSAValue:
    """The only column of a list of numbers or of lists."""
    content = _content(ev, x)
    if len(content.columns) != 1 or not isinstance(content.element, NumberElement | ListElement):
        ev.b.cannot("comparing the elements of such a list")
    return content.columns[0]


def _numbers(ev: Evaluator, x: ListRef) -> SSAValue:
    if not isinstance(_content(ev, x).element, NumberElement):
        ev.b.cannot("comparing the elements of such a list")
    return _single(ev, x)


def _find(ev: Evaluator, x: ListRef, value: Value) -> Expr:
    if isinstance(_content(ev, x).element, TextElement):
        return place_in(ev.b, _content(ev, x), value)
    arguments = [_numbers(ev, x), ev.b.scalar_operand(value)]
    return ev.b.scalar_of(perform(ev.b, "find", arguments, _I64))


def _contains(ev: Evaluator, x: ListRef, value: Value) -> Value:
    return binary("ge", _find(ev, x, value), 0)


def _index_of(ev: Evaluator, x: ListRef, value: Value, *_: Value) -> Value:
    at = _find(ev, x, value)
    shown = "{}" if isinstance(value, Expr) else value
    check(ev.b, binary("ge", at, 0), f"'{shown}' is not in list")
    return at


def _count(ev: Evaluator, x: ListRef, value: Value) -> Value:
    if isinstance(_content(ev, x).element, TextElement):
        return count_in(ev.b, _content(ev, x), value)
    arguments = [_numbers(ev, x), ev.b.scalar_operand(value)]
    return ev.b.scalar_of(perform(ev.b, "count", arguments, _I64))


def _pair(ev: Evaluator, x: ListRef, y: ListRef) -> tuple[Grown, Grown]:
    """Both as run-time lists; a known one is copied."""
    found = [c for c in (ev.b.heap[x], ev.b.heap[y]) if isinstance(c, Grown)]
    element = found[0].element
    left, right = (as_grown(ev.b, v, element) for v in (x, y))
    if left.element != right.element:
        wanted = joined(left.element, right.element)
        must_grow(ev.b, (*x.sites, *y.sites), wanted, "lists of different kinds")
    return left, right


def _equal(ev: Evaluator, x: Value, y: Value) -> Value:
    left, right = _pair(ev, x, y)
    same: Value = True
    for a, b in zip(left.columns, right.columns, strict=True):
        one = ev.b.scalar_of(perform(ev.b, "equal", [a, b], _B1))
        same = SCALAR["aten::__and__"](ev.b, same, one)
    return same


def _not_equal(ev: Evaluator, x: Value, y: Value) -> Value:
    return known(unary("not", as_expr(_equal(ev, x, y))))


# --- changing ---------------------------------------------------------------------------------


def changed(ev: Evaluator, x: ListRef) -> Grown:
    """The content of a list that is about to be changed."""
    if x.frozen:
        ev.b.cannot("changing a list that the caller keeps")
    return _content(ev, x)


def leaves_for(ev: Evaluator, x: ListRef, content: Grown, value: Value) -> list[SSAValue]:
    """An element's leaves; a list that holds something narrower is made anew."""
    found = of_value(ev.b, value)
    wanted = joined(content.element, found)
    if wanted is not None and wanted != content.element and x.sites:
        must_grow(ev.b, x.sites, wanted, "elements of different shapes")
    return leaves_of(ev.b, content.element, value)


def _by_kind(row: Callable[..., Value]) -> Callable[..., Value]:
    """A row that puts its last argument into a list, for each kind that it may be of."""

    def run(ev: Evaluator, *arguments: Value) -> Value:
        *others, value = arguments
        if not isinstance(value, Variant) or is_textual(value):
            return row(ev, *arguments)

        def put(option: Value) -> list[Value]:
            row(ev, *others, option)
            return []

        each_option(ev.b, value, put)
        return others[0]

    return run


def _set_item(ev: Evaluator, x: ListRef, index: Value, value: Value) -> Value:
    content = changed(ev, x)
    at = ev.b.scalar_operand(position(ev.b, content, index))
    for column, leaf in zip(content.columns, leaves_for(ev, x, content, value), strict=True):
        perform(ev.b, "set", [column, at, leaf])
    return x


def _append(ev: Evaluator, x: ListRef, value: Value) -> Value:
    content = changed(ev, x)
    for column, leaf in zip(content.columns, leaves_for(ev, x, content, value), strict=True):
        perform(ev.b, "push", [column, leaf])
    return x


def _insert(ev: Evaluator, x: ListRef, index: Value, value: Value) -> Value:
    content = changed(ev, x)
    size, e = length(ev.b, content), named(ev.b, index)
    counted = select(e < 0, binary("max", e + size, 0), binary("min", e, size))
    at = ev.b.scalar_operand(counted)
    for column, leaf in zip(content.columns, leaves_for(ev, x, content, value), strict=True):
        perform(ev.b, "insert", [column, at, leaf])
    return None


def _pop(ev: Evaluator, x: ListRef, index: Value = -1) -> Value:
    content = changed(ev, x)
    check(ev.b, binary("gt", length(ev.b, content), 0), "pop from empty list")
    at = position(ev.b, content, index)
    value = fetch(ev.b, content, at)
    for column in content.columns:
        perform(ev.b, "remove", [column, ev.b.scalar_operand(at)])
    return value


def _delete(ev: Evaluator, x: ListRef, index: Value) -> Value:
    content = changed(ev, x)
    at = ev.b.scalar_operand(position(ev.b, content, index))
    for column in content.columns:
        perform(ev.b, "remove", [column, at])
    return None


def _remove(ev: Evaluator, x: ListRef, value: Value) -> Value:
    content, at = changed(ev, x), _find(ev, x, value)
    check(ev.b, binary("ge", at, 0), "list.remove(x): x not in list")
    perform(ev.b, "remove", [content.columns[0], ev.b.scalar_operand(at)])
    return None


def _each(action: str) -> Callable[..., Value]:
    """clear, reverse."""

    def row(ev: Evaluator, x: ListRef) -> Value:
        for column in changed(ev, x).columns:
            perform(ev.b, action, [column])
        return None

    return row


def _extended(ev: Evaluator, x: ListRef, other: ListRef) -> None:
    if not isinstance(ev.b.heap[x], Grown):
        grow(ev, x, "a list extended by one of unknown length")
    content = changed(ev, x)
    more = as_grown(ev.b, other, content.element)
    if more.element != content.element:
        wanted = joined(content.element, more.element)
        must_grow(ev.b, (*x.sites, *other.sites), wanted, "lists of different kinds")
    for column, items in zip(content.columns, more.columns, strict=True):
        perform(ev.b, "extend", [column, items])


def _extend(ev: Evaluator, x: ListRef, other: ListRef) -> Value:
    _extended(ev, x, other)
    return None


def _add_in_place(ev: Evaluator, x: ListRef, other: ListRef) -> Value:
    _extended(ev, x, other)
    return x


def _sort(ev: Evaluator, x: ListRef, reverse: Value = False, *_: Value) -> Value:
    content = changed(ev, x)
    if isinstance(content.element, NumberElement):
        perform(ev.b, "sort", [content.columns[0], ev.b.scalar_operand(reverse)])
    elif has_order(content.element) and isinstance(reverse, bool):
        sort_in_order(ev.b, content, reverse)
    else:
        ev.b.cannot("the order of such elements")
    return None


# --- making -----------------------------------------------------------------------------------


def fresh_list(ev: Evaluator, content: Grown) -> ListRef:
    """A new run-time list; it is made anew in a wider form where it turns out too narrow."""
    made = ListRef((ev.site,))
    wanted = ev.hints.elements.get(ev.site)
    if wanted is not None and joined(wanted, content.element) != content.element:
        ev.b.cannot("elements of different shapes in a copied list")
    ev.b.heap[made] = content
    return made


def _sliced(b: Builder, x: Grown, start: Expr, step: int, count: Expr) -> Grown:
    operands = [b.scalar_operand(v) for v in (start, step, count)]
    parts = tuple(perform(b, "slice", [c, *operands], c.type) for c in x.columns)
    return Grown(x.element, parts)


def _slice(
    ev: Evaluator, x: ListRef, start: Value = None, stop: Value = None, step: Value = 1
) -> Value:
    if not isinstance(step, int) or step == 0:
        ev.b.cannot("a slice of a list with a step that is not known")
    content = _content(ev, x)
    size = length(ev.b, content)
    least, most = (const(0), size) if step > 0 else (const(-1), size - 1)

    def end(value: Value, default: Expr) -> Expr:
        if value is None:
            return default
        e = named(ev.b, value)
        counted = select(e < 0, e + size, e)
        return binary("min", binary("max", counted, least), most)

    first, last = (least, most) if step > 0 else (most, least)
    begin = named(ev.b, end(start, first))
    span = end(stop, last) - begin if step > 0 else begin - end(stop, last)
    width = abs(step)
    count = binary("max", span if width == 1 else (span + (width - 1)) // width, 0)
    return fresh_list(ev, _sliced(ev.b, content, begin, step, count))


def copied(b: Builder, x: Grown) -> Grown:
    """The same elements in lists of their own."""
    return _sliced(b, x, const(0), 1, length(b, x))


def _copy(ev: Evaluator, x: ListRef) -> Value:
    return fresh_list(ev, copied(ev.b, _content(ev, x)))


def _concatenate(ev: Evaluator, x: ListRef, y: ListRef) -> Value:
    left, right = _pair(ev, x, y)
    made = copied(ev.b, left)
    for column, items in zip(made.columns, right.columns, strict=True):
        perform(ev.b, "extend", [column, items])
    return fresh_list(ev, made)


def _sorted(ev: Evaluator, x: ListRef, *_: Value) -> Value:
    made = fresh_list(ev, copied(ev.b, _content(ev, x)))
    _sort(ev, made)
    return made


def repeat(ev: Evaluator, x: ListRef, times: Value) -> Value:
    """`[..] * n` with an unknown length or number of times."""
    b = ev.b
    if (element := of_list(b, x)) is None:
        if isinstance(times, int):
            return ev.new_list(b.heap[x] * times)
        b.cannot("repeating a list of such values")
    content = b.heap[x]
    count = named(b, binary("max", as_expr(times), 0))
    if not isinstance(content, Grown) and len(content) == 1:
        leaves = leaves_of(b, element, content[0])
        operand = b.scalar_operand(count)
        made = [perform(b, "fill", [v, operand], list_of(v.type)) for v in leaves]
        return fresh_list(ev, Grown(element, tuple(made)))
    source = as_grown(b, x, element)
    target = Grown(element, tuple(perform(b, "new", (), list_of(c)) for c in columns(element)))

    def step(_: Sequence[Value]) -> list[Value]:
        for column, items in zip(target.columns, source.columns, strict=True):
            perform(b, "extend", [column, items])
        return [True]

    loop(b, count, True, [], step, LONG)
    return fresh_list(ev, target)


# --- folding ----------------------------------------------------------------------------------


def _fold(ev: Evaluator, x: ListRef, first: Value, name: str, skip: int) -> Value:
    """The elements from number `skip` on put together by a scalar operator."""
    b, content = ev.b, _content(ev, x)
    size = length(b, content)

    def step(values: Sequence[Value]) -> list[Value]:
        counter, total = values
        value = fetch(b, content, as_expr(counter) + skip)
        return [True, SCALAR[name](b, total, value)]

    trips = binary("max", size - skip, 0)
    return loop(b, named(b, trips), True, [first], step, LONG)[0]


def _sum(ev: Evaluator, x: ListRef, *_: Value) -> Value:
    element = _content(ev, x).element
    if not isinstance(element, NumberElement):
        return ev.b.cannot("the sum of such a list")
    zero: Value = 0.0 if element.dtype.is_floating_point else 0
    return _fold(ev, x, zero, "aten::add", 0)


def _extreme(name: str) -> Callable[..., Value]:
    def row(ev: Evaluator, x: ListRef, *others: Value) -> Value:
        _numbers(ev, x)
        if others:
            return ev.b.cannot(f"the {name} of two lists")
        content = _content(ev, x)
        some = binary("gt", length(ev.b, content), 0)
        check(ev.b, some, f"{name}() arg is an empty sequence")
        return _fold(ev, x, fetch(ev.b, content, const(0)), f"prim::{name}", 1)

    return row


def _all(ev: Evaluator, x: ListRef) -> Value:
    return _fold(ev, x, True, "aten::__and__", 0)


def _any(ev: Evaluator, x: ListRef) -> Value:
    return _fold(ev, x, False, "aten::__or__", 0)


def unpack(ev: Evaluator, x: ListRef, count: int) -> list[Value]:
    """The elements of a run-time list that must have `count`."""
    content = _content(ev, x)
    message = f"Expected {count} elements in a list but found another number"
    check(ev.b, length(ev.b, content).equals(count), message)
    return [fetch(ev.b, content, const(k)) for k in range(count)]


# --- tensors ----------------------------------------------------------------------------------


def list_of_tensor(ev: Evaluator, x: Tensor) -> ListRef:
    """The numbers of a vector as a list."""
    b = ev.b
    kind = bool_ if x.dtype is bool_ else float64 if x.dtype.is_floating_point else int64
    column = perform(b, "from", [b.ssa(b.cast(x, kind))], ListType.of(kind))
    return fresh_list(ev, Grown(NumberElement(kind), (column,)))


def _to_tensor(ev: Evaluator, x: ListRef, dtype: Value = None, *_: Value) -> Value:
    """torch.tensor of a list of numbers, or of lists of them."""
    b, content = ev.b, _content(ev, x)
    size = length(b, content)
    match content.element:
        case NumberElement(kind):
            wanted = dtype_of(dtype, b.default_dtype if kind.is_floating_point else kind)
            return _read(b, content.columns[0], (size,), wanted)
        case ListElement(NumberElement(kind)):
            wanted = dtype_of(dtype, b.default_dtype if kind.is_floating_point else kind)
        case _:
            return b.cannot("a tensor of such a list of unknown length")

    def nothing(_: Sequence[Value]) -> list[Value]:
        return [b.full((0,), 0, wanted)]

    def rows(_: Sequence[Value]) -> list[Value]:
        return [_read(b, *_rectangle(b, content.columns[0], kind, size), wanted)]

    return branch(b, named(b, size.equals(0)), nothing, rows)[0]


def _rectangle(
    b: Builder, column: SSAValue, kind: DType, count: Expr
) -> tuple[SSAValue, tuple[Expr, Expr]]:
    """The numbers of lists of one length, of which there are some, and their shape."""
    lengths = perform(b, "lengths", [column], ListType.of(int64))
    width = b.scalar_of(perform(b, "get", [lengths, b.scalar_operand(const(0))], _I64))
    same = b.scalar_of(perform(b, "count", [lengths, b.scalar_operand(width)], _I64))
    check(b, same.equals(count), "Expected sequence of length {} at dim 1 (got {})")
    return perform(b, "join", [column], ListType.of(kind)), (count, width)


def _read(b: Builder, column: SSAValue, shape: tuple[Expr, ...], dtype: DType) -> Tensor:
    """The numbers of a list as a tensor."""
    assert isinstance(column.type, ListType)
    sizes = tuple(map(b.size, shape))
    made = b.fresh(perform(b, "read", [column], tensor(column.type.dtype, sizes)))
    return b.cast(made, dtype)


GROWN: Rows = {
    "aten::len": _length,
    "aten::__getitem__": _get_item,
    "aten::__contains__": _contains,
    "aten::index": _index_of,
    "aten::count": _count,
    "aten::eq": _equal,
    "aten::ne": _not_equal,
    "aten::_set_item": _by_kind(_set_item),
    "aten::append": _by_kind(_append),
    "aten::insert": _by_kind(_insert),
    "aten::pop": _pop,
    "aten::Delete": _delete,
    "aten::remove": _remove,
    "aten::clear": _each("clear"),
    "aten::reverse": _each("reverse"),
    "aten::extend": _extend,
    "aten::add_": _add_in_place,
    "aten::sort": _sort,
    "aten::sorted": _sorted,
    "aten::slice": _slice,
    "aten::copy": _copy,
    "aten::list": _copy,
    "aten::Size": _copy,
    "aten::add": _concatenate,
    "aten::mul": lambda ev, x, y: repeat(ev, *((x, y) if isinstance(x, ListRef) else (y, x))),
    "aten::sum": _sum,
    "prim::min": _extreme("min"),
    "prim::max": _extreme("max"),
    "aten::all": _all,
    "aten::any": _any,
    "aten::tensor": _to_tensor,
}
