"""Forked calls: threads of a pool begin them in order; whoever waits for one that nobody has begun
runs it himself, so tasks that wait for tasks never run out of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future as ConcurrentFuture
from typing import Any

DEEPEST = 16
"""Tasks that one thread runs inside of one another. A longer chain is of futures that were handed
to later tasks; the pool begins those in their order."""


class _Thread(threading.local):
    """How many tasks a thread is inside of."""

    depth = 0


_THREAD = _Thread()


class Task:
    """A call that one thread makes.

    Attributes:
        future: its result, or what it raises.
    """

    def __init__(self, call: Callable[[], Any]) -> None:
        self.future: ConcurrentFuture[Any] = ConcurrentFuture()
        self._call = call
        self._is_begun = threading.Lock()

    def begin(self) -> None:
        """Run it here, unless another thread has begun it or this one is too deep in others."""
        if _THREAD.depth >= DEEPEST or not self._is_begun.acquire(blocking=False):
            return
        _THREAD.depth += 1
        try:
            result = self._call()
        except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
            self.future.set_exception(error)
        else:
            self.future.set_result(result)
        finally:
            _THREAD.depth -= 1
