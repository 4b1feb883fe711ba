"""Rows on the characters of strings that the running program makes: kinds, case, padding, numbers.

Only ASCII letters have case, as in TorchScript.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import bool_, float64
from tensorscript.dialects.te.expr import Expr, binary, const, select, unary
from tensorscript.dialects.tg.types import ScalarType

from .builder import Builder, Rows
from .elements import as_expr, known
from .evaluator import Evaluator
from .list_access import check, fetch, length, named
from .list_actions import perform
from .loops import LONG, loop
from .text_access import numbers_of, size_of
from .text_values import TEXT, text_column
from .values import Text, Value


def _between(e: Expr, low: str, high: str) -> Expr:
    return binary("and", binary("ge", e, ord(low)), binary("le", e, ord(high)))


def _is_upper(e: Expr) -> Expr:
    return _between(e, "A", "Z")


def _is_lower(e: Expr) -> Expr:
    return _between(e, "a", "z")


def _is_letter(e: Expr) -> Expr:
    return binary("or", _is_upper(e), _is_lower(e))


def _is_digit(e: Expr) -> Expr:
    return _between(e, "0", "9")


def _is_space(e: Expr) -> Expr:
    controls = binary("or", _between(e, "\t", "\r"), _between(e, "\x1c", "\x1f"))
    return binary("or", controls, e.equals(ord(" ")))


def _characters(b: Builder, text: Value) -> tuple[Expr, Callable[[Value], Expr]]:
    """(how many there are, the one at a place)."""
    content = numbers_of(b, text)
    return length(b, content), lambda at: as_expr(fetch(b, content, as_expr(at)))


# --- kinds ------------------------------------------------------------------------------------


def _all(holds: Callable[[Expr], Expr]) -> Callable[..., Value]:
    """Whether there are characters, and all are of a kind."""

    def row(ev: Evaluator, text: Value) -> Value:
        b = ev.b
        size, at = _characters(b, text)

        def step(values: Sequence[Value]) -> list[Value]:
            fits = known(named(b, holds(at(values[0]))))
            return [fits, fits]

        some = known(named(b, binary("gt", size, 0)))
        return loop(b, size, True, [some], step, LONG)[0]

    return row


def _cased(wanted: Callable[[Expr], Expr], other: Callable[[Expr], Expr]) -> Callable[..., Value]:
    """Whether there are letters of one case, and none of the other."""

    def row(ev: Evaluator, text: Value) -> Value:
        b = ev.b
        size, at = _characters(b, text)

        def step(values: Sequence[Value]) -> list[Value]:
            code, seen = at(values[0]), as_expr(values[1])
            fits = known(named(b, unary("not", other(code))))
            some = binary("or", seen, wanted(code))
            return [fits, known(named(b, binary("and", some, as_expr(fits))))]

        return loop(b, size, True, [known(named(b, size < 0))], step, LONG)[0]

    return row


def _is_title(ev: Evaluator, text: Value) -> Value:
    """Whether each word starts with a large letter, and goes on with small ones."""
    b = ev.b
    size, at = _characters(b, text)

    def step(values: Sequence[Value]) -> list[Value]:
        code, inside = at(values[0]), as_expr(values[2])
        fits = select(inside, unary("not", _is_upper(code)), unary("not", _is_lower(code)))
        some = binary("and", binary("or", as_expr(values[1]), _is_letter(code)), fits)
        return [known(named(b, e)) for e in (fits, some, _is_letter(code))]

    never = known(named(b, size < 0))
    return loop(b, size, True, [never, never], step, LONG)[0]


# --- case -------------------------------------------------------------------------------------


def _upper(e: Expr) -> Expr:
    return select(_is_lower(e), e - 32, e)


def _lower(e: Expr) -> Expr:
    return select(_is_upper(e), e + 32, e)


def _mapped(change: Callable[[Expr, Expr, Expr], Expr]) -> Callable[..., Value]:
    """Each character changed by itself, its place, and whether a letter stands before it."""

    def row(ev: Evaluator, text: Value) -> Value:
        b = ev.b
        size, at = _characters(b, text)
        out = perform(b, "new", (), TEXT)

        def step(values: Sequence[Value]) -> list[Value]:
            place, inside = map(as_expr, values)
            code = at(place)
            perform(b, "push", [out, b.scalar_operand(change(code, place, inside))])
            return [True, known(named(b, _is_letter(code)))]

        loop(b, size, True, [known(named(b, size < 0))], step, LONG)
        return Text(out)

    return row


# --- padding ----------------------------------------------------------------------------------


def _padded(left: Callable[[Expr, Expr], Expr]) -> Callable[..., Value]:
    """Filled up to a width; `left` of (missing, width) is how many of them stand in front."""

    def row(ev: Evaluator, text: Value, width: Value, fill: Value = " ") -> Value:
        b = ev.b
        if not isinstance(fill, str) or len(fill.encode()) != 1:
            b.cannot("filling up a string with this character")
        wide = named(b, as_expr(width))
        missing = named(b, binary("max", wide - size_of(b, text), 0))
        before = named(b, left(missing, wide))
        out = perform(b, "new", (), TEXT)
        for piece in (before, text, missing - before):
            if isinstance(piece, Expr):
                code = b.scalar_operand(const(ord(fill)))
                column = perform(b, "fill", [code, b.scalar_operand(piece)], TEXT)
            else:
                column = text_column(b, piece)
            perform(b, "extend", [out, column])
        return Text(out)

    return row


_right_justified = _padded(lambda missing, width: missing)


def _zero_filled(ev: Evaluator, text: Value, width: Value) -> Value:
    return _right_justified(ev, text, width, "0")


def _centered_left(missing: Expr, width: Expr) -> Expr:
    """Half of what is missing; of an odd number the larger half where the width is odd."""
    odd = binary("and", (missing % 2).equals(1), (width % 2).equals(1))
    return missing // 2 + select(odd, const(1), const(0))


# --- numbers ----------------------------------------------------------------------------------


def _integer(ev: Evaluator, text: Value, base: Value = 10) -> Value:
    """`int(text)`: white space, a sign and digits."""
    b = ev.b
    if base != 10:
        b.cannot("an int of a string with another base")
    size, at = _characters(b, text)

    def skip(values: Sequence[Value]) -> list[Value]:
        space = known(named(b, _is_space(at(values[0]))))
        return [space, select(as_expr(space), as_expr(values[1]) + 1, as_expr(values[1]))]

    start = named(b, as_expr(loop(b, size, True, [0], skip, LONG)[0]))
    first = _code_at(b, text, start, size)
    minus = named(b, first.equals(ord("-")))
    signed = binary("or", minus, first.equals(ord("+")))
    begin = named(b, start + select(signed, const(1), const(0)))

    def step(values: Sequence[Value]) -> list[Value]:
        code, total = at(named(b, as_expr(values[0]) + begin)), as_expr(values[2])
        fits = known(named(b, _is_digit(code)))
        return [fits, fits, known(named(b, total * 10 + (code - ord("0"))))]

    some = known(named(b, binary("lt", begin, size)))
    trips = named(b, binary("max", size - begin, 0))
    fits, total = loop(b, trips, True, [some, 0], step, LONG)
    check(b, fits, "invalid literal for int() with base 10: '{}'")
    e = as_expr(total)
    return known(named(b, select(minus, -e, e)))


def _code_at(b: Builder, text: Value, at: Expr, size: Expr) -> Expr:
    """The character at a place, 0 behind the end."""
    content = numbers_of(b, text)

    def read(_: Sequence[Value]) -> list[Value]:
        return [False, fetch(b, content, at)]

    inside = known(named(b, binary("lt", at, size)))
    return as_expr(loop(b, 1, inside, [0], read, LONG)[0])


def _float(ev: Evaluator, text: Value) -> Value:
    """`float(text)`."""
    b, column = ev.b, text_column(ev.b, text)
    fits = b.scalar_of(perform(b, "parses", [column], ScalarType(bool_)))
    check(b, fits, "could not convert string to float: '{}'")
    return b.scalar_of(perform(b, "parse", [column], ScalarType(float64)))


TEXT_LETTERS: Rows = {
    "aten::isdigit": _all(_is_digit),
    "aten::isdecimal": _all(_is_digit),
    "aten::isnumeric": _all(_is_digit),
    "aten::isalpha": _all(_is_letter),
    "aten::isalnum": _all(lambda e: binary("or", _is_letter(e), _is_digit(e))),
    "aten::isspace": _all(_is_space),
    "aten::isupper": _cased(_is_upper, _is_lower),
    "aten::islower": _cased(_is_lower, _is_upper),
    "aten::istitle": _is_title,
    "aten::lower": _mapped(lambda e, place, inside: _lower(e)),
    "aten::upper": _mapped(lambda e, place, inside: _upper(e)),
    "aten::swapcase": _mapped(lambda e, place, inside: select(_is_upper(e), e + 32, _upper(e))),
    "aten::capitalize": _mapped(
        lambda e, place, inside: select(place.equals(0), _upper(e), _lower(e))
    ),
    "aten::title": _mapped(lambda e, place, inside: select(inside, _lower(e), _upper(e))),
    "aten::ljust": _padded(lambda missing, width: const(0)),
    "aten::rjust": _right_justified,
    "aten::center": _padded(_centered_left),
    "aten::zfill": _zero_filled,
    "aten::Int": _integer,
    "aten::Float": _float,
}
