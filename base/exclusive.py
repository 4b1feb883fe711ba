"""What one thread of a process does at a time.

The compiler's tables (expressions that are equal by identity, what is known of a function, what is
loaded once) are shared by all threads. One that met another's half-made entry would go on with it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Exclusive:
    """A lock that its holder may take again, also on the thread that `with_room` continues on.

    A process that is forked begins when no other thread holds it.
    """

    def __init__(self, name: str) -> None:
        self._lock = threading.Lock()
        self._is_held: ContextVar[bool] = ContextVar(name, default=False)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._acquire, after_in_parent=self._release, after_in_child=self._release
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; wait while another thread does."""
        if self._is_held.get():
            yield
            return
        with self._lock:
            token = self._is_held.set(True)
            try:
                yield
            finally:
                self._is_held.reset(token)

    def _acquire(self) -> None:
        if not self._is_held.get():
            self._lock.acquire()

    def _release(self) -> None:
        if not self._is_held.get():
            self._lock.release()


COMPILING = Exclusive("compiling")
"""Held while a program is lowered, compiled, or its code loaded; never while it runs."""
