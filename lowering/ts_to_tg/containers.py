"""Rows on lists and dicts: they see references and may change the heap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.text import nonzero_slice
from tensorscript.dialects.te.expr import Expr, binary, select
from tensorscript.dialects.ts.types import OPEN_TYPES, ListType

from .branches import branch
from .builder import Rows
from .dicts import dict_of, grow_dict, holds, is_unknown, item_or, item_under, items_of
from .element_kinds import TextElement
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import as_grown
from .kinds import is_constant, variant
from .list_access import named
from .list_content import grow
from .list_making import repeat
from .merge import same_value
from .scalar_truth import row_eq
from .scalars import SCALAR
from .tables import are_many_texts, text_at
from .text_access import count_in, place_in
from .values import (
    ABSENT,
    ComplexTensor,
    DictRef,
    ListRef,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
    Variant,
)
from .variants import held, present


def _contents(ev: Evaluator, x: Value) -> Value:
    if isinstance(x, DictRef):
        return items_of(ev, x)
    return ev.b.heap[x] if isinstance(x, ListRef) else x


def _change(ev: Evaluator, x: ListRef | DictRef, content: Value) -> None:
    if x.shared and isinstance(x, ListRef):
        grow(ev, x, "changing a list that may be the same as another one", *content)
    if x.shared and isinstance(x, DictRef):
        grow_dict(ev, x, "changing a dict that may be the same as another one")
    ev.b.heap[x] = content


def _length(ev: Evaluator, x: Value) -> Value:
    if isinstance(x, Tensor | ComplexTensor):
        if not x.rank:
            ev.b.error("len() of a 0-d tensor")
        return ev.boxed(x.shape[0])
    if isinstance(x, TupleValue):
        return len(x.elements)
    return len(x.encode()) if isinstance(x, str) else len(_contents(ev, x))


def _position(ev: Evaluator, x: Value, index: Value, size: int) -> int:
    """The index of an element, in bounds. In a branch or loop that may never run, or not with
    this list, a list that is too short is no error yet."""
    if not isinstance(index, int):
        ev.b.cannot("an index that is not known")
    if not -size <= index < size:
        if isinstance(x, ListRef) and x.sites and ev.b.scopes.depth > 0:
            grow(ev, x, "a list that is too short")
        ev.b.error("list index out of range")
    return index % size if size else 0


def _get_item(ev: Evaluator, x: Value, key: Value) -> Value:
    if isinstance(x, DictRef):
        items = ev.b.heap[x]
        if isinstance(key, Tensor):
            ev.b.cannot("a tensor as the key of a dict")
        if is_unknown(key):
            return item_under(ev, x, key)
        if key not in items:
            ev.b.error(f"KeyError: {key}")
        ev.b.check(present(items[key]), f"KeyError: {key}")
        return held(items[key])
    if isinstance(x, str):
        return x[_position(ev, x, key, len(x))]
    items = ev.b.heap[x]
    if isinstance(key, Expr):
        if are_many_texts(ev.b, items):
            return _text_at(ev, items, key)
        if items and all(map(is_constant, items)) and len(set(items)) == len(items):
            return _one_of(ev, items, key)
        grow(ev, x, "a list index that is not known")
    return items[_position(ev, x, key, len(items))]


def _one_of(ev: Evaluator, items: tuple[Value, ...], key: Expr) -> Value:
    """One of several known strings, say: `names[k]`."""
    at = select(key < 0, key + len(items), key)
    inside = binary("and", binary("ge", at, 0), binary("lt", at, len(items)))
    ev.b.check(known(inside), "list index out of range")
    return variant(as_expr(ev.b.shortened(known(at))), items)


def _text_at(ev: Evaluator, items: tuple[str, ...], key: Expr) -> Value:
    """`names[k]` of many names."""
    at = named(ev.b, select(key < 0, key + len(items), key))
    inside = binary("and", binary("ge", at, 0), binary("lt", at, len(items)))
    ev.b.check(known(inside), "list index out of range")
    return text_at(ev.b, items, at)


def _set_item(ev: Evaluator, x: Value, key: Value, value: Value) -> Value:
    content = ev.b.heap[x]
    if isinstance(x, DictRef):
        if isinstance(key, Tensor | UnknownString):
            ev.b.cannot("a tensor or an unknown string as the key of a dict")
        if is_unknown(key):
            grow_dict(ev, x, "a dict key that is not known", key, value)
        if present(content.get(key, True)) is not True and key != next(reversed(content)):
            grow_dict(ev, x, "keys whose order depends on a condition", key, value)
        _change(ev, x, {**content, key: value})
        return None
    if isinstance(key, Expr):
        grow(ev, x, "a list index that is not known", value)
    at = _position(ev, x, key, len(content))
    _change(ev, x, (*content[:at], value, *content[at + 1 :]))
    return x


def _append(ev: Evaluator, x: ListRef, value: Value) -> Value:
    _change(ev, x, (*ev.b.heap[x], value))
    return x


def _extend(ev: Evaluator, x: ListRef, other: ListRef) -> Value:
    _change(ev, x, ev.b.heap[x] + ev.b.heap[other])
    return None


def _insert(ev: Evaluator, x: ListRef, at: Value, value: Value) -> Value:
    if isinstance(at, Expr):
        grow(ev, x, "inserting at an index that is not known", value)
    items = list(ev.b.heap[x])
    items.insert(at, value)
    _change(ev, x, tuple(items))
    return None


def _pop(ev: Evaluator, x: Value, key: Value = -1, *default: Value) -> Value:
    content = ev.b.heap[x]
    if isinstance(x, DictRef):
        content = items_of(ev, x)
        if is_unknown(key):
            grow_dict(ev, x, "a dict key that is not known")
        if key not in content:
            return default[0] if default else ev.b.error("KeyError: " + str(key))
        _change(ev, x, {k: v for k, v in content.items() if k != key})
        return content[key]
    if isinstance(key, Expr):
        grow(ev, x, "a list index that is not known")
    at = _position(ev, x, key, len(content))
    _change(ev, x, content[:at] + content[at + 1 :])
    return content[at]


def _pop_item(ev: Evaluator, x: DictRef) -> Value:
    """`x.popitem()`, which in TorchScript takes out the first one."""
    items = items_of(ev, x)
    if not items:
        ev.b.error("popitem(): dictionary is empty")
    key = next(iter(items))
    return TupleValue((key, _pop(ev, x, key)))


def _set_default(ev: Evaluator, x: DictRef, key: Value, value: Value) -> Value:
    content = ev.b.heap[x]
    if is_unknown(key) or present(content.get(key, ABSENT)) not in (True, False):
        grow_dict(ev, x, "a default for a key that is not known", key, value)
    if key not in content:
        _set_item(ev, x, key, value)
        return value
    return held(content[key])


def _delete(ev: Evaluator, x: Value, key: Value) -> Value:
    _pop(ev, x, key)
    return None


def _clear(ev: Evaluator, x: Value) -> Value:
    _change(ev, x, {} if isinstance(x, DictRef) else ())
    return None


def _reverse(ev: Evaluator, x: ListRef) -> Value:
    _change(ev, x, ev.b.heap[x][::-1])
    return None


def _sort(ev: Evaluator, x: ListRef, reverse: bool = False, *_: Value) -> Value:
    keys = {id(v): _order_key(ev, v) for v in _known_elements(ev, x)}
    _change(ev, x, tuple(sorted(ev.b.heap[x], key=lambda v: keys[id(v)], reverse=reverse)))
    return None


def _order_key(ev: Evaluator, value: Value) -> Any:
    """What a known element of a list is ordered by."""
    if isinstance(value, TupleValue):
        return tuple(_order_key(ev, v) for v in value.elements)
    if not isinstance(value, bool | int | float | str):
        ev.b.cannot("the order of values that are no numbers or strings")
    return value


def _known_elements(ev: Evaluator, x: ListRef) -> list[Value]:
    items = list(ev.b.heap[x])
    assert ev.op is not None
    listed = ev.op.operands[0].type
    if items and isinstance(listed, ListType) and isinstance(listed.element, OPEN_TYPES):
        ev.b.cannot("sorting a list of several types")
    if any(map(_has_unknown, items)):
        grow(ev, x, "the order of values that are not known")
    return items


def _has_unknown(value: Value) -> bool:
    if isinstance(value, TupleValue):
        return any(map(_has_unknown, value.elements))
    return isinstance(value, Expr | Tensor | Text | Variant)


def _sorted(ev: Evaluator, x: ListRef, *_: Value) -> Value:
    return ev.new_list(sorted(_known_elements(ev, x), key=lambda v: _order_key(ev, v)))


def _copy(ev: Evaluator, x: Value) -> Value:
    content = ev.b.heap[x]
    return ev.new_list(content) if isinstance(x, ListRef) else ev.new_dict(content)


def _slice(
    ev: Evaluator, x: Value, start: Value = None, stop: Value = None, step: Value = 1
) -> Value:
    if any(isinstance(v, Expr) for v in (start, stop, step)):
        if isinstance(x, ListRef):
            grow(ev, x, "a slice of a list with unknown ends")
        ev.b.cannot("a slice of a string with unknown ends")
    part = _contents(ev, x)[nonzero_slice(start, stop, step)]
    return part if isinstance(x, str) else ev.new_list(part)


def _contains(ev: Evaluator, x: Value, value: Value) -> Value:
    content = ev.b.heap[x] if isinstance(x, DictRef) else _contents(ev, x)
    if isinstance(x, DictRef) and is_unknown(value):
        return holds(ev, x, value)
    if isinstance(content, dict):
        return present(content.get(value, ABSENT))
    if isinstance(content, str):
        return value in content
    if isinstance(x, ListRef) and any(isinstance(v, Text) for v in (*content, value)):
        at = place_in(ev.b, as_grown(ev.b, x, TextElement()), value)
        return known(binary("ge", at, 0))
    answers = [row_eq(ev.b, v, value) for v in content]
    if any(a is True for a in answers):
        return True
    found: Value = False
    for answer in answers:
        found = SCALAR["aten::__or__"](ev.b, found, answer)
    return found


def _index_of(ev: Evaluator, x: ListRef, value: Value, *_: Value) -> Value:
    if any(isinstance(v, Expr | Text) for v in (*ev.b.heap[x], value)):
        grow(ev, x, "the place of a value that is not known")
    for k, v in enumerate(ev.b.heap[x]):
        if same_value(v, value):
            return k
    return ev.b.error(f"'{value}' is not in list")


def _count(ev: Evaluator, x: ListRef, value: Value) -> Value:
    """How many elements equal `value`."""
    if isinstance(value, Text) or any(isinstance(v, Text) for v in ev.b.heap[x]):
        return count_in(ev.b, as_grown(ev.b, x, TextElement()), value)
    equal, add = ev.scalar_rows["aten::eq"], ev.scalar_rows["aten::add"]
    total: Value = 0
    for v in ev.b.heap[x]:
        total = add(ev.b, total, ev.scalar_rows["aten::Int"](ev.b, equal(ev.b, v, value)))
    return ev.boxed(total)


def _remove(ev: Evaluator, x: ListRef, value: Value) -> Value:
    """Take out the first element that equals `value`."""
    items = list(ev.b.heap[x])
    if any(isinstance(v, Expr | Tensor | Text) for v in (*items, value)):
        grow(ev, x, "removing a value that is not known")
    for k, v in enumerate(items):
        if same_value(v, value):
            _change(ev, x, (*items[:k], *items[k + 1 :]))
            return None
    return ev.b.error("list.remove(x): x not in list")


def _get(ev: Evaluator, x: DictRef, key: Value, *default: Value) -> Value:
    other = default[0] if default else None
    if is_unknown(key):
        return item_or(ev, x, key, other)
    found = ev.b.heap[x].get(key, ABSENT)
    is_present = present(found)
    if isinstance(is_present, Expr):
        return branch(ev.b, is_present, lambda _: [held(found)], lambda _: [other])[0]
    return found if is_present else other


def _update(ev: Evaluator, x: DictRef, other: DictRef | ListRef) -> Value:
    if isinstance(other, ListRef):
        grow_dict(ev, x, "a dict with the items of one that the running program makes")
    _change(ev, x, {**ev.b.heap[x], **items_of(ev, other)})
    return None


def _make_list(ev: Evaluator, x: Value) -> Value:
    return ev.new_list(list(_contents(ev, x)))


def _concatenated(
    row: Callable[[tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]],
) -> Callable[..., Value]:
    def run(ev: Evaluator, x: ListRef, y: ListRef) -> Value:
        return ev.new_list(row(ev.b.heap[x], ev.b.heap[y]))

    return run


KNOWN_LENGTH = 256
"""A longer list made by repeating is a run-time list at once."""


def _repeat(ev: Evaluator, x: ListRef, times: Value) -> Value:
    if not isinstance(times, int) or len(ev.b.heap[x]) * times > KNOWN_LENGTH:
        return repeat(ev, x, times)
    return ev.new_list(ev.b.heap[x] * times)


def _add_in_place(ev: Evaluator, x: ListRef, y: ListRef) -> Value:
    _change(ev, x, ev.b.heap[x] + ev.b.heap[y])
    return x


def _repeat_in_place(ev: Evaluator, x: ListRef, times: Value) -> Value:
    if not isinstance(times, int):
        ev.b.cannot("a list repeated an unknown number of times")
    _change(ev, x, ev.b.heap[x] * times)
    return x


def _count_items(ev: Evaluator, x: DictRef) -> Value:
    return ev.new_list([TupleValue((k, v)) for k, v in items_of(ev, x).items()])


def _dict(ev: Evaluator, *given: Value) -> Value:
    """`dict()`, of another dict or of a list of pairs."""
    if not given:
        return ev.new_dict({})
    if isinstance(given[0], DictRef):
        return ev.new_dict(items_of(ev, given[0]))
    pairs = [pair.elements for pair in ev.plain(given[0])]
    return dict_of(ev, pairs)


CONTAINER: Rows = {
    "aten::dict": _dict,
    "aten::len": _length,
    "aten::__getitem__": _get_item,
    "aten::_set_item": _set_item,
    "aten::append": _append,
    "aten::extend": _extend,
    "aten::insert.t": _insert,
    "aten::pop": _pop,
    "aten::popitem": _pop_item,
    "aten::setdefault": _set_default,
    "aten::Size": _make_list,
    "aten::Delete": _delete,
    "aten::clear": _clear,
    "aten::reverse": _reverse,
    **{f"aten::sort.{kind}": _sort for kind in ("int", "float", "bool", "str", "Tensor", "any")},
    "aten::sorted": _sorted,
    "aten::copy.t": _copy,
    **{f"aten::copy.Dict_{kind}": _copy for kind in ("str", "int", "bool", "float", "complex")},
    "aten::slice.t": _slice,
    "aten::__contains__": _contains,
    **{f"aten::index.list_{kind}": _index_of for kind in ("int", "float", "bool", "str")},
    **{f"aten::count.{kind}": _count for kind in ("int", "float", "bool", "str", "Tensor")},
    **{f"aten::remove.{kind}": _remove for kind in ("int", "float", "bool", "str", "Tensor")},
    "aten::index.list_Tensor": lambda ev, *_: ev.b.cannot("comparing tensors for equality"),
    "aten::get": _get,
    "aten::update": _update,
    "aten::keys": lambda ev, x: ev.new_list(list(items_of(ev, x))),
    "aten::values": lambda ev, x: ev.new_list(list(items_of(ev, x).values())),
    "aten::items": _count_items,
    "aten::list": _make_list,
    "aten::add.t": _concatenated(lambda x, y: x + y),
    "aten::add_.t": _add_in_place,
    "aten::mul.left_t": _repeat,
    "aten::mul_.t": _repeat_in_place,
    "aten::select.t": _get_item,
    "aten::mul.right_": lambda ev, n, x: _repeat(ev, x, n),
    "prim::rangelist": lambda ev, n: ev.new_list(list(range(n))),
}
