"""The run-time support of this process: compiled and loaded once, shared by every kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from tensorscript.backends.cpu.jit import LoadedModule, compile_object, load_object
from tensorscript.backends.target import Target, host

from .lists import LIST_SYMBOLS, LISTS
from .memory import MEMORY
from .threads import threads_text

SYMBOLS = (
    "ts_par_for", "ts_get_num_threads", "ts_set_num_threads", "ts_set_par_for", "ts_malloc",
    "ts_free", "ts_set_allocator", "ts_set_error", "ts_set_error_handler", "ts_error_message",
    "ts_clear_error", *LIST_SYMBOLS,
)  # fmt: skip


def runtime_text(target: Target, hidden: bool = False) -> str:
    """The LLVM text of the run-time support.

    Args:
        target: a CPU.
        hidden: for an exported object: what is not called is left out, and nothing is visible
            outside the linked library; several objects in one link share one copy.
    """
    linkage, keep = ("linkonce_odr hidden", "weak_odr hidden") if hidden else ("", "")
    text = threads_text(target) + MEMORY + LISTS
    return text.replace("LINKAGE", linkage).replace("KEEP", keep)


def _compiled() -> bytes:
    target = host()
    return compile_object(runtime_text(target), target)


class _Process:
    """What is loaded once per process."""

    module: LoadedModule | None = None


_PROCESS = _Process()


def runtime_symbols(make_object: Callable[[], bytes] = _compiled) -> dict[str, int]:
    """Addresses of the support functions, for `load_object`.

    Args:
        make_object: gives the object of `runtime_text`; called once per process. A caller with a
            cache hands in its own, because compiling takes 20 to 30 ms.
    """
    if _PROCESS.module is None:
        _PROCESS.module = load_object(make_object(), SYMBOLS)
    module = _PROCESS.module
    return {name: module.address(name) for name in SYMBOLS}


def take_error() -> str:
    """The message that native code left, which is then forgotten; "" if there is none."""
    symbols = runtime_symbols()
    message = ctypes.CFUNCTYPE(ctypes.c_char_p)(symbols["ts_error_message"])() or b""
    ctypes.CFUNCTYPE(None)(symbols["ts_clear_error"])()
    return bytes(message).decode("utf-8", "replace")


def get_num_threads() -> int:
    """How many threads a parallel loop may use, the calling one included."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(runtime_symbols()["ts_get_num_threads"])())


def set_num_threads(n: int) -> None:
    """Set that number (1 to 256).

    Raises:
        RuntimeError: `n` is not positive.
    """
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    ctypes.CFUNCTYPE(None, ctypes.c_int)(runtime_symbols()["ts_set_num_threads"])(n)
