"""Run-time support of native code: threads, memory, errors."""

from .process import (
    PART_OPTIMIZATION,
    Part,
    get_num_threads,
    part_text,
    runtime_symbols,
    runtime_text,
    set_num_threads,
    take_error,
)

__all__ = [
    "PART_OPTIMIZATION",
    "Part",
    "get_num_threads",
    "part_text",
    "runtime_symbols",
    "runtime_text",
    "set_num_threads",
    "take_error",
]
