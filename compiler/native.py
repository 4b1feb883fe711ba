"""Native code in this process: objects, how they are called, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.builtin import Builtin
from tensorscript.backends.cpu.jit import LoadedModule, compile_object, load_object
from tensorscript.backends.cpu.runtime import (
    PART_OPTIMIZATION,
    Part,
    part_text,
    runtime_symbols,
    take_error,
)
from tensorscript.backends.cpu.side_by_side import compile_pieces
from tensorscript.backends.cpu.signature import Signature
from tensorscript.backends.llvm.optimize import VECTOR_CODE, Optimization
from tensorscript.backends.llvm.symbols import TIMES
from tensorscript.base.errors import ScriptError, UserError
from tensorscript.base.records import dataclass
from tensorscript.eager.modes import MODES

from .cache import DiskCache, cache_key, compiler_identity

THUNK, ENTRY = "ts_thunk", "ts_entry"


@dataclass(frozen=True)
class Kernel:
    """What `f.kernels` shows: a kernel's name and the schedule family it was formed for.

    Attributes:
        results: dtypes and sizes of the buffers that it writes.
    """

    name: str
    category: str
    results: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.name}: {self.category}"


@dataclass(frozen=True)
class KernelTime:
    """How often a kernel was called, and the seconds that these calls took."""

    kernel: Kernel
    calls: int
    seconds: float


@dataclass
class NativeCode:
    """Object bytes and what is needed to call them; can be stored in the disk cache.

    Attributes:
        data: the object.
        signature: of the entry.
        kernels: names and categories.
        constants: symbols of weights, which the loader resolves to the arrays of the program.
    """

    data: bytes = field(repr=False)
    signature: Signature
    kernels: tuple[Kernel, ...]
    constants: tuple[str, ...]


def object_key(text: str, target: targets.Target, optimization: Optimization) -> str:
    """The cache's key for the object of LLVM text."""
    return cache_key("object", compiler_identity(), text, target.key, repr(optimization))


def object_of(
    text: str,
    target: targets.Target,
    cache: DiskCache | None,
    optimization: Optimization = VECTOR_CODE,
) -> bytes:
    """The object of LLVM text, from the cache if it has it: programs that differ by their weights
    share it."""
    if cache is None:
        return compile_pieces(text, target, optimization)
    key = object_key(text, target, optimization)
    if (hit := cache.load(key)) is not None:
        return hit.data
    data = compile_pieces(text, target, optimization)
    cache.store(key, data)
    return data


def runtime_object(part: Part, cache: DiskCache | None) -> bytes:
    """The object of a part of the run-time support, from the cache if it has it."""
    target = targets.host()
    text = part_text(part, target)
    optimization = PART_OPTIMIZATION[part]
    key = cache_key("runtime", text, target.key, optimization.key)
    if cache is not None and (hit := cache.load(key)) is not None:
        return hit.data
    data = _once_compiled(text, target, optimization)
    if cache is not None:
        cache.store(key, data)
    return data


@lru_cache(maxsize=4)
def _once_compiled(text: str, target: targets.Target, optimization: Optimization) -> bytes:
    """One object a process: it takes longer than a small program."""
    return compile_object(text, target, optimization)


class Loaded:
    """Native code in this process; `call` is the builtin.

    Args:
        miss: called with arguments that the guard refuses.
        failed: called with the error that native code left behind and the arguments; raises an
            error. By default that error.
        cache: keeps the object of the run-time support.
        timed: the code counts the calls of its kernels.
        objects: constants and defaults of the program that the builtin knows.
    """

    def __init__(
        self,
        name: str,
        code: NativeCode,
        arrays: dict[str, np.ndarray],
        miss: Callable[..., Any],
        cache: DiskCache | None = None,
        failed: Callable[..., Any] | None = None,
        timed: bool = False,
        objects: Mapping[str, object] | None = None,
    ) -> None:
        self._arrays = arrays
        support = runtime_symbols(lambda part: runtime_object(part, cache), code.data)
        symbols = support | {n: a.ctypes.data for n, a in arrays.items()}
        exports = [THUNK, TIMES] if timed else [THUNK]
        self._module: LoadedModule = load_object(code.data, exports, symbols)
        self._timed = code.kernels if timed else ()
        raising = failed or raise_as_is
        self._made = partial(
            Builtin,
            name,
            self._module.address(THUNK),
            code.signature,
            error=lambda status, *arguments: raising(error_of(status), *arguments),
            memory=support["ts_array_handler"],
            gradients=MODES.grad_byte.ctypes.data,
            objects=objects,
            code=(self._module, arrays),
        )
        self.call = self.answering(miss)

    def answering(self, miss: Callable[..., Any]) -> Callable[..., Any]:
        """A builtin over the code that gives what the guard refuses to `miss`."""
        return self._made(miss=miss).call

    def kernel_times(self) -> tuple[KernelTime, ...]:
        """What has run since the code was loaded; empty if it was not made to be timed."""
        if not self._timed:
            return ()
        counted = self._module.integers(TIMES, 2 * len(self._timed))
        pairs = zip(self._timed, counted[::2], counted[1::2], strict=True)
        return tuple(KernelTime(kernel, calls, 1e-9 * time) for kernel, calls, time in pairs)


def raise_as_is(error: UserError, *arguments: Any) -> Any:
    """Raise an error."""
    raise error


def error_of(status: int) -> UserError:
    """The error that native code left behind: a ScriptError for a `raise` or `assert`."""
    message = take_error()
    if status == 1 and message:
        return ScriptError(message)
    return UserError(message or f"native code failed with status {status}")
