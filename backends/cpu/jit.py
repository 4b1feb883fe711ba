"""LLVM text to object bytes, and object bytes to addresses in this process.

One LLJIT serves the process; every loaded object is a library of its own in it, unloaded when its
`LoadedModule` is dropped. Objects find libc, libm, pthread and the Python C-API in the process,
anything else in the `symbols` given at load time.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Iterable, Mapping
from functools import cache

import llvmlite.binding as llvm

from tensorscript.backends.llvm import half_conversions
from tensorscript.backends.llvm.optimize import VECTOR_CODE, Optimization, optimize
from tensorscript.backends.target import Target, host, initialize, machine
from tensorscript.base.errors import InternalError

from .elf import objects

_serial = itertools.count()
_lock = threading.Lock()


def _prepare(
    text: str, target: Target, options: Optimization, pic: bool, libraries: tuple[str, ...] = ()
) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    initialize()
    try:
        module = llvm.parse_assembly(text)
        for library in libraries:
            module.link_in(llvm.parse_assembly(library))
        module.verify()
    except RuntimeError as error:
        raise InternalError(str(error).strip(), stage="llvm") from error
    module.triple = target.triple
    module.data_layout = target.data_layout
    maker = machine(target, pic, options.codegen_level)
    optimize(module, maker, options)
    return module, maker


def compile_object(
    text: str,
    target: Target | None = None,
    options: Optimization = VECTOR_CODE,
    position_independent: bool = True,
    libraries: tuple[str, ...] = (),
) -> bytes:
    """Compile LLVM IR text to a relocatable object.

    Args:
        text: the module.
        target: a CPU; this machine's by default.
        options: LLVM's passes and its code generation level.
        position_independent: for shared libraries and position-independent executables.
        libraries: further module texts whose definitions are linked in.

    Raises:
        InternalError: LLVM refuses the text (stage "llvm"); the message is LLVM's.
    """
    chosen = target or host()
    module, maker = _prepare(text, chosen, options, position_independent, libraries)
    made = bytes(maker.emit_object(module))
    if half_conversions.TEXT in libraries or not calls_conversions(made, chosen):
        return made
    added = (*libraries, half_conversions.TEXT)
    return compile_object(text, chosen, options, position_independent, added)


def calls_conversions(made: bytes, target: Target) -> bool:
    """Whether an object asks for functions that convert halves: the processor does not."""
    asks = any(name in made for name in half_conversions.NAMES)
    return asks and target.triple.startswith("x86_64")


def compile_assembly(
    text: str, target: Target | None = None, options: Optimization = VECTOR_CODE
) -> str:
    """The same as `compile_object`, as assembly text with LLVM's comments on loops and spills.

    Raises:
        InternalError: LLVM refuses the text.
    """
    module, maker = _prepare(text, target or host(), options, True)
    maker.set_asm_verbosity(True)
    return str(maker.emit_assembly(module))


class LoadedModule:
    """An object loaded into this process; its addresses are valid while this value lives."""

    def __init__(self, tracker: llvm.ResourceTracker, names: tuple[str, ...]) -> None:
        self._tracker = tracker
        self.names = names

    def address(self, name: str) -> int:
        """The address of a symbol that was asked for at load time.

        Raises:
            InternalError: the symbol was not among `exports`.
        """
        if name not in self.names:
            raise InternalError(f"symbol {name!r} was not exported at load time", stage="load")
        return int(self._tracker[name])

    def integers(self, name: str, count: int) -> list[int]:
        """What an exported array of 64-bit integers holds now."""
        return list((ctypes.c_int64 * count).from_address(self.address(name)))


@cache
def _engine() -> llvm.LLJIT:
    initialize()
    target = host()
    # The compiler takes the machine over, so it gets one of its own.
    owned = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, jit=True
    )
    # JITLink keeps the sections of an object together; RuntimeDyld may put code and constants
    # further apart than a 32-bit distance in a crowded process, and aborts.
    return llvm.create_lljit_compiler(owned, use_jit_link=True)


def load_object(
    data: bytes, exports: Iterable[str], symbols: Mapping[str, int] | None = None
) -> LoadedModule:
    """Link object bytes into this process.

    Args:
        data: a relocatable object for this machine, or several one after the other.
        exports: the symbols whose addresses will be asked for.
        symbols: addresses of symbols that the process itself does not export.

    Raises:
        InternalError: a symbol is missing or the object is not for this machine.
    """
    names = tuple(exports)
    builder = llvm.JITLibraryBuilder()
    for piece in objects(data):
        builder.add_object_img(piece)
    builder.add_current_process()
    for name in names:
        builder.export_symbol(name)
    for name, address in (symbols or {}).items():
        builder.import_symbol(name, address)
    with _lock:
        try:
            tracker = builder.link(_engine(), f"ts{next(_serial)}")
        except RuntimeError as error:
            raise InternalError(str(error), stage="load") from error
    return LoadedModule(tracker, names)
