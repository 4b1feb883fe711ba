"""Files that are written whole before they take the place of another."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import GuardError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file for writing bytes that is at `path` when all is written.

    Tensors that were loaded from a file of that name are mapped: they go on reading the old one,
    and so does everybody if writing fails. What is no regular file is written as it stands.

    Raises:
        GuardError: there is no such folder, in PyTorch's words.
    """
    target = Path(os.path.realpath(os.fspath(path)))
    if not target.parent.is_dir():
        raise GuardError(f"Parent directory {Path(path).parent} does not exist.")
    if not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    handle, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        shutil.copymode(target, made)
        os.replace(made, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(made)
