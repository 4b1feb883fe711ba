"""Strings that the running program makes: run-time lists of their bytes (UTF-8), never changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.tg.types import ListType

from .builder import Builder
from .kinds import chosen_of
from .list_actions import perform
from .values import Text, Value, Variant

TEXT = ListType.of(int64)


@dataclass(frozen=True, eq=False)
class Textual:
    """A string that travels as the list of its bytes, because not all ways know it."""

    value: Value


def is_textual(value: Value) -> bool:
    """A string, known or not, that is not only for messages."""
    if isinstance(value, Variant):
        return all(isinstance(v, str) for v in value.options)
    return isinstance(value, str | Text)


def _bytes(text: str) -> list[int]:
    return list(text.encode("utf-8", "surrogateescape"))


def _literal(b: Builder, text: str) -> SSAValue:
    if not text:
        return perform(b, "new", (), TEXT)
    held = b.literal(np.array(_bytes(text), np.int64), int64)
    return perform(b, "from", [b.ssa(held)], TEXT)


def texts_column(b: Builder, texts: Sequence[str]) -> SSAValue:
    """A run-time list of known strings."""
    sizes = np.array([len(_bytes(t)) for t in texts], np.int64)
    lengths = perform(b, "from", [b.ssa(b.literal(sizes, int64))], TEXT)
    return perform(b, "split", [_literal(b, "".join(texts)), lengths], ListType.of(int64, 2))


def text_column(b: Builder, value: Value) -> SSAValue:
    """The bytes of a string, a list that is not changed."""
    match value:
        case Text(column):
            return column
        case str():
            return _literal(b, value)
        case Variant(tag, options):
            return _one_of(b, tag, options)
    return b.cannot("a string that depends on unknown values")


def _one_of(b: Builder, tag: Expr, texts: Sequence[str]) -> SSAValue:
    """The part for the string `texts[tag]` of all of them."""
    sizes = [len(_bytes(t)) for t in texts]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    whole = _literal(b, "".join(texts))
    ends = [chosen_of(tag, starts), const(1), chosen_of(tag, sizes)]
    return perform(b, "slice", [whole, *map(b.scalar_operand, ends)], TEXT)


def joined_text(b: Builder, parts: Sequence[Value], message: str = "{}") -> Text:
    """Strings one after the other; `message` is how messages show them."""
    out = perform(b, "new", (), TEXT)
    for part in parts:
        perform(b, "extend", [out, text_column(b, part)])
    return Text(out, message)
