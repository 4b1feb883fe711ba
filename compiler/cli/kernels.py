"""`tensorscript bench --kernels`: where the time of a call goes, beside what kernels have to do."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tensorscript.dialects.te.ops import functions
from tensorscript.lowering.te.counts import Work, work_of

from ..function import CompiledFunction

SECONDS = 0.35
"""Of calls that are counted."""


def kernel_table(program: CompiledFunction, values: Sequence[Any]) -> str:
    """One line a kernel, the longest first.

    Each says the time in a call of the program, its share, how often the kernel runs, the rates at
    which it multiplies and adds (two operations) and at which it moves what it reads and writes
    (each once), its name and category, and what it writes. The last lines are the time outside of
    kernels, and all kernels together.

    Args:
        program: compiled with `CompileOptions(timed=True)`.
        values: its arguments.
    """
    program(*values)  # compiles, and fills the caches
    work = _work_by_kernel(program)
    before = {t.kernel: t for t in program.kernel_times}
    start = time.perf_counter()
    count = 0
    while count == 0 or time.perf_counter() - start < SECONDS:
        program(*values)
        count += 1
    whole = time.perf_counter() - start
    rows: list[tuple[float, float, Work | None, str]] = []
    for now in program.kernel_times:
        calls = (now.calls - before[now.kernel].calls) / count
        label = f"{now.kernel}  {', '.join(now.kernel.results)}".rstrip()
        taken = (now.seconds - before[now.kernel].seconds) / count
        rows.append((taken, calls, work.get(now.kernel.name), label))
    rows.sort(key=lambda row: row[0], reverse=True)
    inside = sum(taken for taken, *_ in rows)
    rows.append((whole / count - inside, 1, None, "outside of kernels"))
    rows.append((inside, 1, _together(rows[:-1]), "all kernels"))
    return "".join(_line(*row, whole / count) for row in rows)


def _work_by_kernel(program: CompiledFunction) -> Mapping[str, Work | None]:
    """What each kernel does, counted in its loops as they are before they are scheduled."""
    assert program.latest_specs is not None
    module = program.lower(program.latest_specs, keep=True).report.modules["te"]
    return {f.sym_name.data: work_of(f) for f in functions(module) if f.role.data == "kernel"}


def _together(rows: Sequence[tuple[float, float, Work | None, str]]) -> Work | None:
    """The work of all kernels in a call; None if that of one is not known."""
    multiply_adds = traffic = 0.0
    for _, calls, work, _ in rows:
        if work is None:
            return None
        multiply_adds += calls * work.multiply_adds
        traffic += calls * work.traffic
    return Work(round(multiply_adds), round(traffic))


def _line(taken: float, calls: float, work: Work | None, label: str, whole: float) -> str:
    rates = f"{'':>27}"
    if work is not None and taken > 0:
        flops = 2 * work.multiply_adds * calls / taken / 1e9
        moved = work.traffic * calls / taken / 1e9
        rates = f"{flops:7.1f} GFLOP/s  {moved:5.1f} GB/s"
    share = 100 * taken / whole
    return f"{duration(taken):>10}  {share:5.1f} %  {calls:6g} x  {rates}  {label}\n"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
