"""Signs of life on the error stream while something takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_SECONDS = 2.0
"""What takes less is not worth a line."""


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say every few seconds that `what` is still under way, and at its end how long it took."""
    done = threading.Event()
    start = time.perf_counter()
    teller = threading.Thread(target=_tell, args=(what, start, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()
        taken = time.perf_counter() - start
        if taken > QUIET_SECONDS:
            _say(f"{what}: {taken:.1f} s")


def _tell(what: str, start: float, done: threading.Event) -> None:
    while not done.wait(QUIET_SECONDS):
        _say(f"{what} ... {time.perf_counter() - start:.0f} s")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
