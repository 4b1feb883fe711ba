"""How long a fixed loop of multiply-adds in registers takes on each processor in use.

A virtual machine's processor may be one of two that share a core's units. While somebody else uses
the other one, whatever multiplies takes up to twice as long, and what waits for memory does not:
ratios between libraries move as well.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from limits import multiply_adds

from tensorscript.backends.cpu.jit import LoadedModule, compile_object, load_object

COUNT = 200_000
REPEATS = 3


@cache
def _loaded() -> LoadedModule:
    return load_object(compile_object(multiply_adds()), ["peak"])


def loop_seconds(threads: int) -> float:
    """On the slowest of the first `threads` processors that this process may use."""
    loop = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(_loaded().address("peak"))
    keep = sys.platform == "linux"
    processors = sorted(os.sched_getaffinity(0)) if keep else []

    def run(number: int) -> float:
        if keep:
            os.sched_setaffinity(0, {processors[number % len(processors)]})
        times = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            loop(COUNT)
            times.append(time.perf_counter() - start)
        return min(times)

    with ThreadPoolExecutor(threads) as pool:
        return max(pool.map(run, range(threads)))


if __name__ == "__main__":
    print(f"{1e6 * loop_seconds(len(os.sched_getaffinity(0))):.0f} us")
