"""Marks in code text that say which op an expression is: `{number:expression}`, in characters that
no code has, so that an expression may be put into others before its place is known."""

from __future__ import annotations

import re

_OPEN, _MIDDLE, _CLOSE = "\x01", "\x02", "\x03"
_MARK = re.compile(f"{_OPEN}(\\d+){_MIDDLE}|{_CLOSE}")


def marked(text: str, number: int) -> str:
    """An expression with its number."""
    return f"{_OPEN}{number}{_MIDDLE}{text}{_CLOSE}"


def unmarked(text: str) -> str:
    """The text as it is written."""
    return _MARK.sub("", text)


def places(text: str) -> tuple[str, list[tuple[int, int | None]]]:
    """The text as it is written, and from which offset on it is of which number (None: of none).

    Of expressions in one another the innermost counts.
    """
    parts: list[str] = []
    found: list[tuple[int, int | None]] = []
    inside: list[int] = []
    length = end = 0
    for match in _MARK.finditer(text):
        parts.append(text[end : match.start()])
        length += match.start() - end
        end = match.end()
        if match[1] is not None:
            inside.append(int(match[1]))
        else:
            inside.pop()
        found.append((length, inside[-1] if inside else None))
    return "".join([*parts, text[end:]]), found
