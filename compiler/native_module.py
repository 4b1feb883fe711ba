"""A scheduled te module as LLVM text and, for the CPU, as an object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.host_signature import signature_of
from tensorscript.backends.cpu.jit import compile_assembly
from tensorscript.backends.cpu.signature import Calling, with_scalar_outputs
from tensorscript.backends.cpu.thunk import (
    DECLARATIONS,
    GROWN_DECLARATIONS,
    METADATA,
    thunk_text,
)
from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.llvm.emit_context import EmitOptions
from tensorscript.backends.llvm.optimize import VECTOR_CODE
from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.expr_text import text
from tensorscript.dialects.te.ops import (
    FuncOp,
    constants,
    functions,
)

from .cache import DiskCache
from .memory import aligned
from .native import ENTRY, THUNK, Kernel, NativeCode, object_key, object_of
from .options import CompileOptions


def host_function(module: ModuleOp) -> FuncOp:
    """The entry of a te module: its only host function, or its last function."""
    found = list(functions(module))
    hosts = [f for f in found if f.role.data == "host"]
    if len(hosts) == 1 or (not hosts and found):
        return (hosts or found)[-1]
    raise InternalError("a te module needs one host function", "te")


def _results(kernel: FuncOp) -> Iterator[str]:
    """`f32[1, 64, 56, 56]` of each buffer that a kernel writes."""
    for buffer in kernel.buffers:
        if buffer.mode != "in":
            yield f"{buffer.dtype.short}[{', '.join(map(text, buffer.shape))}]"


def kernels_of(module: ModuleOp) -> tuple[Kernel, ...]:
    """The kernels of a te module; copies made for control flow included."""
    return tuple(
        Kernel(f.sym_name.data, f.category.data, tuple(_results(f)))
        for f in functions(module)
        if f.role.data == "kernel"
    )


class ScheduledModule:
    """A te module that code is generated from.

    Args:
        module: at stage `scheduled`.
        scalar_outputs: numbers of the results that are Python numbers, not 0-dim arrays.
    """

    def __init__(
        self, module: ModuleOp, options: CompileOptions, scalar_outputs: frozenset[int]
    ) -> None:
        self.module = module
        self.options = options
        self.target = targets.parse(options.target, options.cpu)
        self.entry = host_function(module)
        self.signature = with_scalar_outputs(signature_of(self.entry), scalar_outputs)


class NativeModule(ScheduledModule):
    """The compilation of one scheduled te module for the CPU.

    Args:
        calling: how the builtin takes the program's arguments.
    """

    def __init__(
        self,
        module: ModuleOp,
        options: CompileOptions,
        scalar_outputs: frozenset[int],
        calling: Calling | None = None,
    ) -> None:
        super().__init__(module, options, scalar_outputs)
        self.signature = replace(self.signature, calling=calling or Calling())

    @cached_property
    def llvm_text(self) -> str:
        """LLVM text of kernels, host code, entry and thunk."""
        entries = {self.entry.sym_name.data: ENTRY}
        timed = tuple(k.name for k in kernels_of(self.module)) if self.options.timed else ()
        emit = EmitOptions(strict=self.options.strict, external_constants=True, timed=timed)
        body = emit_module(self.module, self.target, entries, emit)
        long = any(
            k.category in ("contraction", "attention", "sort") for k in kernels_of(self.module)
        )
        thunk = thunk_text(THUNK, ENTRY, self.signature, release_gil=long)
        used = [d for d in GROWN_DECLARATIONS.split("\n") if d and d not in body]
        more = "\n".join(used) if self.signature.has_grown else ""
        return body + DECLARATIONS + more + thunk + METADATA

    @property
    def has_constants(self) -> bool:
        """The object needs weights, which are not in it."""
        return any(True for _ in constants(self.module))

    @property
    def object_key(self) -> str:
        """The cache's key for the object."""
        return object_key(self.llvm_text, self.target, VECTOR_CODE)

    def assembly(self) -> str:
        return compile_assembly(self.llvm_text, self.target)

    def compile(self, cache: DiskCache | None = None) -> NativeCode:
        names = tuple(op.buffer.name for op in constants(self.module))
        data = object_of(self.llvm_text, self.target, cache)
        return NativeCode(data, self.signature, kernels_of(self.module), names)

    def weights(self) -> Iterator[tuple[str, np.ndarray]]:
        """Symbols and data of the constants."""
        for op in constants(self.module):
            array = op.data.data.array
            if array is None:
                raise InternalError(f"the data of {op.buffer.name} is not at hand", "load")
            yield op.buffer.name, array

    def arrays(self) -> dict[str, np.ndarray]:
        """The weights by symbol, aligned."""
        return {name: aligned(array) for name, array in self.weights()}
