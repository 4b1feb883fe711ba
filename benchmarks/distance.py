"""How long a cache line takes from one processor to another.

Two threads, each kept to a processor, take turns to write one word. Where a virtual machine has two
processors, its host may put them behind different third caches for seconds; a line then takes six
times as long, and what threads hand to each other with it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from tensorscript.backends.cpu.jit import LoadedModule, compile_object, load_object

TURNS = 2000
_TEXT = """
define void @bounce(ptr %word, i64 %first, i64 %turns) {
entry:
  br label %wait
wait:
  %n = phi i64 [ %first, %entry ], [ %n, %wait ], [ %later, %mine ]
  %seen = load atomic i64, ptr %word acquire, align 8
  %turn = icmp eq i64 %seen, %n
  br i1 %turn, label %mine, label %wait
mine:
  %next = add i64 %n, 1
  store atomic i64 %next, ptr %word release, align 8
  %later = add i64 %n, 2
  %more = icmp slt i64 %later, %turns
  br i1 %more, label %wait, label %done
done:
  ret void
}
"""


@cache
def _loaded() -> LoadedModule:
    return load_object(compile_object(_TEXT), ["bounce"])


def line_seconds() -> float:
    """From the first processor that this process may use to the second; 0 where there is one, or
    where threads cannot be kept to them."""
    if sys.platform != "linux" or len(processors := sorted(os.sched_getaffinity(0))) < 2:
        return 0.0
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    bounce = kind(_loaded().address("bounce"))
    word = np.zeros(16, np.int64)

    def play(first: int) -> float:
        os.sched_setaffinity(0, {processors[first]})
        start = time.perf_counter()
        bounce(word.ctypes.data, first, 2 * TURNS)
        return time.perf_counter() - start

    with ThreadPoolExecutor(2) as pool:
        return min(pool.map(play, (0, 1))) / (2 * TURNS)


if __name__ == "__main__":
    print(f"{1e9 * line_seconds():.0f} ns")
