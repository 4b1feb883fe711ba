"""Rows on strings. All that is known of a string is computed now, as eager mode computes it; a
string that depends on unknown values is only shown in messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.errors import OperatorError
from tensorscript.base.text import KERNELS
from tensorscript.dialects.te.expr import Expr

from .builder import Rows
from .evaluator import Evaluator
from .texts import BY_UNKNOWN, TEXT_ROWS
from .values import ListRef, Tensor, Text, UnknownString, Value, Variant


def _known(*values: Value) -> bool:
    unknown = Expr | Tensor | Text | UnknownString
    return not any(
        isinstance(v, unknown) or (isinstance(v, list) and not _known(*v)) for v in values
    )


def _folded(name: str, kernel: Callable[..., Any]) -> Callable[..., Value]:
    """A row that computes with known strings and numbers."""

    def run(ev: Evaluator, *arguments: Value) -> Value:
        row = BY_UNKNOWN.get(name) or TEXT_ROWS.get(name.partition(".")[0])
        if row is not None and _is_native(ev, arguments):
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
    return ev.b.finds_sizes and any(_is_found(ev, a) for a in arguments)


def _is_found(ev: Evaluator, value: Value) -> bool:
    if not isinstance(value, ListRef):
        return isinstance(value, Variant) or not _known(value)
    return ev.is_grown(value) or any(_is_found(ev, v) for v in ev.b.heap[value])


_FOR_MESSAGES = frozenset({"aten::add.str"})
"""Rows of `scalars.py`, which also take what is known in part."""

STRINGS: Rows = {
    **{
        name: _folded(name, kernel) for name, kernel in KERNELS.items() if name not in _FOR_MESSAGES
    },
}
