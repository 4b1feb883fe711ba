"""Clocks around the kernels that host code calls: how often each ran, and for how long.

`@ts_times` has two 64-bit numbers for each kernel, calls and nanoseconds; reading the clock takes
some 25 ns a time, on both sides of a call.
"""

from __future__ import annotations

from .emit_context import Context
from .emit_text import ModuleText
from .symbols import TIMES

_NOW = """define internal i64 @ts_now() nounwind {
entry:
  %at = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 1, ptr %at) ; CLOCK_MONOTONIC
  %seconds = load i64, ptr %at
  %place = getelementptr i64, ptr %at, i64 1
  %rest = load i64, ptr %place
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}"""


def declare_times(text: ModuleText, count: int) -> None:
    """The counters of `count` kernels, and the clock."""
    text.globals.append(f"@{TIMES} = global [{2 * count} x i64] zeroinitializer")
    text.declare("clock_gettime", "i32", "i32, ptr")
    text.functions.append(_NOW)


def clock(context: Context) -> str:
    """The time now, in nanoseconds."""
    return context.code.let("call i64 @ts_now()")


def count_call(context: Context, kernel: int, start: str) -> None:
    """Add a call that began at `start` to the counters of a kernel."""
    taken = context.code.let(f"sub i64 {clock(context)}, {start}")
    for offset, step in ((0, "1"), (1, taken)):
        at = 2 * kernel + offset
        place = context.code.let(f"getelementptr i64, ptr @{TIMES}, i64 {at}")
        before = context.code.let(f"load i64, ptr {place}")
        context.code.do(f"store i64 {context.code.let(f'add i64 {before}, {step}')}, ptr {place}")
