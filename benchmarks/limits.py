"""The machine's limits, measured: float32 multiply-adds in registers, and copying in memory.

The first is a loop of independent fused multiply-adds, the second NumPy's copy of arrays far larger
than the caches, with as many threads as the workloads have.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tensorscript.backends.cpu.jit import compile_object, load_object
from tensorscript.backends.target import host

SUMS = 12
"""Enough to hide the latency of one, few enough for 16 registers."""
ELEMENTS = 1 << 25
ROUNDS = 30


def multiply_adds() -> str:
    """LLVM text of `float @peak(i64 turns)`: multiply-adds that do not wait for each other."""
    lanes = _lanes()
    kind = f"<{lanes} x float>"
    phis = [
        f"  %s{k} = phi {kind} [ zeroinitializer, %entry ], [ %t{k}, %loop ]" for k in range(SUMS)
    ]
    steps = [
        f"  %t{k} = call {kind} @llvm.fma.v{lanes}f32({kind} %s{k}, "
        f"{kind} splat (float 0x3FEFFFFFE0000000), {kind} splat (float 1.0))"
        for k in range(SUMS)
    ]
    adds, last = [], "%t0"
    for k in range(1, SUMS):
        adds.append(f"  %a{k} = fadd {kind} {last}, %t{k}")
        last = f"%a{k}"
    return "\n".join(
        [
            f"declare {kind} @llvm.fma.v{lanes}f32({kind}, {kind}, {kind})",
            "define float @peak(i64 %n) {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]",
            *phis,
            *steps,
            "  %j = add i64 %i, 1",
            "  %more = icmp slt i64 %j, %n",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *adds,
            f"  %r = extractelement {kind} {last}, i64 0",
            "  ret float %r",
            "}",
        ]
    )


def _lanes() -> int:
    return host().vector_bytes // 4


def _best(run: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def limits(threads: int) -> dict[str, float]:
    """`flops` (float32 operations per second, two a multiply-add) and `bandwidth` (bytes read and
    written per second) of `threads` threads."""
    loaded = load_object(compile_object(multiply_adds()), ["peak"])
    peak = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(loaded.address("peak"))
    count = 200_000
    sources = [np.ones(ELEMENTS // threads, np.float32) for _ in range(threads)]
    targets = [np.empty_like(a) for a in sources]
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(peak, [count] * threads)))
        copying = _best(lambda: list(pool.map(np.copyto, targets, sources)))
    return {
        "flops": 2.0 * _lanes() * SUMS * count * threads / seconds,
        "bandwidth": 8.0 * ELEMENTS / copying,
    }


if __name__ == "__main__":
    print(json.dumps(limits(int(sys.argv[1]))))
