"""Room on the stack for programs that are nested deeply.

Passes walk syntax trees and nested blocks by plain recursion, which Python limits to about a
thousand frames: enough for what people nest by hand, not for an expression of a thousand operators
or a function of a thousand early returns. Where the limit is hit, the walk is begun anew on a
thread with a large stack and a high limit; everything else pays nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

from .errors import CompileError

T = TypeVar("T")

_FRAMES = 400_000
_BYTES = 1 << 29
"""Memory for frames that pass through C; it is reserved, and used only as far as they go."""


class _Room:
    """The threads that have room, and the limit that holds while there are some (Python knows one
    limit for all threads)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self._limit = 0

    def here(self) -> bool:
        """Whether this thread has room already."""
        return threading.get_ident() in self._threads

    @contextmanager
    def taken(self) -> Iterator[None]:
        with self._lock:
            if not self._threads:
                self._limit = sys.getrecursionlimit()
                sys.setrecursionlimit(_FRAMES)
            self._threads.add(threading.get_ident())
        try:
            yield
        finally:
            with self._lock:
                self._threads.discard(threading.get_ident())
                if not self._threads:
                    sys.setrecursionlimit(self._limit)

    def ensure(self, count: int) -> None:
        """Raise the limit for good, if need be, also that of the time without such threads."""
        with self._lock:
            if self._threads:
                self._limit = max(self._limit, count)
            elif sys.getrecursionlimit() < count:
                sys.setrecursionlimit(count)

    def thread(self, run: Callable[[], None]) -> threading.Thread:
        """A started thread with a large stack."""
        with self._lock:
            before = threading.stack_size(_BYTES)
            try:
                made = threading.Thread(target=run, name="tensorscript-deep", daemon=True)
                made.start()
            finally:
                threading.stack_size(before)
        return made


_ROOM = _Room()


def with_room(call: Callable[[], T]) -> T:
    """The result of `call()`, which is called again where the stack was too small for it.

    Args:
        call: what leaves nothing behind when it fails half-way.

    Raises:
        CompileError: no stack is large enough.
    """
    if _ROOM.here():
        return call()
    try:
        return call()
    except RecursionError:
        pass
    context = copy_context()
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        with _ROOM.taken():
            try:
                results.append(context.run(call))
            except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
                failures.append(error)

    _ROOM.thread(run).join()
    if not failures:
        return results[0]
    if isinstance(failures[0], RecursionError):
        raise CompileError("The program is nested too deeply to be compiled") from None
    raise failures[0]


def ensure_frames(count: int) -> None:
    """Raise Python's limit for good, if need be, so that `count` frames fit.

    Frames of Python functions that call one another need no stack of C; so many do no harm.
    """
    _ROOM.ensure(count)
