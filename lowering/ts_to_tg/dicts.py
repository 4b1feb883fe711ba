"""Known dicts under keys that only the running program knows.

What a dict of strings or numbers holds is chosen by comparing the key with each of its own. A dict
that is changed under such a key, or that holds something else, becomes a run-time dict (`maps.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from tensorscript.dialects.te.expr import Expr, binary, const, select

from .builder import Builder
from .element_kinds import MapElement, joined, of_dict, of_value
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import must_grow
from .kinds import is_constant, variant
from .list_access import named
from .tables import FEW, are_many_texts, known_number_at, place_of, text_at
from .text_access import same_text
from .values import DictRef, Tensor, Text, UnknownString, Value, Variant, is_scalar
from .variants import held, present


def is_unknown(key: Value) -> bool:
    """Whether only the running program knows a key."""
    return isinstance(key, Expr | Text)


def grow_dict(ev: Evaluator, x: DictRef, reason: str, *item: Value) -> NoReturn:
    """The dict `x`, into which `item`, a key and a value, is to go, has to be a run-time dict.

    Raises:
        ListGrows: always, if the dict can be made anew.
        NotCompilable: it cannot.
    """
    element = of_dict(ev.b, x)
    if item:
        key, value = (of_value(ev.b, v) for v in item)
        new = None if key is None or value is None else MapElement(key, value)
        found = joined(element, new)
        element = found if isinstance(found, MapElement) else None
    must_grow(ev.b, x.sites, element, reason)


def items_of(ev: Evaluator, x: DictRef) -> dict[Value, Value]:
    """The items of a dict all of whose keys it certainly has."""
    content: dict[Value, Value] = ev.b.heap[x]
    if any(present(v) is not True for v in content.values()):
        grow_dict(ev, x, "a dict whose keys depend on a condition")
    return {k: held(v) for k, v in content.items()}


def dict_of(ev: Evaluator, pairs: Iterable[tuple[Value, Value]]) -> Value:
    """A new dict with these items."""
    items = list(pairs)
    if any(isinstance(key, Tensor | UnknownString | Variant) for key, _ in items):
        ev.b.cannot("a key of a new dict that is not known")
    if not any(is_unknown(key) for key, _ in items):
        return ev.new_dict(dict(items))
    made = ev.new_dict({})
    if isinstance(made, DictRef):
        grow_dict(ev, made, "a dict key that is not known", *items[0])
    for key, value in items:
        ev.map_rows["aten::_set_item"](ev, made, key, value)
    return made


def _same(b: Builder, own: Value, key: Value) -> Expr:
    if isinstance(key, Text):
        return same_text(b, own, key)
    return as_expr(known(binary("eq", as_expr(own), as_expr(key))))


def _place(ev: Evaluator, x: DictRef, keys: Sequence[Value], key: Value) -> Expr:
    """Which of the keys of a dict a key is, -1 for none."""
    if len(keys) > FEW:
        if (place := place_of(ev.b, keys, key)) is None:
            grow_dict(ev, x, "a key of a large dict that is not known")
        return named(ev.b, place)
    places = [select(_same(ev.b, own, key), const(at), const(-1)) for at, own in enumerate(keys)]
    while len(places) > 1:  # in pairs: deep expressions are slow to look at
        pairs = zip(places[::2], [*places[1::2], const(-1)], strict=False)
        places = [binary("max", *pair) for pair in pairs]
    return named(ev.b, places[0] if places else const(-1))


def _one_of(ev: Evaluator, x: DictRef, values: Sequence[Value], at: Expr) -> Value:
    """`values[at]` of scalars of one dtype, or of constants."""
    if are_many_texts(ev.b, values):
        return text_at(ev.b, values, at)
    if (found := known_number_at(ev.b, values, at)) is not None:
        return found
    if values and all(map(is_constant, values)):
        return variant(at, tuple(values))
    elements = [as_expr(v) for v in values if is_scalar(v)]
    if len(elements) != len(values) or len({e.dtype for e in elements}) != 1:
        grow_dict(ev, x, "what a dict holds under a key that is not known")

    def among(first: int, end: int) -> Expr:
        if end - first == 1:
            return elements[first]
        middle = (first + end) // 2
        return select(binary("lt", at, middle), among(first, middle), among(middle, end))

    return ev.b.scalar_of(ev.b.scalar_operand(among(0, len(elements))))


def item_under(ev: Evaluator, x: DictRef, key: Value) -> Value:
    """`x[key]`."""
    content = items_of(ev, x)
    at = _place(ev, x, list(content), key)
    ev.b.check(known(binary("ge", at, 0)), "KeyError: {}")
    return _one_of(ev, x, list(content.values()), at)


def item_or(ev: Evaluator, x: DictRef, key: Value, default: Value) -> Value:
    """`x.get(key, default)`."""
    content = items_of(ev, x)
    if default is None:
        grow_dict(ev, x, "what a dict may hold under a key that is not known")
    at = _place(ev, x, list(content), key)
    places = select(binary("lt", at, 0), const(len(content)), at)
    return _one_of(ev, x, [*content.values(), default], named(ev.b, places))


def holds(ev: Evaluator, x: DictRef, key: Value) -> Value:
    """`key in x`."""
    at = _place(ev, x, list(items_of(ev, x)), key)
    return known(binary("ge", at, 0))
