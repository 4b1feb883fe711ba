"""The run-time support of this process: compiled and loaded once, shared by every kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import ClassVar, Literal

from tensorscript.backends.cpu.jit import LoadedModule, compile_object, load_object
from tensorscript.backends.llvm.optimize import VECTOR_CODE, Optimization
from tensorscript.backends.target import Target, host
from tensorscript.base.exclusive import COMPILING

from .arrays import ARRAYS
from .lists import LIST_SYMBOLS, LISTS, LISTS_NEED
from .matrix_unit import matrix_unit_text
from .memory import MEMORY
from .scratch import scratch_text
from .threads import threads_text

CORE_SYMBOLS = (
    "ts_par_for", "ts_get_num_threads", "ts_set_num_threads", "ts_set_par_for", "ts_malloc",
    "ts_free", "ts_set_allocator", "ts_set_error", "ts_set_error_handler", "ts_error_message",
    "ts_clear_error", "ts_malloc_hook", "ts_scratch", "ts_scratch_free", "ts_array_handler",
    "ts_tiles",
)  # fmt: skip
Part = Literal["core", "lists"]
"""Threads, memory and errors, which everything needs; and lists, which few programs do and which
take longer to compile than most programs."""
_PARTS: dict[Part, tuple[str, ...]] = {"core": CORE_SYMBOLS, "lists": LIST_SYMBOLS}
PART_OPTIMIZATION: dict[Part, Optimization] = {
    "core": Optimization(VECTOR_CODE.passes, codegen_level=0),
    "lists": VECTOR_CODE,
}
"""Nothing of the core runs once an element: a call of it takes as long from LLVM's fast selection
of instructions, whose time is 6 ms instead of 41."""
_MARK = b"ts_list_"
"""In the symbol table of an object that needs lists."""


def _common_text(target: Target) -> str:
    return threads_text(target) + MEMORY + matrix_unit_text(target) + scratch_text()


def runtime_text(target: Target, hidden: bool = False) -> str:
    """The LLVM text of the whole run-time support.

    Args:
        target: a CPU.
        hidden: for an exported object: what is not called is left out, and nothing is visible
            outside the linked library; several objects in one link share one copy.
    """
    linkage, keep = ("linkonce_odr hidden", "weak_odr hidden") if hidden else ("", "")
    text = _common_text(target) + LISTS
    return text.replace("LINKAGE", linkage).replace("KEEP", keep)


def part_text(part: Part, target: Target) -> str:
    """The LLVM text of one part, for this process."""
    core = _common_text(target) + ARRAYS
    text = core if part == "core" else LISTS_NEED + LISTS
    return text.replace("LINKAGE", "").replace("KEEP", "")


def _compiled(part: Part) -> bytes:
    target = host()
    return compile_object(part_text(part, target), target, PART_OPTIMIZATION[part])


class _Process:
    """What is loaded once per process."""

    parts: ClassVar[dict[Part, LoadedModule]] = {}


def runtime_symbols(
    make_object: Callable[[Part], bytes] = _compiled, user: bytes = b""
) -> dict[str, int]:
    """Addresses of the support functions, for `load_object`.

    Args:
        make_object: gives the object of `part_text`; called once per process and part. A caller
            with a cache hands in its own, because compiling takes 20 to 50 ms.
        user: the object that will call them; lists come only if it names them.
    """
    found = _loaded("core", make_object, {})
    return found | _loaded("lists", make_object, found) if _MARK in user else found


def _loaded(
    part: Part, make_object: Callable[[Part], bytes], symbols: dict[str, int]
) -> dict[str, int]:
    if (module := _Process.parts.get(part)) is None:
        with COMPILING.held():
            if (module := _Process.parts.get(part)) is None:  # by no other thread meanwhile
                module = load_object(make_object(part), _PARTS[part], symbols)
                _Process.parts[part] = module
    return {name: module.address(name) for name in _PARTS[part]}


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
    if not isinstance(n, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(n).__name__}")
    if n >= 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    ctypes.CFUNCTYPE(None, ctypes.c_int)(runtime_symbols()["ts_set_num_threads"])(n)
