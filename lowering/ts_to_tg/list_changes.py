"""Rows that change run-time lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import SSAValue

from tensorscript.base.source import Span
from tensorscript.dialects.te.expr import binary, select

from .builder import Rows
from .element_kinds import ListElement, NumberElement, joined, of_value
from .evaluator import Evaluator
from .grown import as_grown, leaves_of, must_grow
from .list_access import check, fetch, length, named, position
from .list_actions import perform
from .list_content import content_of, grow
from .list_order import has_order, sort_in_order
from .list_reading import find
from .paths import is_state
from .text_values import is_textual
from .values import Grown, ListRef, Site, Value, Variant
from .variants import each_option


class StateChanges(Exception):
    """Lists or dicts of `self` at `paths` are changed: they are arguments next time."""

    def __init__(self, paths: tuple[str, ...], reason: str, span: Span | None) -> None:
        super().__init__(reason)
        self.paths, self.reason, self.span = paths, reason, span


def changed(ev: Evaluator, x: ListRef) -> Grown:
    """The content of a list that is about to be changed.

    Raises:
        StateChanges: it is, or may be, one of the constants that `self` holds.
        NotCompilable: it is another constant.
    """
    if x.frozen:
        reason = "changing a list that the caller keeps"
        paths = _imported(x.sites) or _imported(s for s in ev.hints.elements if _holds_lists(ev, s))
        if not paths:
            ev.b.cannot(reason)
        attributes = tuple(ev.attribute_of(path) for path in paths)
        raise StateChanges(attributes, f"{ev.b.operator}: {reason}", ev.b.span)
    return content_of(ev, x)


def _holds_lists(ev: Evaluator, site: Site) -> bool:
    return isinstance(ev.hints.elements[site], ListElement)


def _imported(sites: Iterable[Site]) -> tuple[str, ...]:
    """The paths of the lists and dicts of `self` that are made at `sites`."""
    found = (str(site[1]) for site in sites if site[0] == "import")
    return tuple(path for path in found if is_state(path))


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
    content, at = changed(ev, x), find(ev, x, value)
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


def sort(ev: Evaluator, x: ListRef, reverse: Value = False, *_: Value) -> Value:
    content = changed(ev, x)
    if isinstance(content.element, NumberElement):
        perform(ev.b, "sort", [content.columns[0], ev.b.scalar_operand(reverse)])
    elif has_order(content.element) and isinstance(reverse, bool):
        sort_in_order(ev.b, content, reverse)
    else:
        ev.b.cannot("the order of such elements")
    return None


LIST_CHANGES: Rows = {
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
    "aten::sort": sort,
}
