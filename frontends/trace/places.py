"""Where in the user's program an operator runs, and what its tensors are called there."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from tensorscript.base.source import Source, Span
from tensorscript.eager.storage import TensorBase

_HOME = str(Path(__file__).parents[2])
_LIBRARY = f"{_HOME}/eager/nn/", f"{_HOME}/eager/distributions/"
"""Python code of the library that a trace sees through, as it sees through a user's functions."""
_FACES = f"{_LIBRARY[0]}functional.py", frozenset({"run", "scaled_dot_product_attention"})
"""Functions among them that are built-in in PyTorch: a trace does not see them."""
_COMPOSITES = {
    f"{_HOME}/eager/composites.py": frozenset({"stft"}),
    f"{_HOME}/eager/flat_places.py": frozenset({"unravel_index"}),
}
"""Functions that call several operators, with PyTorch's variables."""
_TEXTS = f"{_HOME}/eager/tensor_repr.py", f"{_HOME}/eager/traced_elements.py"
"""Files of functions that make the text of a tensor, which is Python in PyTorch."""
_READERS = {
    f"{_HOME}/eager/composites.py": frozenset(
        {"tensordot", "_contracted", "svd_lowrank", "pca_lowrank"}
    ),
    f"{_HOME}/eager/tensor.py": frozenset({"call_split"}),
    f"{_HOME}/eager/tensor_values.py": frozenset(
        {"__contains__", "__format__", "__array__", "__array_wrap__"}
    ),
    f"{_HOME}/eager/printing.py": frozenset({"_bare"}),
}
"""Functions that read numbers of tensors where PyTorch's Python does: warnings have their lines."""
_OPERATORS = f"{_HOME}/eager/tensor_operators.py"
_ITERATION = f"{_HOME}/eager/tensor_values.py"
_WRITTEN = frozenset({
    "__iter__",
    "aten::rsub", "aten::floor_divide", "aten::pow", "aten::pow_", "__rtruediv__", "__rmod__",
    "__rpow__", "__rlshift__", "__rrshift__", "__rmatmul__",
})  # fmt: skip
"""Operators of tensors that PyTorch writes in Python: they have the variables `self`, `other`."""
_POWERS = ("aten::pow", "aten::pow_")
"""Those among them that wrap a built-in operator: the operands are in a tuple."""
_END = "trace_entry"
"""The name of the function under which nothing belongs to the traced program."""


def _kind(frame: FrameType) -> str:
    """`user`, `library` (modules and functionals, also PyTorch's), `written` (an operator that
    PyTorch writes in Python), `reader` (a function that reads numbers) or `inner` (dispatch,
    tracer)."""
    if str(frame.f_globals.get("__name__", "")).startswith("torch."):
        return "library"
    kind = _kind_of_code(frame.f_code)
    if kind == "operator":
        asked = frame.f_locals.get("name", frame.f_code.co_name)
        return "written" if asked in _WRITTEN else "inner"
    return kind


@cache
def _kind_of_code(code: CodeType) -> str:
    filename = code.co_filename
    if not filename.startswith(f"{_HOME}/"):
        return "user"
    if filename == _OPERATORS or (filename == _ITERATION and code.co_name == "__iter__"):
        return "operator"
    if code.co_name in _COMPOSITES.get(filename, ()):
        return "library"
    if code.co_name in _READERS.get(filename, ()):
        return "reader"
    if filename in _TEXTS:
        return "library"
    is_face = filename == _FACES[0] and code.co_name in _FACES[1]
    return "library" if filename.startswith(_LIBRARY) and not is_face else "inner"


def _frames(kinds: frozenset[str]) -> Iterator[FrameType]:
    """The frames of the traced program whose files are of `kinds`, innermost first."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != _END:
        if _kind(frame) in kinds:
            yield frame
        frame = frame.f_back


def _frame(kinds: frozenset[str]) -> FrameType | None:
    return next(_frames(kinds), None)


@cache
def _source(filename: str) -> Source:
    return Source("".join(linecache.getlines(filename)), filename)


def asking_line() -> tuple[str, int, str]:
    """File, line and module of the innermost running statement of the program, or of the library
    where a trace sees through it; of the statement that asked for the trace if none is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _kind(frame) not in ("user", "library", "reader"):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, str(frame.f_globals.get("__name__", ""))


def here() -> Span | None:
    """The user's expression that is running, or else the library's; graphs show its line."""
    frames = list(_frames(frozenset({"user", "library"})))
    if not frames:
        return None
    frame = next((each for each in frames if _kind(each) == "user"), frames[0])
    code = frame.f_code
    start, end = _extent(code, frame.f_lasti)
    calls = tuple(_call(each.f_code, each.f_lineno) for each in frames)
    shown = f"{code.co_filename}:{frame.f_lineno}:0"
    return Span(_source(code.co_filename), start, end, shown, code.co_name, calls)


@cache
def _extent(code: CodeType, instruction: int) -> tuple[int, int]:
    """Where the expression of an instruction starts and ends in its file, as far as that is
    known; the start of the file where there is none."""
    source = _source(code.co_filename)
    places = next(islice(code.co_positions(), instruction // 2, None))
    line, last, column, end = (place or 0 for place in places)
    if not 0 < line <= last <= len(source.lines):
        return 0, 0
    return _offset(source, line - 1, column), _offset(source, last - 1, end)


def _offset(source: Source, line: int, column: int) -> int:
    """The offset of a column that counts bytes, as Python's do."""
    before = source.lines[line].encode()[:column].decode(errors="replace")
    return source.offset(line, len(before))


@cache
def _call(code: CodeType, line: int) -> str:
    return f"{code.co_filename}({line}): {code.co_name}"


def name_of(tensor: TensorBase) -> str:
    """The local variable that holds `tensor` where an operator is called; "" if none does."""
    frame = _frame(frozenset({"user", "library", "written"}))
    if frame is None:
        return ""
    if _kind(frame) == "written" and frame.f_locals.get("name") in _POWERS:
        return ""
    found = next((name for name, value in frame.f_locals.items() if value is tensor), "")
    return "" if found == "self" else found
