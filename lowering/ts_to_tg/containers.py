"""Rows on lists, dicts, strings and objects: they see references and may change the heap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.dialects.te.expr import Expr, binary, select
from tensorscript.dialects.ts.constants import Device, EnumRef
from tensorscript.dialects.ts.types import OPEN_TYPES, ClassType, ListType

from .builder import Rows
from .control import branch
from .dicts import dict_of, grow_dict, holds, is_unknown, item_or, item_under, items_of
from .elements import as_expr, known
from .evaluator import Evaluator
from .kinds import is_constant, variant
from .lists import grow, list_of_tensor, repeat
from .merge import same_value
from .scalars import SCALAR, row_eq
from .strings import STRINGS
from .structure import enum_member
from .values import (
    ABSENT,
    ComplexTensor,
    DictRef,
    FutureValue,
    ListRef,
    ObjectRef,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
)
from .variants import held, present


def _contents(ev: Evaluator, x: Value) -> Value:
    if isinstance(x, DictRef):
        return items_of(ev, x)
    return ev.b.heap[x] if isinstance(x, ListRef) else x


def _change(ev: Evaluator, x: ListRef | DictRef, content: Value) -> None:
    if x.shared and isinstance(x, ListRef):
        grow(ev, x, "changing a list that may be the same as another one")
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
        if isinstance(x, ListRef) and x.sites and len(ev.b.scopes) > 1:
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
    return isinstance(value, Expr | Tensor)


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
    part = _contents(ev, x)[slice(start, stop, step)]
    return part if isinstance(x, str) else ev.new_list(part)


def _contains(ev: Evaluator, x: Value, value: Value) -> Value:
    content = ev.b.heap[x] if isinstance(x, DictRef) else _contents(ev, x)
    if isinstance(x, DictRef) and is_unknown(value):
        return holds(ev, x, value)
    if isinstance(content, dict):
        return present(content.get(value, ABSENT))
    if isinstance(content, str):
        return value in content
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
    if isinstance(value, Tensor):
        ev.b.cannot("comparing tensors for equality")
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


def _dtype_code(ev: Evaluator, x: Tensor) -> Value:
    return x.dtype.code


def _shape(ev: Evaluator, x: Tensor) -> Value:
    return ev.boxed(list(x.shape))


def _is_category(category: str) -> Callable[..., Value]:
    return lambda ev, x, *_: bool(getattr(x.dtype, category))


def _wait(ev: Evaluator, x: FutureValue) -> Value:
    return x.value


def _item(ev: Evaluator, x: Value) -> Value:
    if isinstance(x, ComplexTensor):
        ev.b.cannot("a complex number that is not known")
    if not isinstance(x, Tensor):
        return x
    ev.b.single(x, "a Tensor with several elements cannot be converted to Scalar")
    return ev.boxed(ev.b.item(x))


def _converted(name: str, dtype: object) -> Callable[..., Value]:
    """Int, Float, Bool of a tensor or a number."""

    def row(ev: Evaluator, x: Value, *_: Value) -> Value:
        value = x if isinstance(x, str) else _item(ev, x)
        return ev.boxed(ev.scalar_rows[name](ev.b, value))

    return row


def _device(ev: Evaluator, text: Value, index: Value = None) -> Value:
    """`torch.device("cpu")`, where all tensors are."""
    if text != "cpu" or index is not None:
        ev.b.cannot("a device other than the CPU")
    return Device(text)


_TWO_OBJECTS = EnumRef | str | complex | TupleValue
"""Of which each argument and each constant is another object."""


def _is(ev: Evaluator, x: Value, y: Value) -> Value:
    assert ev.op is not None
    if ev.op.operands[0] is ev.op.operands[1]:
        return True
    if isinstance(x, _TWO_OBJECTS) and isinstance(y, _TWO_OBJECTS):
        return False
    if isinstance(x, ListRef | DictRef) and isinstance(y, ListRef | DictRef):
        return x is y
    return ev.scalar_rows["aten::__is__"](ev.b, ev.plain(x), ev.plain(y))


def _implicit_int(ev: Evaluator, x: Value, *_: Value) -> Value:
    """A tensor where an int is asked must hold ints."""
    if isinstance(x, Tensor) and x.dtype.is_floating_point:
        ev.b.error(f"Cannot input a tensor of type {x.dtype.word} as an integral argument")
    return _converted("aten::Int", int64)(ev, x)


def _to_list(ev: Evaluator, x: Tensor, depth: int, kind: int) -> Value:
    """`x.tolist()`: the annotation said how deep the list is and what it is of."""
    if depth != x.rank:
        ev.b.error(
            "Output annotation list dimension and runtime tensor dimension must match for tolist()"
        )
    found = x.dtype
    fits = (found is int64, found.is_floating_point, found is bool_, found.is_complex)
    if not fits[kind]:
        ev.b.error(
            "Output annotation element type and runtime tensor element type must match for "
            f"tolist(): {('Long', 'Double', 'Bool', 'ComplexDouble')[kind]} vs {found.word}"
        )

    def part(t: Tensor) -> Value:
        if not t.rank:
            return _item(ev, t)
        if t.shape[0].op != "const":
            if t is x and t.rank == 1:
                return list_of_tensor(ev, t)
            ev.b.cannot("tolist of a size that is not known")
        size = int(str(t.shape[0].value))
        return ev.new_list([part(ev.b.call("aten::select", t, 0, k)) for k in range(size)])

    return part(x)


def _unwrapped(ev: Evaluator, x: Value) -> Value:
    if x is None:
        ev.b.error("Unwrapping null optional")
    return x


def _num_to_tensor(ev: Evaluator, x: Value) -> Value:
    return ev.b.call("aten::tensor", x)


def _dict(ev: Evaluator, *given: Value) -> Value:
    """`dict()`, of another dict or of a list of pairs."""
    if not given:
        return ev.new_dict({})
    if isinstance(given[0], DictRef):
        return ev.new_dict(items_of(ev, given[0]))
    pairs = [pair.elements for pair in ev.plain(given[0])]
    return dict_of(ev, pairs)


_ABSENT = (
    "cuda", "meta", "quantized", "mtia", "ipu", "vulkan", "mps", "mkldnn", "sparse",
    "sparse_csr", "xpu", "xla",
)  # fmt: skip
"""What no tensor of a compiled program ever is."""


def _record(ev: Evaluator, *_: Value) -> Value:
    """What a profiler would be told by; there is none, so it holds nothing."""
    assert ev.op is not None
    found = ev.op.results[0].type
    assert isinstance(found, ClassType)
    made = ObjectRef(found.class_name.data)
    ev.b.heap[made] = {}
    return made


CONTAINER: Rows = {
    **STRINGS,
    "aten::dict": _dict,
    "aten::len": _length,
    "aten::__getitem__": _get_item,
    "aten::_set_item": _set_item,
    "aten::append": _append,
    "aten::extend": _extend,
    "aten::insert.t": _insert,
    "aten::pop": _pop,
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
    "aten::size": lambda ev, x, *d: ev.boxed(ev.b.call("tg::size", x, *d)),
    "aten::sym_size": lambda ev, x, *d: ev.boxed(ev.b.call("tg::size", x, *d)),
    "prim::shape": _shape,
    "prim::dtype": _dtype_code,
    "prim::device": lambda ev, x: Device("cpu"),
    "aten::device": _device,
    "prim::layout": lambda ev, x: 0,
    "prim::requires_grad": lambda ev, x: x.storage in ev.requiring_grad,
    "prim::type": lambda ev, x: x.text.partition(":")[0],
    "prim::is_cpu": lambda ev, x: True,
    **{f"prim::is_{kind}": lambda ev, x: False for kind in _ABSENT},
    "prim::is_nested": lambda ev, x: x in ev.b.nested,
    "prim::data": lambda ev, x: x,
    "prim::unchecked_unwrap_optional": _unwrapped,
    "aten::_unwrap_optional": _unwrapped,
    "aten::is_floating_point": _is_category("is_floating_point"),
    "aten::is_complex": _is_category("is_complex"),
    "aten::get_device": lambda ev, x: -1,
    "prim::NumToTensor": _num_to_tensor,
    "prim::tolist": _to_list,
    "prim::EnumName": lambda ev, x: x.member,
    "prim::EnumValue": lambda ev, x: enum_member(ev, x),
    "prim::rangelist": lambda ev, n: ev.new_list(list(range(n))),
    "aten::wait": _wait,
    "aten::is_autocast_enabled": lambda ev: ev.autocast.gpu,
    "aten::is_autocast_cpu_enabled": lambda ev: ev.autocast.cpu,
    "profiler::_record_function_enter_new": _record,
    "profiler::_record_function_enter": lambda ev, *_: ev.b.call("aten::zeros", [1]),
    "profiler::_record_function_exit": lambda ev, *_: None,
    "aten::item": _item,
    "aten::_local_scalar_dense": _item,
    "aten::Int": _converted("aten::Int", int64),
    "aten::__is__": _is,
    "aten::__isnot__": lambda ev, x, y: ev.scalar_rows["aten::__not__"](ev.b, _is(ev, x, y)),
    "aten::IntImplicit": _implicit_int,
    "aten::Float": _converted("aten::Float", float64),
    "aten::FloatImplicit": _converted("aten::Float", float64),
    "aten::Bool": _converted("aten::Bool", bool_),
    "aten::ScalarImplicit": _item,
}
