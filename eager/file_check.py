"""`testing.FileCheck`: what a text has to say, and in which order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Self

from tensorscript.base.errors import OperatorError

_Find = Callable[[str, int, int], "tuple[int, int] | None"]


def _text(wanted: str) -> _Find:
    def find(text: str, start: int, end: int) -> tuple[int, int] | None:
        at = text.find(wanted, start, end)
        return None if at < 0 else (at, at + len(wanted))

    return find


def _pattern(wanted: str) -> _Find:
    pattern = re.compile(wanted)

    def find(text: str, start: int, end: int) -> tuple[int, int] | None:
        found = pattern.search(text, start, end)
        return None if found is None else found.span()

    return find


def _highlighted(wanted: str) -> _Find:
    def find(text: str, start: int, end: int) -> tuple[int, int] | None:
        while (at := text.find(wanted, start, end)) >= 0:
            start = at + 1
            column = at - (text.rfind("\n", 0, at) + 1)
            below = text[at:].partition("\n")[2].partition("\n")[0]
            marks = below[column : column + len(wanted)]
            around = below[max(column - 1, 0) : column] + below[column + len(wanted) :][:1]
            if marks == "~" * len(wanted) and "~" not in around:
                return at, at + len(wanted)
        return None

    return find


_COMMENT = re.compile(
    r"^[^\S\n]*#[^\S\n]*CHECK(?:(-NOT|-SAME|-NEXT|-DAG|-SOURCE-HIGHLIGHTED|)|-COUNT(-EXACTLY)?-(\d+))"
    r":[^\S\n]?(.*)$",
    re.MULTILINE,
)


def _comments(text: str | None) -> list[tuple[str, str | None, str | None, str]]:
    """The checks in the comments of a text: kind, count, whether exactly, what is looked for.

    Raises:
        OperatorError: it has none.
    """
    if text is None:
        return []
    found = [match.group(1, 3, 2, 4) for match in _COMMENT.finditer(str(text))]
    if not found:
        raise OperatorError(f"Could not parse check at: {text}\nCheck for bad input.")
    return [(kind or "", count, exactly, wanted) for kind, count, exactly, wanted in found]


class FileCheck:
    """Checks in order, each behind what the one before found; `run` goes through a text.

    Raises:
        OperatorError: (by `run`) something is missing, or is where it must not be.
    """

    def __init__(self) -> None:
        self._checks: list[tuple[str, str, _Find, int]] = []

    def _add(self, kind: str, wanted: str, find: _Find, count: int = 1) -> Self:
        self._checks.append((kind, wanted, find, count))
        return self

    def check(self, test_string: str) -> Self:
        return self._add("CHECK", test_string, _text(test_string))

    def check_regex(self, pattern: str) -> Self:
        return self._add("CHECK-REGEX", pattern, _pattern(pattern))

    def check_not(self, test_string: str) -> Self:
        """Not between what the checks around find."""
        return self._add("CHECK-NOT", test_string, _text(test_string))

    def check_same(self, test_string: str) -> Self:
        """In the line where the check before ended."""
        return self._add("CHECK-SAME", test_string, _text(test_string))

    def check_next(self, test_string: str) -> Self:
        """In the line after."""
        return self._add("CHECK-NEXT", test_string, _text(test_string))

    def check_count(self, str: str, count: int, exactly: bool = False) -> Self:
        """That often; with `exactly` not once more in the rest. PyTorch names its first `str`."""
        self._add("CHECK-COUNT", str, _text(str), count)
        return self.check_not(str) if exactly else self

    def check_dag(self, test_string: str) -> Self:
        """Anywhere between what the checks around the group of these find."""
        return self._add("CHECK-DAG", test_string, _text(test_string))

    def check_source_highlighted(self, highlight: str) -> Self:
        """A text with a line of `~` below it, which is as long as the text."""
        return self._add("CHECK-SOURCE-HIGHLIGHTED", highlight, _highlighted(highlight))

    def run(self, *files: Any, checks_file: str | None = None, test_file: Any = None) -> None:
        """Go through the text of a graph or a string: `run(test_file)`.

        Args:
            checks_file: `run(checks_file, test_file)` reads more checks from the comments of a
                text: `# CHECK: a`, `# CHECK-COUNT-2: b`.
        """
        given = [*files] if test_file is None else [*files, test_file]
        if len(given) + (checks_file is not None) not in (1, 2) or not given:
            raise TypeError("run() takes the text to go through, and before it one with checks")
        for comment in _comments(given[0] if len(given) == 2 else checks_file):
            self._read(*comment)
        self._run(str(given[-1]))

    def _read(self, kind: str, count: str | None, exactly: str | None, wanted: str) -> None:
        if count is not None:
            self.check_count(wanted, int(count), exactly is not None)
        elif kind == "-SOURCE-HIGHLIGHTED":
            self.check_source_highlighted(wanted)
        else:
            self._add(f"CHECK{kind}", wanted, _text(wanted))

    def _run(self, text: str) -> None:
        at = 0
        forbidden: list[tuple[str, _Find]] = []
        group: tuple[int, int] | None = None  # start and end of what a run of DAG checks found
        for kind, wanted, find, count in self._checks:
            if kind == "CHECK-DAG":
                start = group[0] if group is not None else at
                span = _required(text, kind, wanted, find, start)
                at = max(at, span[1])
                group = start, at
                continue
            group = None
            if kind == "CHECK-NOT":
                forbidden.append((wanted, find))
                continue
            before = at
            for turn in range(count):
                label = f"{kind}-{count}" if kind == "CHECK-COUNT" else kind
                span = _placed(text, label, wanted, find, at)
                if not turn:
                    _refuse(text, forbidden, before, span[0])
                at = span[1]
            forbidden = []
        _refuse(text, forbidden, at, len(text))


def _placed(text: str, kind: str, wanted: str, find: _Find, at: int) -> tuple[int, int]:
    span = _required(text, kind, wanted, find, at)
    lines = text.count("\n", at, span[0])
    if lines > {"CHECK-SAME": 0, "CHECK-NEXT": 1}.get(kind, lines):
        raise OperatorError(
            f'Expected to not find "\\n" but found it\n{text}From {kind}: {wanted}\n'
        )
    if kind == "CHECK-NEXT" and not lines:
        raise OperatorError(_missing(text, "\\n", f"{kind}: {wanted}"))
    return span


def _required(text: str, kind: str, wanted: str, find: _Find, at: int) -> tuple[int, int]:
    if (span := find(text, at, len(text))) is None:
        raise OperatorError(_missing(text, wanted, f"{kind}: {wanted}"))
    return span


def _refuse(text: str, forbidden: list[tuple[str, _Find]], start: int, end: int) -> None:
    for wanted, find in forbidden:
        if (span := find(text, start, end)) is not None:
            raise OperatorError(
                f'Expected to not find "{wanted}" but found it\n{_marked(text, *span)}'
                f"From CHECK-NOT: {wanted}\n"
            )


def _missing(text: str, wanted: str, check: str) -> str:
    return (
        f'Expected to find "{wanted}" but did not find it\nSearched string:\n{text}From {check}\n'
    )


def _marked(text: str, start: int, end: int) -> str:
    """The text with a line that points at a part of the one above."""
    column = start - (text.rfind("\n", 0, start) + 1)
    below = text.find("\n", start) + 1 or len(text)
    return f"{text[:below]}{' ' * column}{'~' * (end - start)} <--- HERE\n{text[below:]}"
