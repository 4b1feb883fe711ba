"""Rows on strings. All that is known of a string is computed now, as eager mode computes it; a
string that depends on unknown values is only shown in messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.dtypes import int64
from tensorscript.base.errors import OperatorError
from tensorscript.base.text import KERNELS
from tensorscript.dialects.te.expr import Expr

from .builder import Rows
from .evaluator import Evaluator
from .scalars import to_text
from .texts import BY_UNKNOWN
from .values import Tensor, Text, TupleValue, UnknownString, Value


def _known(*values: Value) -> bool:
    unknown = Expr | Tensor | Text | UnknownString
    return not any(
        isinstance(v, unknown) or (isinstance(v, list) and not _known(*v)) for v in values
    )


def _folded(name: str, kernel: Callable[..., Any]) -> Callable[..., Value]:
    """A row that computes with known strings and numbers."""

    def run(ev: Evaluator, *arguments: Value) -> Value:
        if (row := BY_UNKNOWN.get(name)) and _is_native(ev, arguments):
            return row(ev, *arguments)
        values = [ev.plain(a) for a in arguments]
        if not _known(*values):
            ev.b.cannot("a string that depends on unknown values")
        try:
            return ev.boxed(kernel(*values))
        except OperatorError as error:
            return ev.b.error(error.message)

    return run


def _is_native(ev: Evaluator, arguments: Sequence[Value]) -> bool:
    """Whether the running program makes the string, of arguments that are not all known."""
    grown = any(map(ev.is_grown, arguments))
    return ev.b.finds_sizes and (grown or not _known(*map(ev.plain, arguments)))


def _percent_format(ev: Evaluator, text: Value, *arguments: Value) -> Value:
    """`text % values`, where all specifiers are `%s` or `%d` of an int."""
    given = arguments
    if len(arguments) == 1 and isinstance(arguments[0], TupleValue):
        given = arguments[0].elements
    values = [ev.plain(a) for a in given]
    parts = re.split("%([sd])", text) if isinstance(text, str) else []
    pieces, letters = parts[::2], parts[1::2]
    if len(letters) != len(values) or any("%" in piece for piece in pieces):
        ev.b.cannot("this format of a string")
    for letter, value in zip(letters, values, strict=True):
        is_int = type(value) is int or (isinstance(value, Expr) and value.dtype is int64)
        if letter == "d" and not is_int:
            ev.b.cannot("%d of what is no int")
    shown = [piece + to_text(v) for piece, v in zip(pieces, values, strict=False)]
    out = "".join((*shown, pieces[-1]))
    return out if _known(*values) else UnknownString(out)


_FOR_MESSAGES = frozenset({"aten::add.str"})
"""Rows of `scalars.py`, which also take what is known in part."""

STRINGS: Rows = {
    **{
        name: _folded(name, kernel) for name, kernel in KERNELS.items() if name not in _FOR_MESSAGES
    },
    "aten::percentFormat": _percent_format,
}
