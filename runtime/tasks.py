"""Forked calls: threads of a pool begin them in order; whoever waits for one that nobody has begun
runs it himself, so tasks that wait for tasks never run out of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorscript.base.importing import imported

if TYPE_CHECKING:
    from concurrent.futures import Future as ConcurrentFuture

DEEPEST = 16
"""Tasks that one thread runs inside of one another. A longer chain is of futures that were handed
to later tasks; the pool begins those in their order."""


class _Thread(threading.local):
    """How many tasks a thread is inside of."""

    depth = 0


_THREAD = _Thread()


def pending() -> ConcurrentFuture[Any]:
    """A result that is not there yet; what makes it is imported for whoever forks."""
    made: ConcurrentFuture[Any] = imported("concurrent.futures").Future()
    return made


class Task:
    """A call that one thread makes.

    Attributes:
        future: its result, or what it raises.
    """

    def __init__(self, call: Callable[[], Any]) -> None:
        self.future = pending()
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
