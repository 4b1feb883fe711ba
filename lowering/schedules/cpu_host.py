"""Schedules of host functions for a CPU: lists as buffers, iterations as lanes, scans."""

from __future__ import annotations

from tensorscript.dialects.te.ops import FuncOp

from .carried_last import carried_last
from .iterations import vectorize_iterations
from .list_buffers import lists_as_buffers
from .list_reads import lists_read
from .scans import scan_recurrences


def schedule_host(func: FuncOp, vector_bytes: int) -> None:
    """Rewrite the loops and lists of a host function in place."""
    lists_as_buffers(func)
    vectorize_iterations(func, vector_bytes)
    lists_read(func)
    carried_last(func)
    scan_recurrences(func, vector_bytes)
