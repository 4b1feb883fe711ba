"""Rows that make run-time lists of others: slices, copies, sums, repetitions."""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.dialects.te.expr import Expr, binary, const
from tensorscript.dialects.tg.lists import list_of

from .builder import Builder, Rows
from .element_kinds import columns, joined, of_list
from .elements import as_expr
from .evaluator import Evaluator
from .grown import as_grown, leaves_of
from .list_access import length, named, slice_range
from .list_actions import perform
from .list_changes import sort
from .list_content import content_of, pair
from .loops import LONG, loop
from .values import Grown, ListRef, Value


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
    content = content_of(ev, x)
    first, by, count = slice_range(ev.b, length(ev.b, content), start, stop, step)
    return fresh_list(ev, _sliced(ev.b, content, first, by, count))


def copied(b: Builder, x: Grown) -> Grown:
    """The same elements in lists of their own."""
    return _sliced(b, x, const(0), 1, length(b, x))


def _copy(ev: Evaluator, x: ListRef) -> Value:
    return fresh_list(ev, copied(ev.b, content_of(ev, x)))


def _concatenate(ev: Evaluator, x: ListRef, y: ListRef) -> Value:
    left, right = pair(ev, x, y)
    made = copied(ev.b, left)
    for column, items in zip(made.columns, right.columns, strict=True):
        perform(ev.b, "extend", [column, items])
    return fresh_list(ev, made)


def _sorted(ev: Evaluator, x: ListRef, *_: Value) -> Value:
    made = fresh_list(ev, copied(ev.b, content_of(ev, x)))
    sort(ev, made)
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


LIST_MAKING: Rows = {
    "aten::sorted": _sorted,
    "aten::slice": _slice,
    "aten::copy": _copy,
    "aten::list": _copy,
    "aten::Size": _copy,
    "aten::add": _concatenate,
    "aten::mul": lambda ev, x, y: repeat(ev, *((x, y) if isinstance(x, ListRef) else (y, x))),
}
