"""Where a piece of program text came from, and how to show it.

A `Source` is one function's (or file's) text; a `Span` is a range of characters in it. Spans travel
from the frontends to every diagnostic; `highlight` shows one the way TorchScript does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

from .records import dataclass

_DEF = re.compile(r"(\s*)def (\w+)\(")
Origin: TypeAlias = "Callable[[Span], Span | None]"
"""The place in the original source of a place in the text of a program."""

CONTEXT_LINES = 2
"""Lines shown before and after the underlined range, as TorchScript shows them."""


@dataclass(frozen=True)
class Source:
    """Program text, the file it stands in, and the number of its first line there (1-based).

    Attributes:
        origin: tells what the text was made from, if an archive says so.
    """

    text: str
    filename: str = "<string>"
    first_line: int = 1
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    def offset(self, line: int, column: int) -> int:
        """Character offset of `column` (0-based characters) on `line` (0-based) of this text."""
        return self.line_starts[line] + column

    def line_of(self, offset: int) -> int:
        """0-based line of this text in which `offset` lies."""
        low, high = 0, len(self.lines) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.line_starts[middle] <= offset:
                low = middle
            else:
                high = middle - 1
        return low


@dataclass(frozen=True)
class Span:
    """Characters [start, end) of `source`.

    Attributes:
        shown: the place that graphs show instead; errors underline this one all the same.
        within: what errors call the function it stands in, where that has no `def`.
        calls: the Python calls that were running there, innermost first, where that is known.
        own: a character of what is no part of its operands; the first one where none is said.
    """

    source: Source = field(repr=False)
    start: int
    end: int
    shown: str = field(default="", compare=False)
    within: str = field(default="", compare=False)
    calls: tuple[str, ...] = field(default=(), repr=False, compare=False)
    own: int | None = field(default=None, repr=False, compare=False)

    @property
    def line(self) -> int:
        """1-based line number in the file."""
        return self.source.line_of(self.start) + self.source.first_line

    @property
    def column(self) -> int:
        """0-based column of the first character."""
        return self.start - self.source.line_starts[self.source.line_of(self.start)]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def function(self) -> str:
        """The name of the function that this span stands in; empty outside of any."""
        if self.within:
            return self.within
        lines = self.source.lines
        at = self.source.line_of(self.start)
        indent = len(lines[at])
        for line in reversed(lines[: at + 1]):
            found = _DEF.match(line)
            if found and (len(found[1]) < indent or at == 0):
                return found[2]
            if line.strip():
                indent = min(indent, len(line) - len(line.lstrip()))
        return ""

    def __str__(self) -> str:
        return f"{self.source.filename}:{self.line}:{self.column}"

    @property
    def place(self) -> str:
        """What graphs show: the place in the text that the program was first written in."""
        origin = self.source.origin
        return self.shown or str((origin and origin(self)) or self)

    def highlight(self, function: str = "") -> str:
        """The lines around this span with the span underlined by `~` and marked `<--- HERE`.

        The first line reads `  File "path", line N`, and `, in f` behind it if `function` is
        given; the text keeps its indentation.
        """
        source = self.source
        first = source.line_of(self.start)
        last = source.line_of(max(self.start, self.end - 1))
        shown = range(
            max(0, first - CONTEXT_LINES), min(len(source.lines), last + CONTEXT_LINES + 1)
        )
        where = f", in {function}" if function else ""
        out = [f'  File "{source.filename}", line {self.line}{where}']
        for number in shown:
            line = source.lines[number]
            if number > last and not line.strip() and number == len(source.lines) - 1:
                continue
            out.append(line)
            if first <= number <= last:
                begin = source.line_starts[number]
                left = self.start - begin if number == first else len(line) - len(line.lstrip())
                right = min(len(line), self.end - begin)
                marks = " " * left + "~" * max(1, right - left)
                out.append(marks + (" <--- HERE" if number == last else ""))
        return "\n".join(out)


def in_library(span: Span | None, line: int | None, column: int = 9) -> Span | None:
    """A place that calls a function of PyTorch's library in its own language: its graphs show the
    line of the library. Without a line the place itself."""
    if span is None or line is None:
        return span
    return replace(span, shown=f"<string>:{line}:{column}")
