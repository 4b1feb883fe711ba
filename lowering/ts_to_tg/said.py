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

Exported code has no such caller, and writes texts at once: prints to the standard output, warnings
to the standard error.
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
from .branches import branch
from .builder import Builder, Rows
from .element_kinds import (
    Element,
    ListElement,
    MapElement,
    NumberElement,
    OptionalElement,
    RecordElement,
    TensorElement,
    TextElement,
    TupleElement,
    columns,
    of_value,
)
from .evaluator import Evaluator
from .grown import leaves_of, new_grown
from .kinds import is_constant
from .list_actions import perform
from .plan import Said, Saying
from .record import Recorded
from .shown import shown
from .specs import OutputTree
from .text_values import is_textual, text_column
from .values import DictRef, Grown, ListRef, Tensor, TupleValue, UnknownString, Value, is_scalar
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
    if record.alone:
        _write(ev, values, warning)
        return
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


STDOUT, STDERR = 1, 2
"""Where exported code writes what it says."""


def _write(ev: Evaluator, values: Sequence[Value], warning: Operation | None) -> None:
    """Write the texts of values here: a line for a print, a warning with its place once a run."""
    b, stream = ev.b, STDOUT if warning is None else STDERR
    parts = [p for v in values for p in (" ", v)][1:]
    place = None if warning is None else place_of(warning)
    told = "" if warning is None else "UserWarning: "
    head = told if place is None else f"{place[0]}:{place[1]}: {told}"
    text = shown(ev, [head, *parts, "\n"])
    if not is_textual(text):
        b.cannot("the text of a value that exported code cannot spell")

    def write(_: Sequence[Value]) -> list[Value]:
        operands = [text_column(b, text), b.scalar_operand(const(stream))]
        b.emit(ListOp("write", operands))
        return []

    if warning is None:
        write([])
        return
    number = ev.record.number_of(warning if place is None else warning.location)
    if number not in ev.record.warned:
        with b.at_start():
            ev.record.warned[number] = perform(b, "new", (), ListType.of(int64))
    before = ev.record.warned[number]

    def first(_: Sequence[Value]) -> list[Value]:
        perform(b, "push", [before, b.scalar_operand(const(1))])
        return write([])

    count = b.scalar_of(perform(b, "length", [before], _I64))
    branch(b, count.equals(0), first, lambda _: [])


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
        case UnknownString() if value.pieces:
            return OutputTree("shown", children=tuple(_part(b, v, slots) for v in value.pieces))
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
        case TupleElement(parts) | RecordElement(elements=parts):
            return [n for part in parts for n in _nesting(part)]
        case MapElement(key, value):
            return [*_nesting(key), *_nesting(value)]
        case OptionalElement(held_element):
            return [0, *(_nesting(held_element) if held_element is not None else ())]
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
