"""The kernel cache on disk: object bytes and JSON metadata under a hash of what made them.

One file an entry: a header line (content hash, metadata length), the metadata, the object. Files
appear by atomic rename, are private to the user, and are checked on reading: a damaged entry is a
miss and is removed. The oldest entries by last use go when the size bound is passed. Any number
of processes may share a directory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"tsk1"
_DIGEST = 32
_HEADER = len(_MAGIC) + _DIGEST + 8


@dataclass(frozen=True)
class Entry:
    """What a hit gives: the object and the metadata stored with it."""

    data: bytes
    metadata: dict[str, object]


def cache_key(*parts: str | bytes) -> str:
    """A key over all parts; the length of each is hashed too, so that parts cannot run together."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()


_COMPILES = ("base", "dialects", "lowering", "backends", "compiler")


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


class DiskCache:
    """A directory of compiled kernels.

    Args:
        directory: made (mode 0700) at the first write.
        limit: bytes that all entries together may take.
    """

    def __init__(self, directory: Path | None = None, limit: int = 1 << 30) -> None:
        self.directory = directory or default_directory()
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self._written: int | None = None

    def _path(self, key: str) -> str:
        return os.path.join(self.directory, f"{key}.tsk")

    def load(self, key: str) -> Entry | None:
        """The entry of `key`, or None; a damaged one is removed."""
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                raw = file.read()
        except OSError:
            self.misses += 1
            return None
        entry = _decode(raw)
        if entry is None:
            with contextlib.suppress(OSError):
                os.unlink(path)
            self.misses += 1
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        self.hits += 1
        return entry

    def store(self, key: str, data: bytes, metadata: dict[str, object] | None = None) -> bool:
        """Write an entry; False where the directory cannot be written (the cache is optional)."""
        raw = _encode(data, metadata or {})
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(raw)
                os.replace(temporary, self._path(key))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                return False
        except OSError:
            return False
        self._account(len(raw))
        return True

    def _account(self, size: int) -> None:
        """Trim when the sum of what we saw and wrote passes the limit."""
        if self._written is None:
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


def _encode(data: bytes, metadata: dict[str, object]) -> bytes:
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":")).encode()
    body = len(text).to_bytes(8, "little") + text + data
    return _MAGIC + hashlib.sha256(body).digest() + body


def _decode(raw: bytes) -> Entry | None:
    if len(raw) < _HEADER or raw[:4] != _MAGIC:
        return None
    body = memoryview(raw)[len(_MAGIC) + _DIGEST :]
    if hashlib.sha256(body).digest() != raw[len(_MAGIC) : len(_MAGIC) + _DIGEST]:
        return None
    size = int.from_bytes(body[:8], "little")
    try:
        metadata = json.loads(bytes(body[8 : 8 + size]))
    except ValueError:
        return None
    return Entry(bytes(body[8 + size :]), metadata) if isinstance(metadata, dict) else None
