"""Values as strings: `str(x)`, `"{}".format(x)`, `"%s" % x`.

What is known is written now. Of what only the running program knows native code makes the text:
numbers, strings, and lists, tuples and dicts of these. Texts with tensors in them the caller makes
of a returned string's pieces; else they only show in messages, as `{}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tensorscript.base.dtypes import float64, int64
from tensorscript.base.text import single_text
from tensorscript.dialects.te.expr import Expr, binary

from .branches import branch
from .builder import Rows
from .element_kinds import (
    Element,
    ListElement,
    MapElement,
    NumberElement,
    TextElement,
    TupleElement,
)
from .elements import as_expr, convert, known
from .evaluator import Evaluator
from .kinds import is_constant
from .list_access import fetch, length
from .list_actions import perform
from .loops import LONG, loop
from .scalar_values import to_text
from .text_access import size_of
from .text_digits import text_of_float, text_of_number
from .text_values import TEXT, is_textual, joined_text, text_column
from .texts import character
from .values import (
    DictRef,
    Grown,
    ListRef,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
    is_scalar,
)
from .variants import held, present


class _NoText(Exception):
    """Native code does not make the text of a value."""


def _pieces(ev: Evaluator, value: Value) -> Iterator[Value]:
    """Strings, known or not, that are the text of a value one after the other.

    Raises:
        _NoText: there is none.
    """
    if isinstance(value, _Item):
        yield from _pieces(ev, value.key)
        yield ": "
        yield from _pieces(ev, value.value)
    elif is_textual(value):
        yield value
    elif isinstance(value, UnknownString) and value.pieces:
        yield from value.pieces
    elif isinstance(value, Tensor):
        yield ev.b.copied(value)
    elif isinstance(value, Expr):
        yield text_of_number(ev.b, value)
    elif is_scalar(value) or is_constant(value):
        yield to_text(value)
    elif isinstance(value, TupleValue):
        yield from _listed(ev, value.elements, "(", ",)" if len(value.elements) == 1 else ")")
    elif isinstance(value, ListRef) and isinstance(content := ev.b.heap[value], Grown):
        yield _of_grown(ev, content)
    elif isinstance(value, ListRef):
        yield from _listed(ev, content, "[", "]")
    elif isinstance(value, DictRef):
        items = ev.b.heap[value]
        if any(present(v) is not True for v in items.values()):
            raise _NoText
        pairs = [_Item(k, held(v)) for k, v in items.items()]
        yield from _listed(ev, pairs, "{", "}")
    else:
        raise _NoText


class _Item:
    """An item of a dict."""

    def __init__(self, key: Value, value: Value) -> None:
        self.key, self.value = key, value


def _listed(ev: Evaluator, values: Iterable[Value], start: str, end: str) -> Iterator[Value]:
    yield start
    for k, value in enumerate(values):
        if k:
            yield ", "
        yield from _pieces(ev, value)
    yield end


def _has_text(element: Element) -> bool:
    """Whether native code makes texts of what a run-time list holds."""
    match element:
        case TupleElement(parts):
            return all(map(_has_text, parts))
        case MapElement(key, value):
            return _has_text(key) and _has_text(value)
        case ListElement(inner):
            return _has_text(inner)
    return isinstance(element, NumberElement | TextElement)


def _of_grown(ev: Evaluator, content: Grown) -> Text:
    """The text of a run-time list or dict."""
    if not _has_text(content.element):
        raise _NoText
    b = ev.b
    is_map = isinstance(content.element, MapElement)
    out = perform(b, "new", (), TEXT)

    def append(text: Value) -> None:
        perform(b, "extend", [out, text_column(b, text)])

    def separate(_: Sequence[Value]) -> list[Value]:
        append(", ")
        return []

    def element(values: Sequence[Value]) -> list[Value]:
        at = as_expr(values[0])
        branch(b, binary("gt", at, 0), separate, lambda _: [])
        found = fetch(b, content, at)
        shown = _Item(*found.elements) if is_map else found
        for piece in _joined_known(_pieces(ev, shown)):
            append(piece)
        return [True]

    append("{" if is_map else "[")
    loop(b, length(b, content), True, [], element, LONG)
    append("}" if is_map else "]")
    return Text(out)


def _joined_known(pieces: Iterable[Value]) -> list[Value]:
    """Pieces with known ones that follow one another joined."""
    out: list[Value] = []
    for piece in pieces:
        if out and isinstance(piece, str) and isinstance(out[-1], str):
            out[-1] += piece
        else:
            out.append(piece)
    return out


def _message(ev: Evaluator, value: Value) -> str:
    """The text of a value as messages show it."""
    match value:
        case ListRef():
            content = ev.b.heap[value]
            if isinstance(content, Grown):
                return "{}"
            return "[" + ", ".join(_message(ev, v) for v in content) + "]"
        case TupleValue(elements):
            return "(" + ", ".join(_message(ev, v) for v in elements) + ")"
    return to_text(value) if is_scalar(value) or is_constant(value) else _of_unknown(value)


def _of_unknown(value: Value) -> str:
    return to_text(value) if isinstance(value, Text | UnknownString) else "{}"


def shown(ev: Evaluator, values: Sequence[Value]) -> Value:
    """The texts of values, one after the other, as one string."""
    try:
        pieces = _joined_known(piece for v in values for piece in _pieces(ev, v))
    except _NoText:
        return UnknownString("".join(_message(ev, v) for v in values))
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    message = "".join(_message(ev, v) for v in values)
    if any(isinstance(piece, Tensor) for piece in pieces):
        return UnknownString(message, tuple(pieces))
    if not ev.b.finds_sizes:
        return UnknownString(message)
    return joined_text(ev.b, pieces, message) if len(pieces) > 1 else pieces[0]


_FIELD = re.compile(r"\{(\d*)(:[^{}]*)?\}")


def _format(ev: Evaluator, template: Value, *values: Value) -> Value:
    """`template.format(*values)`; text in braces that is no field stays."""
    if not isinstance(template, str):
        return UnknownString("".join(map(to_text, (template, *map(_of_unknown, values)))))
    numbers = [m[1] for m in _FIELD.finditer(template)]
    is_numbered = bool(numbers) and all(numbers)
    parts: list[Value] = []
    end = taken = 0
    for field in _FIELD.finditer(template):
        if field[2]:
            ev.b.cannot("a format with specifications in its fields")
        if field[1] and not is_numbered:
            continue
        at = int(field[1]) if field[1] else taken
        if at >= len(values):
            ev.b.error(f"Too few arguments for format string: {template}")
        taken += 1
        parts += [template[end : field.start()], values[at]]
        end = field.end()
    return shown(ev, [*parts, template[end:]])


def _percent_format(ev: Evaluator, text: Value, *arguments: Value) -> Value:
    """`text % values`; what is wrong with it is told as eager mode tells it."""
    given = list(arguments)
    if len(given) == 1 and isinstance(given[0], TupleValue):
        given = list(given[0].elements)
    if not isinstance(text, str):
        ev.b.cannot("a format that is not known")
    parts: list[Value] = []
    for piece in re.split("(%.?)", text, flags=re.DOTALL):
        if not piece.startswith("%") or piece == "%%":
            parts.append(piece[-1:] if piece == "%%" else piece)
            continue
        letter = piece[1:]
        if not letter:
            ev.b.error("Incomplete format specifier")
        if letter not in "dieEfFsc":
            ev.b.error(f"The specifier {piece} is not supported in TorchScript format strings")
        if not given:
            ev.b.error("Too few arguments for format string")
        value = given.pop(0)
        parts.append(value if letter == "s" else _specified(ev, letter, value))
    if given:
        ev.b.error("Too many arguments for format string")
    return shown(ev, parts)


def _specified(ev: Evaluator, letter: str, value: Value) -> Value:
    """The text of a number, or of a character for `%c`, or the number that is shown for it."""
    if letter == "c" and is_textual(value):
        ev.b.check(known(binary("eq", size_of(ev.b, value), 1)), "%c requires an int or char")
        return value
    dtype = as_expr(value).dtype if is_scalar(value) else None
    if dtype is not int64 and (letter == "c" or dtype is not float64):
        ev.b.error(f"%{letter} requires a number for formatting")
    if letter == "c":
        return character(ev, value) if isinstance(value, Expr) else chr(value & 255)
    if letter in "di":
        return known(convert(value, int64)) if isinstance(value, Expr) else int(value)
    if isinstance(value, Expr):
        return text_of_float(ev.b, convert(value, float64), letter)
    return single_text(float(value), letter)


def _based(prefix: str, base: int) -> Rows:
    """`hex(n)` and the like."""
    name = {2: "bin", 8: "oct", 16: "hex"}[base]
    fold = {2: bin, 8: oct, 16: hex}[base]

    def row(ev: Evaluator, number: Value) -> Value:
        if not isinstance(number, Expr):
            return fold(number)
        return text_of_number(ev.b, number, base, prefix)

    return {f"aten::{name}": row}


OF_CONTAINERS: Rows = {"aten::str": lambda ev, x: shown(ev, [x])}
"""Rows on run-time lists and dicts."""

SHOWN: Rows = {
    **OF_CONTAINERS,
    "aten::format": _format,
    "aten::percentFormat": _percent_format,
    **_based("0b", 2),
    **_based("0o", 8),
    **_based("0x", 16),
}
"""Rows on values of any kind; they see references."""
