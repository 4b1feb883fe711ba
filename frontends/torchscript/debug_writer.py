"""Writes the `.debug_pkl` records that `debug.py` reads: where the text of code files came from."""

from __future__ import annotations

from tensorscript.base.source import Origin, Source, Span

from .code_files import Places
from .debug import FORMAT
from .pickled import TaggedList, Value


class _Strings:
    """A table of strings, each once; the empty one is number 0."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def debug_record(text: str, places: Places, origin: Origin) -> Value:
    """The record of a code file.

    Args:
        text: of the file.
        places: from which offsets on it came from where; offsets in a record are of bytes.
        origin: applied to the places.
    """
    strings = _Strings()
    sources: dict[Source, Value] = {}
    tags: dict[Span | None, int] = {None: 0}

    def entry(offset: int, found: Span | None) -> Value:
        tag = tags.setdefault(found, len(tags))
        if found is None:
            return (offset, ((TaggedList([], "List[int]"), 0, 0), 0, 0), tag)
        if found.source not in sources:
            sources[found.source] = _source(found.source, strings)
        return (offset, (sources[found.source], found.start, found.end), tag)

    entries: list[Value] = [entry(0, None)]
    ascii_only = text.isascii()
    before: Span | None = None
    for at, span in places:
        # What has no place of its own is of the expression around it, and of that when read again.
        found = None if span is None else origin(span)
        if found != before:
            entries.append(entry(at if ascii_only else len(text[:at].encode()), found))
            before = found
    return (FORMAT, tuple(strings.numbers), tuple(entries))


def _source(source: Source, strings: _Strings) -> Value:
    """The lines, with their ends, and the file as numbers of strings; the number of a line."""
    *whole, last = source.text.split("\n")
    lines: list[Value] = [strings.number(f"{line}\n") for line in whole]
    lines.append(strings.number(last))
    return (TaggedList(lines, "List[int]"), strings.number(source.filename), source.first_line)
