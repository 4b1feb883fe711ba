"""Ways to damage an archive, each a function of a random generator and the archive's bytes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from random import Random

Mutation = Callable[[Random, bytes], bytes]


def _records(data: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def _zipped(records: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in records:
            file.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def _changed_record(
    random: Random, data: bytes, pattern: str, change: Callable[[Random, bytes], bytes]
) -> bytes:
    """The archive with one record that matches changed; whole and correct otherwise.

    Where none matches that holds anything, some bytes of the whole change instead.
    """
    records = _records(data)
    found = [at for at, (name, held) in enumerate(records) if held and re.search(pattern, name)]
    if not found:
        return bytes_changed(random, data)
    at = random.choice(found)
    records[at] = records[at][0], change(random, records[at][1])
    return _zipped(records)


# -- bytes -----------------------------------------------------------------------------------------


def bytes_changed(random: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(random.randint(1, 8)):
        out[random.randrange(len(out))] = random.randrange(256)
    return bytes(out)


def bits_flipped(random: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(random.randint(1, 4)):
        out[random.randrange(len(out))] ^= 1 << random.randrange(8)
    return bytes(out)


def cut(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data))]


def spliced(random: Random, data: bytes) -> bytes:
    start, stop = sorted(random.randrange(len(data)) for _ in range(2))
    at = random.randrange(len(data))
    return data[:at] + data[start : min(stop, start + 4096)] + data[at:]


# -- zip structure ---------------------------------------------------------------------------------


def directory_changed(random: Random, data: bytes) -> bytes:
    """Fields of the central directory and the end records become extreme."""
    out = bytearray(data)
    start = data.index(b"PK\1\2")
    for _ in range(random.randint(1, 3)):
        at = random.randrange(start, len(out) - 4)
        width = random.choice([1, 2, 4])
        value = random.choice([0, 1, 0x7F, 0xFF]) if width == 1 else random.getrandbits(8 * width)
        out[at : at + width] = value.to_bytes(width, "little")
    return bytes(out)


def record_dropped(random: Random, data: bytes) -> bytes:
    records = _records(data)
    del records[random.randrange(len(records))]
    return _zipped(records)


def record_renamed(random: Random, data: bytes) -> bytes:
    records = _records(data)
    at = random.randrange(len(records))
    name = random.choice(["../x", "/etc/passwd", "a" * 3000, "m/\0", records[0][0], "data.pkl", ""])
    records[at] = name or "x", records[at][1]
    return _zipped(list(dict(records).items()))


def records_exchanged(random: Random, data: bytes) -> bytes:
    records = _records(data)
    i, j = (random.randrange(len(records)) for _ in range(2))
    records[i], records[j] = (records[i][0], records[j][1]), (records[j][0], records[i][1])
    return _zipped(records)


def record_inflated(random: Random, data: bytes) -> bytes:
    """A record of zeros that packs well."""
    records = _records(data)
    at = random.randrange(len(records))
    records[at] = records[at][0], bytes(random.choice([1 << 10, 1 << 16, 1 << 21]))
    return _zipped(records, zipfile.ZIP_DEFLATED)


# -- pickles ---------------------------------------------------------------------------------------

_OPCODES = b"().]}NKMJXcqhRQtuesabl\x80\x81\x85\x86\x87\x88\x89\x8a"
_GLOBALS = (
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"cposix\nsystem\n", b"ctorch\nload\n",
    b"c__torch__\nNope\n", b"ctorch.jit._pickle\nbuild_intlist\n", b"cbuiltins\n__import__\n",
)  # fmt: skip


def _pickle_bytes(random: Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(out) + 1)
        kind = random.randrange(5)
        if kind == 0:
            out[at : at + 1] = bytes([random.choice(_OPCODES)])
        elif kind == 1:
            out[at:at] = bytes([random.choice(_OPCODES)])
        elif kind == 2:
            del out[at : at + random.randint(1, 6)]
        elif kind == 3:
            out[at:at] = random.choice(_GLOBALS)
        else:
            out[at : at + 4] = random.getrandbits(32).to_bytes(4, "little")
    return bytes(out)


def pickle_changed(random: Random, data: bytes) -> bytes:
    return _changed_record(random, data, r"/(data|constants|attributes)\.pkl$", _pickle_bytes)


def version_changed(random: Random, data: bytes) -> bytes:
    texts = [b"0\n", b"11\n", b"-3\n", b"99999999999999999999\n", b"", b"x", b"1\n", b"3" * 500]
    return _changed_record(random, data, r"/version$", lambda r, _: r.choice(texts))


# -- source text -----------------------------------------------------------------------------------

_INSERTED = (
    "import os\n", "__import__('os').system('x')", "(" * 300, "[" * 50, "-" * 5000, "lambda: 0",
    "\0", "9" * 5000, "1e999", "    ", "\t", "return x", "x[0]", "CONSTANTS.c99", "CONSTANTS.cx",
    "torch.", "ops.prim.x(1)", "__torch__.nope(", "Tuple[", "Optional[int]", "class A(Module):\n",
    '"', "\\", "exec('1')", "while True:\n", "getattr(self, '__class__')", "\u00e9", "*", "**",
    "self.training.x",
)  # fmt: skip


def _text(random: Random, data: bytes) -> bytes:
    text = data.decode()
    lines = text.split("\n")
    kind = random.randrange(6)
    if kind == 0:
        del lines[random.randrange(len(lines))]
    elif kind == 1:
        i, j = (random.randrange(len(lines)) for _ in range(2))
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 2:
        at = random.randrange(len(lines))
        lines[at] = " " * random.randrange(12) + lines[at].lstrip()
    if kind <= 2:
        return "\n".join(lines).encode()
    words = re.findall(r"\w+", text)
    at = random.randrange(len(text))
    if kind == 3:
        return (text[:at] + random.choice(_INSERTED) + text[at:]).encode()
    if kind == 4 and words:
        old, new = random.choice(words), random.choice(words)
        return re.sub(rf"\b{re.escape(old)}\b", new, text, count=random.choice([1, 0])).encode()
    return (text[:at] + text[at + random.randint(1, 20) :]).encode()


def source_changed(random: Random, data: bytes) -> bytes:
    return _changed_record(random, data, r"/code/.*\.py$", _text)


# -- model.json of PyTorch 1.0 to 1.2 --------------------------------------------------------------

_JSON = (b"{", b"[", b'"', b"null", b"-1", b'"-1"', b'"9223372036854775807"', b"1e999", b"[" * 5000,
         b'"\\ud800"', b"9" * 5000, b'"List[" * 99', b"true", b"{}", b"NaN")  # fmt: skip


def _json(random: Random, data: bytes) -> bytes:
    tokens = re.findall(rb'"[^"]*"|[\[\]{}:,]|[^"\[\]{}:,]+', data)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(tokens))
        tokens[at] = random.choice([random.choice(tokens), random.choice(_JSON), b""])
    return b"".join(tokens)


def model_changed(random: Random, data: bytes) -> bytes:
    return _changed_record(random, data, r"/model\.json$", _json)


MUTATIONS: tuple[Mutation, ...] = (
    bytes_changed, bits_flipped, cut, spliced, directory_changed, record_dropped, record_renamed,
    records_exchanged, record_inflated, pickle_changed, pickle_changed, pickle_changed,
    version_changed, source_changed, source_changed, source_changed, source_changed, model_changed,
)  # fmt: skip
"""Every way, those that reach deepest more than once."""
