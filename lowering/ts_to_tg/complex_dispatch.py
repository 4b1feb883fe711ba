"""Which row runs where an operand is complex.

A row of real tensors gives way to the complex one of its operator; where there is none it is run on
both parts if it moves numbers, or as it is if it only calls other rows.
"""

from __future__ import annotations

from functools import wraps

from . import late_complex
from .builder import Builder, Row, Rows
from .values import ComplexTensor, Value


def is_complex(value: Value) -> bool:
    """A complex tensor or number, or a list with one."""
    if isinstance(value, list):
        return any(map(is_complex, value))
    return isinstance(value, ComplexTensor | complex)


def with_complex(rows: Rows) -> Rows:
    """The rows, each of which gives way to another one where an operand is complex."""
    return {key: _by_kind(key, row) for key, row in rows.items()}


def _by_kind(key: str, row: Row) -> Row:
    @wraps(row)
    def run(b: Builder, *arguments: Value) -> Value:
        if not any(map(is_complex, arguments)):
            return row(b, *arguments)
        if (other := late_complex.complex_row(key, row)) is None:
            b.cannot("complex numbers")
        return other(b, *arguments)

    return run
