"""Files that are written whole before they take the place of another."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import GuardError, UserError


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


def all_or_nothing(
    files: Sequence[tuple[str | os.PathLike[str], Callable[[Path], None]]],
) -> None:
    """Write several files that belong together: none is there before all are written.

    Args:
        files: (where to, what writes it to the place that it is given); the place has the same
            name in another folder of the same disk.

    Raises:
        UserError: two files of one name.
        OSError: a file cannot be written; it names the file.
    """
    targets = [Path(os.path.realpath(os.fspath(path))) for path, _ in files]
    if len(set(targets)) < len(targets):
        raise UserError(f"two files would be written to {_twice(targets)}")
    with ExitStack() as stack:
        made: list[Path] = []
        for target, (path, write) in zip(targets, files, strict=True):
            try:
                if target.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                folder = tempfile.TemporaryDirectory(dir=target.parent, prefix=".")
                made.append(Path(stack.enter_context(folder)) / target.name)
                write(made[-1])
                if target.exists():
                    shutil.copymode(target, made[-1])
            except OSError as error:
                raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        for place, target in zip(made, targets, strict=True):
            os.replace(place, target)


def _twice(targets: Sequence[Path]) -> Path:
    return next(t for t in targets if targets.count(t) > 1)
