"""Signs of life on the error stream while something takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
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


BAR_WIDTH = 24
"""Characters of a full bar."""


class Bar:
    """A bar of one line on the error stream: drawn over itself on a terminal, else a line when
    what is being done changes."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._drawn = ""

    def __call__(self, part: float, what: str) -> None:
        """Show that a part (0 to 1) of the whole is done."""
        full = round(max(0.0, min(part, 1.0)) * BAR_WIDTH)
        line = f"[{'#' * full}{'.' * (BAR_WIDTH - full)}] {what}"
        if self._live:
            sys.stderr.write(f"\r{line:<{len(self._drawn)}}")
            sys.stderr.flush()
        elif what != self._drawn.rpartition("] ")[2]:
            _say(line)
        self._drawn = line

    def close(self) -> None:
        """End the line."""
        if self._live and self._drawn:
            sys.stderr.write("\n")


@contextmanager
def bar_on_terminal() -> Iterator[Callable[[float, str], None]]:
    """A bar where somebody may be watching the error stream, else nothing."""
    if not sys.stderr.isatty():
        yield lambda part, what: None
        return
    bar = Bar()
    try:
        yield bar
    finally:
        bar.close()


def _tell(what: str, start: float, done: threading.Event) -> None:
    while not done.wait(QUIET_SECONDS):
        _say(f"{what} ... {time.perf_counter() - start:.0f} s")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
