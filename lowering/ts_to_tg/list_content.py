"""What a run-time list holds, asked by the rows on it; and the lists that have to become one."""

from __future__ import annotations

from typing import NoReturn

from xdsl.ir import SSAValue

from .element_kinds import NumberElement, joined, of_list, of_values
from .evaluator import Evaluator
from .grown import as_grown, must_grow
from .values import Grown, ListRef, Value


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


def content_of(ev: Evaluator, x: ListRef) -> Grown:
    """The columns of a run-time list."""
    content = ev.b.heap[x]
    assert isinstance(content, Grown)
    return content


def numbers_of(ev: Evaluator, x: ListRef) -> SSAValue:
    """The only column of a list of numbers."""
    content = content_of(ev, x)
    if not isinstance(content.element, NumberElement):
        ev.b.cannot("comparing the elements of such a list")
    return content.columns[0]


def pair(ev: Evaluator, x: ListRef, y: ListRef) -> tuple[Grown, Grown]:
    """Both as run-time lists; a known one is copied."""
    found = [c for c in (ev.b.heap[x], ev.b.heap[y]) if isinstance(c, Grown)]
    element = found[0].element
    left, right = (as_grown(ev.b, v, element) for v in (x, y))
    if left.element != right.element:
        wanted = joined(left.element, right.element)
        must_grow(ev.b, (*x.sites, *y.sites), wanted, "lists of different kinds")
    return left, right
