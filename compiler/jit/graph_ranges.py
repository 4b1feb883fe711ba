"""Whether graphs print the places in the program that their nodes came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_shown: ContextVar[bool] = ContextVar("source_ranges", default=True)


@contextmanager
def hide_source_ranges() -> Iterator[None]:
    """Within, graphs print without the places their nodes came from."""
    token = _shown.set(False)
    try:
        yield
    finally:
        _shown.reset(token)


def shows_source_ranges() -> bool:
    """Whether graphs print places here."""
    return _shown.get()
