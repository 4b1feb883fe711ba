"""LLVM text to object bytes on several processors.

llvmlite holds one lock while any function of LLVM runs, and all of its modules live in one context.
Modules that have a context and a machine each share nothing, which is how LLVM is meant to be used
by threads; the three functions that take long are called here without the lock.
"""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from tensorscript.backends.llvm import half_conversions
from tensorscript.backends.llvm.cut import cut
from tensorscript.backends.llvm.optimize import Optimization, pass_manager, simplify
from tensorscript.backends.target import Target, new_machine
from tensorscript.base.errors import InternalError

from .jit import calls_conversions, compile_object

LEAST_TEXT = 40_000
"""Characters of a piece: LLVM takes some 50 ms for so many."""


def compile_pieces(text: str, target: Target, options: Optimization) -> bytes:
    """The same as `compile_object`, by as many threads as there are processors and work for them.

    Returns:
        One object, or several one after the other (`elf.objects`), to be loaded together.

    Raises:
        InternalError: LLVM refuses the text.
    """
    pieces = cut(text, min(_processors(), len(text) // LEAST_TEXT))
    if len(pieces) < 2:
        return compile_object(text, target, options)
    jobs = [_Job(piece, target, options) for piece in pieces]
    for job in jobs[1:]:
        job.start()
    jobs[0].run()
    for job in jobs[1:]:
        job.join()
    made = b"".join(job.result() for job in jobs)
    if calls_conversions(made, target):
        made += compile_object(half_conversions.TEXT, target, options)
    _give_back()
    return made


def _give_back() -> None:
    """What LLVM has freed goes back to the system: the C library would keep it, in an arena for
    each thread (glibc; others have no such call)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


class _Job(threading.Thread):
    """Compiles one module in a context of its own."""

    def __init__(self, text: str, target: Target, options: Optimization) -> None:
        super().__init__(name="tensorscript-llvm", daemon=True)
        self._text, self._target, self._options = text, target, options
        self._data, self._error = b"", ""

    def run(self) -> None:
        try:
            self._data = self._compiled()
        except RuntimeError as error:
            self._error = str(error).strip() or "LLVM failed"

    def result(self) -> bytes:
        """
        Raises:
            InternalError: LLVM refuses the text.
        """
        if self._error:
            raise InternalError(self._error, stage="llvm")
        return self._data

    def _compiled(self) -> bytes:
        module = _parsed(self._text)
        module.verify()
        module.triple = self._target.triple
        module.data_layout = self._target.data_layout
        machine = new_machine(self._target, True, self._options.codegen_level)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
        manager = pass_manager(self._options)
        _unlocked("LLVMPY_RunNewModulePassManager")(manager, module, builder)
        simplify(module, machine)
        return _object(machine, module)


def _parsed(text: str) -> llvm.ModuleRef:
    context = llvm.create_context()
    with ffi.OutputString() as message:
        source = ctypes.c_char_p(text.encode())
        module = _unlocked("LLVMPY_ParseAssembly")(context, source, message)
        if message or not module:
            raise RuntimeError(str(message))
    return llvm.ModuleRef(module, context)


def _object(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    with ffi.OutputString() as message:
        buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, message)
        if not buffer:
            raise RuntimeError(str(message))
    start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
    data = ctypes.string_at(start, size)
    ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)
    return data


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(ffi.lib._name)


@cache
def _unlocked(name: str) -> Any:
    """A function of llvmlite's library, as llvmlite declares it, but for the lock."""
    declared, function = getattr(ffi.lib, name), getattr(_library(), name)
    function.argtypes, function.restype = declared.argtypes, declared.restype
    return function
