"""How many threads parallel loops have, for some statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tensorscript as ts


@contextmanager
def threads_of(count: int) -> Iterator[None]:
    before = ts.get_num_threads()
    ts.set_num_threads(count)
    try:
        yield
    finally:
        ts.set_num_threads(before)
