"""Run-time support of native code: threads, memory, errors."""

from .process import (
    get_num_threads,
    runtime_symbols,
    runtime_text,
    set_num_threads,
    take_error,
)

__all__ = ["get_num_threads", "runtime_symbols", "runtime_text", "set_num_threads", "take_error"]
