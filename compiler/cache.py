"""The kernel cache on disk: object bytes, JSON metadata and arrays under a hash of what made them.

One file an entry: a header (content hash, length of the text), the text (JSON: the metadata and
the sizes of what follows), the object and the arrays, each at a multiple of 64 bytes. Files
appear by atomic rename, are private to the user, and are checked on reading: a damaged entry is a
miss and is removed. The oldest entries by last use go when the size bound is passed. Any number
of processes may share a directory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tensorscript.base.records import dataclass

from .memory import ALIGNMENT, aligned_empty

_MAGIC = b"tsk2"
_DIGEST = 32
_HASHED = len(_MAGIC) + _DIGEST
_HEADER = _HASHED + 8

Piece = bytes | memoryview


@dataclass(frozen=True)
class Entry:
    """What a hit gives: the object, and the metadata and arrays stored with it. The arrays are
    aligned and lie in one block of memory."""

    data: bytes
    metadata: dict[str, object]
    arrays: tuple[np.ndarray, ...] = ()


def cache_key(*parts: str | bytes) -> str:
    """A key over all parts; the length of each is hashed too, so that parts cannot run together."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()


_COMPILES = (
    "base", "eager", "dialects", "frontends", "lowering", "backends", "runtime", "compiler",
)  # fmt: skip


@functools.cache
def compiler_identity() -> str:
    """What changes whenever the compiler's own files do: their names, sizes and times.

    A version number would not see an edit, and an entry made before one would hide it. An
    installed package is written in one go, so that one file stands for all.
    """
    package = Path(__file__).parent.parent
    if not (package / "compiler").is_symlink():
        return f"{__file__} {os.stat(__file__).st_mtime_ns}"
    facts = sorted(fact for folder in _COMPILES for fact in _files(package / folder))
    return hashlib.sha256("".join(facts).encode()).hexdigest()


def _files(folder: str | Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                facts = entry.stat()
                yield f"{entry.name} {facts.st_size} {facts.st_mtime_ns}\n"
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path)


def default_directory() -> Path:
    """`$XDG_CACHE_HOME/tensorscript`, or `~/.cache/tensorscript`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "tensorscript"


MANY = 256
"""Entries of a size that a full cache holds: a larger one may pass the limit by itself."""


class DiskCache:
    """A directory of compiled kernels.

    Args:
        directory: made (mode 0700) at the first write.
        limit: bytes that all entries together may take, but for a few small ones; one may take half
            of it.
    """

    def __init__(self, directory: Path | None = None, limit: int = 2 << 30) -> None:
        self.directory = directory or default_directory()
        self.limit = limit
        self.hits = 0
        self._written: int | None = None

    def _path(self, key: str) -> str:
        return os.path.join(self.directory, f"{key}.tsk")

    def load(self, key: str) -> Entry | None:
        """The entry of `key`, or None; a damaged one is removed."""
        path = self._path(key)
        try:
            with open(path, "rb", buffering=0) as file:
                raw = _whole(file)
        except OSError:
            return None
        entry = _decode(raw)
        if entry is None:
            with contextlib.suppress(OSError):
                os.unlink(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        self.hits += 1
        return entry

    def store(
        self,
        key: str,
        data: bytes,
        metadata: dict[str, object] | None = None,
        arrays: Sequence[np.ndarray] = (),
    ) -> bool:
        """Write an entry; False where it is too large, or the directory cannot be written (the
        cache is optional)."""
        pieces = _encode(data, metadata or {}, arrays)
        size = sum(map(len, pieces))
        if size > self.limit // 2:
            return False
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.writelines(pieces)
                os.replace(temporary, self._path(key))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                return False
        except OSError:
            return False
        self._account(key, size)
        return True

    def _account(self, key: str, size: int) -> None:
        """Trim when the sum of what we saw and wrote passes the limit. To look through thousands of
        entries takes longer than to compile one: the first entry does whose key begins with 0, of
        16 digits, or which is large."""
        if self._written is None:
            if not key.startswith("0") and size < self.limit // MANY:
                return
            self._written = sum(found[1] for found in self._entries())
        else:
            self._written += size
        if self._written > self.limit:
            self.trim()

    def _entries(self) -> list[tuple[float, int, str]]:
        found = []
        with contextlib.suppress(OSError), os.scandir(self.directory) as listing:
            for item in listing:
                if item.name.endswith(".tsk"):
                    with contextlib.suppress(OSError):
                        status = item.stat()
                        found.append((status.st_mtime, status.st_size, item.path))
        return found

    def trim(self) -> None:
        """Remove the least recently used entries until three quarters of the limit are left."""
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self.limit * 3 // 4:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
        self._written = total


def _padding(size: int) -> int:
    return -size % ALIGNMENT


def _bytes_of(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _encode(data: bytes, metadata: dict[str, object], arrays: Sequence[np.ndarray]) -> list[Piece]:
    kinds = [[a.dtype.str, list(a.shape)] for a in arrays]
    head = {"metadata": metadata, "object": len(data), "arrays": kinds}
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    text = text.ljust(len(text) + _padding(_HEADER + len(text)))
    pieces: list[Piece] = [len(text).to_bytes(8, "little"), text]
    bodies: list[Piece] = [data, *map(_bytes_of, arrays)]
    for body in bodies:
        pieces += [body, bytes(_padding(len(body)))]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    start: list[Piece] = [_MAGIC, digest.digest()]
    return start + pieces


def _whole(file: io.FileIO) -> np.ndarray:
    """The bytes of a file in aligned memory."""
    raw = aligned_empty((os.fstat(file.fileno()).st_size,), np.dtype(np.uint8))
    return raw[: file.readinto(raw.data)]


def _decode(raw: np.ndarray) -> Entry | None:
    view = raw.data
    if len(view) < _HEADER or view[: len(_MAGIC)] != _MAGIC:
        return None
    if hashlib.sha256(view[_HASHED:]).digest() != view[len(_MAGIC) : _HASHED]:
        return None
    at = _HEADER + int.from_bytes(view[_HASHED:_HEADER], "little")
    try:
        head = json.loads(bytes(view[_HEADER:at]))
        size, kinds, metadata = head["object"], head["arrays"], head["metadata"]
    except (ValueError, KeyError, TypeError):
        return None
    data = bytes(view[at : at + size])
    arrays = []
    for kind, shape in kinds:
        at += size + _padding(size)
        dtype = np.dtype(kind)
        size = math.prod(shape) * dtype.itemsize
        arrays.append(raw[at : at + size].view(dtype).reshape(shape))
    return Entry(data, metadata, tuple(arrays))
