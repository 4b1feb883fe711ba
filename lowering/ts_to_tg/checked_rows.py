"""Rows that look at their arguments first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps

from .builder import Builder, Row, Rows
from .values import Value

Check = Callable[..., None]


def checked(rows: Rows, checks: Mapping[str, Check]) -> Rows:
    """The rows, each preceded by the check of its key or of its operator."""
    out = dict(rows)
    for key, row in rows.items():
        check = checks.get(key) or checks.get(key.partition(".")[0])
        if check is not None:
            out[key] = _after(check, row)
    return out


def _after(check: Check, row: Row) -> Row:
    @wraps(row)
    def run(b: Builder, *arguments: Value) -> Value:
        check(b, *arguments)
        return row(b, *arguments)

    return run
