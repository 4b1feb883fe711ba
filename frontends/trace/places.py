"""Where in the user's program an operator runs, and what its tensors are called there."""

from __future__ import annotations

import linecache
import sys
from functools import cache
from pathlib import Path
from types import FrameType

from tensorscript.base.source import Source, Span
from tensorscript.eager.storage import TensorBase

_HOME = str(Path(__file__).parents[2])
_LIBRARY = f"{_HOME}/eager/nn/"
"""Python code of the library that a trace sees through, as it sees through a user's functions."""
_END = "trace_entry"
"""The name of the function under which nothing belongs to the traced program."""


def _kind(frame: FrameType) -> str:
    """`user`, `library` (modules and functionals, also PyTorch's) or `inner` (dispatch, tracer)."""
    if str(frame.f_globals.get("__name__", "")).startswith("torch."):
        return "library"
    return _kind_of_file(frame.f_code.co_filename)


@cache
def _kind_of_file(filename: str) -> str:
    if not filename.startswith(f"{_HOME}/"):
        return "user"
    return "library" if filename.startswith(_LIBRARY) else "inner"


def _frame(kinds: frozenset[str]) -> FrameType | None:
    """The innermost frame of the traced program whose file is of one of `kinds`."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != _END:
        if _kind(frame) in kinds:
            return frame
        frame = frame.f_back
    return None


@cache
def _source(filename: str) -> Source:
    return Source("".join(linecache.getlines(filename)), filename)


def user_line() -> tuple[str, int] | None:
    """File and line of the user's innermost statement that is running."""
    frame = _frame(frozenset({"user"}))
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def in_library() -> bool:
    """Whether the library's own Python asked, not the user's."""
    frame = _frame(frozenset({"user", "library"}))
    return frame is not None and _kind(frame) == "library"


def here() -> Span | None:
    """The user's statement that is running, or else the library's, as a line of its file."""
    frame = _frame(frozenset({"user"})) or _frame(frozenset({"library"}))
    if frame is None:
        return None
    source = _source(frame.f_code.co_filename)
    line = min(frame.f_lineno, len(source.lines)) - 1
    start = source.line_starts[line]
    return Span(source, start, start + len(source.lines[line]))


def name_of(tensor: TensorBase) -> str:
    """The local variable that holds `tensor` where an operator is called; "" if none does."""
    frame = _frame(frozenset({"user", "library"}))
    if frame is None:
        return ""
    found = next((name for name, value in frame.f_locals.items() if value is tensor), "")
    return "" if found == "self" else found
