"""Schedules for a CPU by category, imported when a kernel of the category is first scheduled.

`late_cpu.schedule_rows(...)` stands for `from .cpu_rows import schedule_rows` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .cpu_host import schedule_host
    from .cpu_kernels import schedule_attention, schedule_contraction
    from .cpu_lines import schedule_scan, schedule_scatter, schedule_sort
    from .cpu_rows import schedule_rows
    from .iterated_points import schedule_iterated

__all__ = [
    "schedule_attention",
    "schedule_contraction",
    "schedule_host",
    "schedule_iterated",
    "schedule_rows",
    "schedule_scan",
    "schedule_scatter",
    "schedule_sort",
]

_OWN = "tensorscript.lowering.schedules"
_HOMES = {
    "schedule_host": f"{_OWN}.cpu_host",
    "schedule_iterated": f"{_OWN}.iterated_points",
    "schedule_rows": f"{_OWN}.cpu_rows",
    **dict.fromkeys(("schedule_attention", "schedule_contraction"), f"{_OWN}.cpu_kernels"),
    **dict.fromkeys(("schedule_scan", "schedule_scatter", "schedule_sort"), f"{_OWN}.cpu_lines"),
}

__getattr__ = deferred(__name__, _HOMES)
