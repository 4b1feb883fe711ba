"""Rows that look for parts of strings that the running program makes: places, counts, pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.records import dataclass
from tensorscript.base.text import NO_PIECE
from tensorscript.dialects.te.expr import Expr, binary, const, known_as, select, unary
from tensorscript.dialects.tg.types import ScalarType

from .branches import branch
from .builder import Builder, Rows
from .element_kinds import TextElement
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import fill, new_grown
from .list_access import check, fetch, length, named
from .list_actions import perform
from .loops import ENDLESS, LONG, loop
from .text_access import numbers_of, same_text, size_of, slice_of
from .text_values import TEXT, text_column
from .values import Grown, ListRef, Text, TupleValue, Value

_I64, _B1 = ScalarType(int64), ScalarType(bool_)
_SPACE = " \t\n\r\v\f\x1c\x1d\x1e\x1f"
_BREAKS = "\n\r\v\f\x1c\x1d\x1e"


def _search(b: Builder, text: Value, part: Value, start: Expr, step: int = 1) -> Expr:
    """The first place from `start` on at which a part stands, -1 if there is none."""
    columns = [text_column(b, text), text_column(b, part)]
    ends = [b.scalar_operand(start), b.scalar_operand(const(step))]
    return b.scalar_of(perform(b, "search", [*columns, *ends], _I64))


@dataclass(frozen=True)
class _Bounds:
    """Where `find` and the like search: from `first` up to `last` in a text of `size` bytes."""

    first: Expr
    last: Expr
    size: Expr

    def piece(self, b: Builder, text: Value, is_empty: bool) -> Value:
        """C++'s `substr` of them. Of bounds in the wrong order it is the whole rest, unless such
        are `is_empty`."""
        if (self.first, self.last) == (const(0), self.size):
            return text
        is_ordered = named(b, binary("gt" if is_empty else "ge", self.last, self.first))
        begins = binary("le", self.first, self.size)
        if is_empty:
            begins = binary("or", begins, unary("not", is_ordered))
        check(b, named(b, begins), NO_PIECE)
        rest = const(0) if is_empty else self.size
        end = select(is_ordered, binary("min", self.last, self.size), rest)
        count = binary("max", end - self.first, 0)
        return slice_of(b, text, named(b, binary("min", self.first, self.size)), named(b, count))


def _bounds(b: Builder, text: Value, start: Value, end: Value) -> _Bounds:
    """What negative ones mean; as an end, -1 is that of the text."""
    size = size_of(b, text)

    def counted(value: Value, whole: Expr) -> Expr:
        e = named(b, value)
        return named(b, binary("max", select(e < 0, e + whole, e), 0))

    first = const(0) if known_as(start, 0) else counted(start, size)
    return _Bounds(first, size if known_as(end, -1) else counted(end, size + 1), size)


def _place(backwards: bool) -> Callable[..., Expr]:
    def row(ev: Evaluator, text: Value, part: Value, start: Value = 0, end: Value = -1) -> Expr:
        b = ev.b
        bounds = _bounds(b, text, start, end)
        inner = bounds.piece(b, text, is_empty=True)
        if backwards:
            found = _search(b, inner, part, size_of(b, inner) - size_of(b, part), -1)
        else:
            found = _search(b, inner, part, const(0))
        return named(b, select(binary("ge", found, 0), found + bounds.first, const(-1)))

    return row


def _index(place: Callable[..., Expr]) -> Callable[..., Value]:
    def row(ev: Evaluator, *arguments: Value) -> Value:
        found = place(ev, *arguments)
        check(ev.b, binary("ge", found, 0), "ValueError: substring not found")
        return found

    return row


def _each_place(
    b: Builder, text: Value, part: Value, use: Callable[[Expr, Expr], None]
) -> tuple[Expr, Expr]:
    """(how often a part that is not empty stands in a text, where the last one ends); `use` gets
    where the one before ended, and where this one starts."""
    width = named(b, size_of(b, part))

    def step(values: Sequence[Value]) -> list[Value]:
        count, done, at = map(as_expr, values[1:])
        use(done, at)
        after = named(b, at + width)
        following = _search(b, text, part, after)
        return [binary("ge", following, 0), count + 1, after, following]

    first = _search(b, text, part, const(0))
    found = loop(b, ENDLESS, known(binary("ge", first, 0)), [0, 0, first], step, LONG)
    return as_expr(found[0]), as_expr(found[1])


def _count(ev: Evaluator, text: Value, part: Value, start: Value = 0, end: Value = -1) -> Value:
    b = ev.b
    bounds = _bounds(b, text, start, end)
    width = size_of(b, part)
    some = named(b, binary("gt", bounds.last, bounds.first))
    # Those that begin in the bounds: a last one may end behind them.
    behind = bounds.last + (binary("max", width, 1) - 1)
    last = named(b, select(some, binary("min", behind, bounds.size), bounds.first))
    first = named(b, binary("min", bounds.first, bounds.size))
    inner = _Bounds(first, binary("max", last, first), bounds.size).piece(b, text, is_empty=True)
    empty = named(b, width.equals(0))

    def of_empty(_: Sequence[Value]) -> list[Value]:
        return [known(named(b, size_of(b, inner) + 1))]

    def of_some(_: Sequence[Value]) -> list[Value]:
        return [known(_each_place(b, inner, part, lambda done, at: None)[0])]

    if isinstance(part, str):
        (count,) = of_some([]) if part else of_empty([])
    else:
        (count,) = branch(b, empty, of_empty, of_some)
    inside = binary("and", some, binary("le", bounds.first, bounds.size))
    return known(named(b, select(inside, as_expr(count), const(0))))


def _needs_part(ev: Evaluator, part: Value) -> None:
    if not isinstance(part, str) or not part:
        ev.b.cannot("looking for a part of a string that may be empty")


def _replace(ev: Evaluator, text: Value, old: Value, new: Value, limit: Value = -1) -> Value:
    b = ev.b
    _needs_part(ev, old)
    if not known_as(limit, -1):
        b.cannot("replacing a number of parts of a string")
    out, put = perform(b, "new", (), TEXT), text_column(b, new)

    def use(done: Expr, at: Expr) -> None:
        perform(b, "extend", [out, slice_of(b, text, done, at - done).column])
        perform(b, "extend", [out, put])

    _, end = _each_place(b, text, old, use)
    perform(b, "extend", [out, slice_of(b, text, end, size_of(b, text) - end).column])
    return Text(out)


# --- pieces -----------------------------------------------------------------------------------


def new_texts(ev: Evaluator, content: Grown) -> ListRef:
    """A list of strings, of which the running program makes as many as it will."""
    out = ListRef((ev.site,))
    ev.b.heap[out] = content
    return out


def _split(ev: Evaluator, text: Value, separator: Value = None, limit: Value = -1) -> Value:
    b = ev.b
    if not known_as(limit, -1) and separator is not None:
        b.cannot("splitting a string a number of times")
    made = new_grown(b, TextElement())
    if separator is None:
        _split_at(b, text, _SPACE, made, joined=True)
        return new_texts(ev, made)
    if separator == "":
        b.error("ValueError: empty separator")
    _needs_part(ev, separator)

    def use(done: Expr, at: Expr) -> None:
        fill(b, made, [slice_of(b, text, done, at - done)])

    _, end = _each_place(b, text, separator, use)
    fill(b, made, [slice_of(b, text, end, size_of(b, text) - end)])
    return new_texts(ev, made)


def _split_at(b: Builder, text: Value, breaks: str, made: Grown, joined: bool) -> None:
    """Put the pieces between any of the characters `breaks` into a list; what is behind the last
    one only if there is something, and where they are `joined` no empty ones at all."""
    content, marks = numbers_of(b, text), text_column(b, breaks)

    def put(start: Expr, at: Expr) -> None:
        def piece(_: Sequence[Value]) -> list[Value]:
            fill(b, made, [slice_of(b, text, start, at - start)])
            return []

        if joined:
            branch(b, binary("gt", at, start), piece, lambda _: [])
        else:
            piece([])

    def step(values: Sequence[Value]) -> list[Value]:
        at, start = map(as_expr, values)
        ends = named(b, _is_one_of(b, marks, as_expr(fetch(b, content, at))))

        def end(_: Sequence[Value]) -> list[Value]:
            put(start, at)
            return [known(named(b, at + 1))]

        return [True, *branch(b, ends, end, lambda _: [start])]

    size = length(b, content)
    (rest,) = loop(b, size, True, [0], step, LONG)
    start = as_expr(rest)

    def last(_: Sequence[Value]) -> list[Value]:
        fill(b, made, [slice_of(b, text, start, size - start)])
        return []

    branch(b, binary("lt", start, size), last, lambda _: [])


def _split_lines(ev: Evaluator, text: Value, keepends: Value = False) -> Value:
    if keepends is not False:
        ev.b.cannot("lines with their ends")
    made = new_grown(ev.b, TextElement())
    _split_at(ev.b, text, _BREAKS, made, joined=False)
    return new_texts(ev, made)


def _partition(backwards: bool) -> Callable[..., Value]:
    def row(ev: Evaluator, text: Value, separator: Value) -> Value:
        b = ev.b
        _needs_part(ev, separator)
        at, size = _place(backwards)(ev, text, separator), size_of(b, text)
        width, missing = len(separator.encode()), named(b, binary("lt", at, 0))
        first = select(missing, const(0) if backwards else size, at)
        middle = select(missing, const(0), const(width))
        behind = named(b, first + middle)
        return TupleValue(
            (
                slice_of(b, text, const(0), first),
                slice_of(b, text, named(b, first), middle),
                slice_of(b, text, behind, size - behind),
            )
        )

    return row


# --- ends -------------------------------------------------------------------------------------


def _is_one_of(b: Builder, marks: SSAValue, code: Expr) -> Expr:
    arguments = [marks, b.scalar_operand(code)]
    found = b.scalar_of(perform(b, "find", arguments, _I64))
    return binary("ge", found, 0)


def _stripped(left: bool, right: bool) -> Callable[..., Value]:
    def row(ev: Evaluator, text: Value, characters: Value = " \n\t\f\v") -> Value:
        b, content, marks = ev.b, numbers_of(ev.b, text), text_column(ev.b, characters)
        size = length(b, content)

        def skipped(most: Expr, position: Callable[[Expr], Expr]) -> Expr:
            """How many characters to leave out, from one end."""

            def step(values: Sequence[Value]) -> list[Value]:
                count = as_expr(values[1])
                code = as_expr(fetch(b, content, named(b, position(count))))
                out = named(b, _is_one_of(b, marks, code))
                more = named(b, select(out, count + 1, count))
                return [binary("and", out, binary("lt", more, most)), more]

            some = known(named(b, binary("gt", most, 0)))
            return as_expr(loop(b, ENDLESS, some, [0], step, LONG)[0])

        start = skipped(size, lambda n: n) if left else const(0)
        rest = named(b, size - start)
        end = skipped(rest, lambda n: size - 1 - n) if right else const(0)
        return slice_of(b, text, start, rest - end)

    return row


def _has_end(starts: bool) -> Callable[..., Value]:
    """`startswith` or `endswith`."""

    def row(ev: Evaluator, text: Value, part: Value, start: Value = 0, end: Value = -1) -> Value:
        b = ev.b
        inner = _bounds(b, text, start, end).piece(b, text, is_empty=False)
        size, width = size_of(b, inner), size_of(b, part)
        at = const(0) if starts else binary("max", size - width, 0)
        return known(same_text(b, slice_of(b, inner, at, binary("min", width, size)), part))

    return row


# --- comparing --------------------------------------------------------------------------------


def _contains(ev: Evaluator, text: Value, part: Value) -> Value:
    return known(binary("ge", _search(ev.b, text, part, const(0)), 0))


def _ordered(swapped: bool, negated: bool) -> Callable[..., Value]:
    def row(ev: Evaluator, left: Value, right: Value) -> Value:
        b = ev.b
        columns = [text_column(b, v) for v in ((right, left) if swapped else (left, right))]
        less = b.scalar_of(perform(b, "less", columns, _B1))
        return known(unary("not", less) if negated else less)

    return row


TEXT_SEARCH: Rows = {
    "aten::find": _place(False),
    "aten::rfind": _place(True),
    "aten::index": _index(_place(False)),
    "aten::rindex": _index(_place(True)),
    "aten::count": _count,
    "aten::replace": _replace,
    "aten::split": _split,
    "aten::rsplit": _split,
    "aten::splitlines": _split_lines,
    "aten::partition": _partition(False),
    "aten::rpartition": _partition(True),
    "aten::strip": _stripped(True, True),
    "aten::lstrip": _stripped(True, False),
    "aten::rstrip": _stripped(False, True),
    "aten::startswith": _has_end(True),
    "aten::endswith": _has_end(False),
    "aten::__contains__": _contains,
    "aten::lt": _ordered(False, False),
    "aten::gt": _ordered(True, False),
    "aten::le": _ordered(True, True),
    "aten::ge": _ordered(False, True),
}
