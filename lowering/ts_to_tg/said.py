"""What a program says while it runs: prints and warnings.

Native code records, its caller shows: which `print` or warning was passed goes into one list, and
what only the running program knows into a list for each of them. Nothing is formatted natively, and
branches and loops need nothing new, because lists are references.

```
for i in range(n):           %order = tg.list "new"      (at the start of the function)
    print("step", i)   -->   %seen = tg.list "new"
                             tg.loop %n {^(%i): tg.list "push" %seen, %i
                                                tg.list "push" %order, 0}
```
A call that fails says nothing: the interpreter, which explains the failure, says all up to there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.tg.lists import ListOp, element_of
from tensorscript.dialects.tg.types import ListType, ScalarType
from tensorscript.dialects.ts.locations import place_of

from .boundary import Boundary
from .builder import Builder, Rows
from .evaluator import Evaluator
from .grown import (
    Element,
    ListElement,
    MapElement,
    NumberElement,
    TensorElement,
    TextElement,
    TupleElement,
    columns,
    leaves_of,
    new_grown,
    of_value,
)
from .kinds import is_constant
from .list_actions import perform
from .plan import Said, Saying
from .record import Recorded
from .specs import OutputTree
from .values import DictRef, Grown, ListRef, Tensor, TupleValue, Value, is_scalar
from .variants import held, present

_I64 = ScalarType(int64)


def say(ev: Evaluator, values: Sequence[Value], warning: Operation | None = None) -> None:
    """Record that these values are shown here.

    Args:
        warning: the op, where it is a warning.

    Raises:
        NotCompilable: a value that cannot be recorded.
    """
    b, record = ev.b, ev.record
    if not b.finds_sizes:
        b.cannot("what a program says needs run-time lists")
    slots: list[Value] = []
    parts = tuple(_part(b, v, slots) for v in values)
    if record.order is None:
        with b.at_start():
            record.order = perform(b, "new", (), ListType.of(int64))
    grown = _recorded(b, slots) if slots else None
    number = b.scalar_operand(const(len(record.recorded)))
    push = b.emit(ListOp("push", [record.order, number]))
    told = Recorded(push, parts, grown)
    if warning is not None:
        place = place_of(warning)
        which = warning if place is None else warning.location
        told = replace(told, warning=record.number_of(which), place=place)
    record.recorded.append(told)


def _part(b: Builder, value: Value, slots: list[Value]) -> OutputTree:
    """The tree of a value; what only the running program knows joins `slots`."""
    match value:
        case TupleValue(elements, fields, class_name):
            children = tuple(_part(b, v, slots) for v in elements)
            return OutputTree("tuple", children=children, fields=fields, class_name=class_name)
        case ListRef() if not isinstance(content := b.heap[value], Grown):
            return OutputTree("list", children=tuple(_part(b, v, slots) for v in content))
        case DictRef():
            items = b.heap[value]
            if any(present(v) is not True for v in items.values()):
                b.cannot("a dict whose keys depend on a condition")
            children = tuple(_part(b, held(v), slots) for v in items.values())
            return OutputTree("dict", children=children, keys=tuple(items))
    if is_constant(value) or (is_scalar(value) and not isinstance(value, Expr)):
        return OutputTree("constant", value=value)
    slots.append(value)
    return OutputTree("slot", len(slots) - 1)


def _recorded(b: Builder, slots: Sequence[Value]) -> Grown:
    """A list, made at the start, to which the slots' values are pushed here."""
    found = [of_value(b, v) for v in slots]
    elements = tuple(e for e in found if e is not None)
    if len(elements) < len(found):
        b.cannot("a value that cannot be recorded")
    row = TupleElement(elements)
    with b.at_start():
        made = new_grown(b, row)
    leaves = [leaf for e, v in zip(elements, slots, strict=True) for leaf in _snapshot(b, e, v)]
    for column, leaf in zip(made.columns, leaves, strict=True):
        perform(b, "push", [column, leaf])
    return made


def _snapshot(b: Builder, element: Element, value: Value) -> list[SSAValue]:
    """The leaves of a value as it is now: later changes do not show in them."""
    if isinstance(value, Tensor):
        value = b.copied(value)
    leaves = leaves_of(b, element, value)
    if not isinstance(element, ListElement):
        return leaves
    return [_copy(b, leaf, n) for leaf, n in zip(leaves, _nesting(element), strict=True)]


def _nesting(element: Element) -> list[int]:
    """In how many lists that may change each column of an element lies."""
    match element:
        case ListElement(inner):
            return [n + 1 for n in _nesting(inner)]
        case TupleElement(parts):
            return [n for part in parts for n in _nesting(part)]
        case MapElement(key, value):
            return [*_nesting(key), *_nesting(value)]
        case NumberElement() | TextElement() | TensorElement():
            return [0] * len(columns(element))


def _copy(b: Builder, column: SSAValue, nesting: int) -> SSAValue:
    """A copy of a list, down to lists that do not change."""
    type_ = column.type
    assert isinstance(type_, ListType)
    if nesting < 2:
        count = perform(b, "length", [column], _I64)
        ends = [b.scalar_operand(const(0)), b.scalar_operand(const(1)), count]
        return perform(b, "slice", [column, *ends], type_)
    lengths = perform(b, "lengths", [column], ListType.of(int64))
    inner = _copy(b, perform(b, "join", [column], element_of(type_)), nesting - 1)
    return perform(b, "split", [inner, lengths], type_)


def said(own: Boundary) -> Said | None:
    """What a specialised program may say; the lists of its record become results."""
    b, record = own.builder, own.evaluator.record
    kept = dict(record.kept(b.entry))
    if not kept or record.order is None:
        return None
    order = own.leaf(record.order)
    unused = Saying(())
    numbers = range(max(kept) + 1)
    return Said(order, tuple(_saying(own, kept[n]) if n in kept else unused for n in numbers))


def _saying(own: Boundary, told: Recorded) -> Saying:
    rows = None
    if (slots := told.slots) is not None:
        rows = own.elements(slots.element, iter(slots.columns))
    return Saying(told.parts, rows, told.warning, told.place)


def _warn(ev: Evaluator, message: Value, *_: Value) -> Value:
    """`warnings.warn(message)`; as in TorchScript the stack level is ignored."""
    say(ev, [message], ev.op)
    return None


SAID: Rows = {"aten::warn": _warn}
