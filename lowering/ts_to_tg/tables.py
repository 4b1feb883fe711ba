"""Known values among which the running program looks: they lie in constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorscript.base.dtypes import DType, int64
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.tg.types import ScalarType

from .builder import Builder
from .element_kinds import NumberElement, TextElement, of_values
from .grown import grown_of
from .list_actions import perform
from .text_access import place_in, slice_of
from .values import Tensor, Text, Value

FEW = 16
"""Among so many values one is chosen by comparisons."""
MOST_OPTIONS = 4
"""Of more known strings the one at an unknown place is made when the program runs; with fewer ones
what is done with it is done with each."""


def number_at(b: Builder, table: np.ndarray, dtype: DType, at: Expr) -> Expr:
    """`table[at]`, which is there."""
    place = b.scalar_of(b.scalar_operand(at))
    return b.item(Tensor(b.literal(table, dtype).storage, (), (place,)))


def known_number_at(b: Builder, values: Sequence[Value], at: Expr) -> Expr | None:
    """`values[at]` of many known numbers of one dtype; None if they are something else."""
    element = of_values(b, values) if len(values) > FEW else None
    if not isinstance(element, NumberElement) or any(isinstance(v, Expr) for v in values):
        return None
    return number_at(b, np.array(values, element.dtype.numpy), element.dtype, at)


def are_many_texts(b: Builder, values: Sequence[Value]) -> bool:
    """Whether one of these values is to be made when the program runs."""
    is_many = b.finds_sizes and len(values) > MOST_OPTIONS
    return is_many and all(isinstance(v, str) for v in values)


def text_at(b: Builder, texts: Sequence[str], at: Expr) -> Text:
    """`texts[at]`: a part of all of them."""
    parts = [t.encode("utf-8", "surrogateescape") for t in texts]
    sizes = np.array([len(part) for part in parts], np.int64)
    start = number_at(b, np.cumsum(sizes) - sizes, int64, at)
    count = number_at(b, sizes, int64, at)
    return slice_of(b, b"".join(parts).decode("utf-8", "surrogateescape"), start, count)


def place_of(b: Builder, values: Sequence[Value], value: Value) -> Expr | None:
    """Where among many known ints or strings an unknown one is, -1 for nowhere; None if they are
    something else. They are looked through from the front."""
    element = of_values(b, values)
    if any(isinstance(v, Expr | Text) for v in values) or not b.finds_sizes:
        return None
    if not isinstance(element, NumberElement | TextElement):
        return None
    with b.at_start():
        table = grown_of(b, element, values)
    if isinstance(element, TextElement):
        return place_in(b, table, value)
    arguments = [table.columns[0], b.scalar_operand(value)]
    return b.scalar_of(perform(b, "find", arguments, ScalarType(int64)))
