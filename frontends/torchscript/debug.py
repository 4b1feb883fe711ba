"""The `.debug_pkl` records of an archive: where its code came from.

A record is a tuple ("FORMAT_WITH_STRING_TABLE", strings, entries). An entry says for the text of a
code file from one byte offset on: the original source (its lines and file name as numbers of
strings, its first line), and the range in it. Older records are the entries alone, with the text of
the source and its file name in each; PyTorch 1.2 has them in a folder `debug`. They are read when
an error is told, and a record that is missing or not of these forms tells nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field

from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Source, Span

from .archive import Archive
from .pickled import PickleLimits, TaggedList, Value
from .unpickle import unpickle

FORMAT = "FORMAT_WITH_STRING_TABLE"
_LIMITS = PickleLimits(size=1 << 26, opcodes=1 << 23)


@dataclass
class _Origins:
    """The entries of one record, by offset."""

    offsets: list[int] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)

    def at(self, offset: int) -> Span | None:
        found = bisect_right(self.offsets, offset) - 1
        return self.spans[found] if found >= 0 else None


@dataclass
class DebugInfo:
    """Original places of an archive's code."""

    archive: Archive
    _known: dict[str, _Origins] = field(default_factory=dict)

    def origin(self, span: Span) -> Span | None:
        """The place in the original source that a place in the archive's code came from."""
        name = span.source.filename
        if name not in self._known:
            old = f"debug/{name.removeprefix('code/').removesuffix('.py')}.pkl"
            record = f"{name}.debug_pkl"
            self._known[name] = self._read(record if self.archive.has(record) else old)
        text = span.source.text
        # `a.b` in `(a.b).c` starts where the whole does: that is told apart behind it.
        at = span.start if span.own is None else span.own
        offset = at if text.isascii() else len(text[:at].encode())
        return self._known[name].at(offset)

    def _read(self, record: str) -> _Origins:
        if not self.archive.has(record):
            return _Origins()
        try:
            return _origins(unpickle(self.archive.record(record), record, _LIMITS))
        except ArchiveError:
            return _Origins()


def _origins(value: Value) -> _Origins:
    match value:
        case (str(form), tuple(strings), tuple(entries)) if form == FORMAT:
            pass
        case tuple(entries):
            strings = ()
        case _:
            return _Origins()
    out = _Origins()
    sources: dict[object, Source] = {}
    for entry in entries:
        match entry:
            case (int(offset), (place, int(start), int(end)), *_):
                out.offsets.append(offset)
                out.spans.append(_span(place, start, end, strings, sources))
    return out


def _span(
    place: Value, start: int, end: int, strings: tuple[Value, ...], sources: dict[object, Source]
) -> Span | None:
    match place:
        case (str(text), str(file), int(first)) if text:
            source = sources.setdefault(place, Source(text, file, first))
            return Span(source, start, end) if 0 <= start <= end <= len(text) else None
        case (TaggedList(elements=lines) | tuple(lines), int(name), int(first)) if lines:
            pass
        case _:
            return None
    key = (tuple(lines), name, first)
    if key not in sources:
        numbers = [n for n in (*lines, name) if isinstance(n, int) and 0 <= n < len(strings)]
        texts = [strings[n] for n in numbers]
        if len(numbers) != len(lines) + 1 or not all(isinstance(t, str) for t in texts):
            return None
        *body, file = map(str, texts)
        sources[key] = Source("".join(body), file, first)
    source = sources[key]
    return Span(source, start, end) if 0 <= start <= end <= len(source.text) else None
