"""A scheduled te module as PTX, run by a GPU's driver or by the emulator.

Parallel to `native.py`: `GPUModule` makes the texts, `GPULoaded.call` takes the arguments of one
call. Kernels run on the device; host code runs in Python (`backends/ptx/host.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tensorscript.backends.cpu.signature import (
    ArraySpec,
    ScalarSpec,
    Signature,
    ValueSpec,
)
from tensorscript.backends.llvm.emit_context import EmitOptions
from tensorscript.backends.ptx import driver
from tensorscript.backends.ptx.assemble import assemble
from tensorscript.backends.ptx.emit import KernelLaunch, emit_kernel_module
from tensorscript.backends.ptx.host import Call, HostProgram, Launcher
from tensorscript.backends.ptx.launchers import DriverLauncher, EmulatorLauncher
from tensorscript.base.errors import GuardError, UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.ops import AssignOp, FuncOp, StoreOp, UpdateOp, constants, functions
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.te.affine import expressions

from .native import Kernel
from .native_module import ScheduledModule, kernels_of


def target_of(ordinal: int) -> str:
    """The target of code for one of the machine's GPUs."""
    return f"cuda:{driver.Device(ordinal).architecture}"


@dataclass
class GPUCode:
    """PTX and how to run it.

    Attributes:
        ptx: text of all kernels.
        launches: grid, block and parameters of each.
        signature: of the entry.
        kernels: names and categories.
    """

    ptx: str
    launches: list[KernelLaunch]
    signature: Signature
    kernels: tuple[Kernel, ...]


def _kernels_only(module: ModuleOp) -> ModuleOp:
    """The kernels, and those constants that one of them reads by name.

    Weights are arguments of kernels as a rule and stay out of the text.
    """
    kernels = [f for f in functions(module) if f.role.data == "kernel"]
    used = {name for f in kernels for name in _names_read(f)}
    needed = [op for op in constants(module) if op.buffer.name in used]
    return ModuleOp([op.clone() for op in (*needed, *kernels)])


def _names_read(function: FuncOp) -> set[str]:
    found: set[str] = set()
    for op in walk_ops(function):
        reads = [e for e in expressions(op)] if not isinstance(op, AssignOp) else [op.value]
        found |= {str(n.value) for e in reads for n in loads(e)}
        if isinstance(op, StoreOp | UpdateOp):
            found.add(op.buffer)
    return found - {b.name for b in function.buffers}


class GPUModule(ScheduledModule):
    """The compilation of one te module with GPU schedules."""

    @cached_property
    def _emitted(self) -> tuple[str, list[KernelLaunch]]:
        emit = EmitOptions(strict=self.options.strict)
        return emit_kernel_module(_kernels_only(self.module), self.target, emit)

    @property
    def llvm_text(self) -> str:
        """LLVM text of the kernels."""
        return self._emitted[0]

    @cached_property
    def ptx(self) -> str:
        """PTX of the kernels."""
        return assemble(self.llvm_text, self.target.arch)

    def assembly(self) -> str:
        """The text nearest to the machine: PTX."""
        return self.ptx

    def compile(self) -> GPUCode:
        return GPUCode(self.ptx, self._emitted[1], self.signature, kernels_of(self.module))

    def launcher(self, gpu: int | None = None) -> Launcher:
        """The emulator for target `ptx-emulate`, else the machine's GPU.

        Args:
            gpu: the number of the GPU that arguments are on, and results are to be.

        Raises:
            UserError: there is no GPU.
        """
        if self.target.emulate:
            return EmulatorLauncher(self.ptx)
        if not driver.available():
            raise UserError(
                f"target {self.options.target!r} needs an NVIDIA GPU and its driver, and there is "
                "none on this machine; target='ptx-emulate' runs the same PTX without one"
            )
        return DriverLauncher(self.ptx, driver.Device(gpu or 0), gives_shared=gpu is not None)


class GPULoaded:
    """A callable program on a device; the device is opened by the first call.

    Args:
        gpu: the number of the GPU that arguments are on, and results are to be; None for the CPU.
    """

    def __init__(self, module: GPUModule, code: GPUCode, gpu: int | None = None) -> None:
        self._open: Callable[[], Launcher] = lambda: module.launcher(gpu)
        self._program = HostProgram(module.module, module.entry, code.launches)
        self._signature = code.signature
        self._launcher: Launcher | None = None

    @property
    def launcher(self) -> Launcher:
        """The device; opened when first asked for."""
        if self._launcher is None:
            self._launcher = self._open()
        return self._launcher

    def call(self, *leaves: Any) -> Any:
        """One result, or a tuple of them.

        Args:
            leaves: arrays and numbers in the order of the signature's inputs.

        Raises:
            GuardError: a wrong number, dtype or shape.
            ScriptError: an assertion of the program fails.
            UserError: the target needs a GPU and there is none.
        """
        inputs = _bound(self._signature, leaves)
        return self._packed(self._program.run(self.launcher, inputs))

    def resident(self, *leaves: Any) -> Resident:
        """The program with its arguments and results on the device, to be run many times.

        Raises:
            GuardError, UserError: as `call`.
        """
        program, inputs = self._program, _bound(self._signature, leaves)
        return Resident(program, program.prepare(self.launcher, inputs), self._packed)

    def _packed(self, arrays: Sequence[np.ndarray]) -> Any:
        results = [
            array.item() if isinstance(spec, ScalarSpec) else array
            for array, spec in zip(arrays, self._signature.outputs, strict=True)
        ]
        return results[0] if len(results) == 1 else tuple(results)


@dataclass
class Resident:
    """A call whose data stays on the device."""

    program: HostProgram
    prepared: Call
    packed: Callable[[Sequence[np.ndarray]], Any]

    def start(self) -> None:
        """Run once, without waiting for the kernels."""
        self.program.start(self.prepared)

    def synchronize(self) -> None:
        """Wait for all that was started."""
        self.prepared.launcher.synchronize()

    def results(self) -> Any:
        """Results of the last run, copied from the device."""
        return self.packed(self.program.results(self.prepared))

    def close(self) -> None:
        """Give the device's memory back."""
        self.prepared.close()


def _bound(signature: Signature, leaves: Sequence[Any]) -> dict[str, Any]:
    """Arguments by parameter name, sizes included."""
    if len(leaves) != len(signature.inputs):
        raise GuardError(f"expected {len(signature.inputs)} inputs, got {len(leaves)}")
    bound: dict[str, Any] = {}
    for spec, leaf in zip(signature.inputs, leaves, strict=True):
        bound[spec.name] = _array(spec, leaf, bound) if isinstance(spec, ArraySpec) else leaf
    return bound


def _array(spec: ValueSpec, leaf: Any, sizes: dict[str, Any]) -> np.ndarray:
    assert isinstance(spec, ArraySpec)
    array = np.asarray(leaf)
    if array.dtype != spec.dtype.numpy or array.ndim != len(spec.shape):
        raise GuardError(
            f"{spec.name}: expected {spec.dtype} with {len(spec.shape)} dimensions, got "
            f"{array.dtype} with {array.ndim}"
        )
    for wanted, size in zip(spec.shape, array.shape, strict=True):
        known = int(str(wanted)) if wanted.is_const else sizes.setdefault(str(wanted), size)
        if known != size:
            raise GuardError(f"{spec.name}: expected size {known}, got {size}")
    return np.ascontiguousarray(array)
