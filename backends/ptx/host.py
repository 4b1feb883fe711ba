"""Runs the host function of a te module in Python, over the memory of a GPU or of the emulator.

```
te.func @f host (x: f32[4, N], N: i64, out out0: f32[4]) {
  te.alloc arena b0: f32[4, N]        launcher.allocate
  te.call @k0(x, b0, N)        -->    launcher.launch("k0", grid, block, [x, b0, N])
  te.let c: b1 = N < 3                Python
  te.if c { .. } else { .. }          Python
}
```
A `Launcher` owns the memory and starts the kernels; scalars and control flow are evaluated here
with the arithmetic of compiled code. The function is turned into a list of Python steps once.
Constants are uploaded once, when they are first used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tensorscript.base.dtypes import DType, complex_dtype
from tensorscript.base.errors import InternalError, ScriptError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    AssignOp,
    CallOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    VarOp,
    WhileOp,
    constants,
)

from .emit import KernelLaunch
from .scalars import STAGE, Compiled, Frame, Number, compiled, hold

Handle = Any
"""A buffer in the launcher's memory; only the launcher looks inside."""
Sizes = tuple[int, int, int]


class Launcher(Protocol):
    """Memory and kernels of a device."""

    def allocate(self, count: int, dtype: DType) -> Handle:
        """Room for `count` elements, contents undefined."""

    def release(self, handle: Handle) -> None:
        """Give room back."""

    def upload(self, array: np.ndarray) -> Handle:
        """A device copy of a contiguous array, which the device does not write."""

    def download(self, handle: Handle, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        """The first elements of a buffer as a new array."""

    def read(self, handle: Handle, index: int, dtype: DType) -> Number:
        """One element."""

    def write(self, handle: Handle, index: int, value: Number, dtype: DType) -> None:
        """Set one element."""

    def launch(self, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Any]) -> None:
        """Start a kernel; arguments are handles and numbers."""

    def synchronize(self) -> None:
        """Wait for the kernels started so far."""


@dataclass
class Call:
    """The state of one run: memory by buffer name, and what must be given back."""

    launcher: Launcher
    frame: Frame = field(init=False)
    handles: dict[str, Handle] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    owned: list[Handle] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.frame = Frame(self.read)

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        return tuple(compiled(size)(self.frame) for size in buffer.shape)

    def offset(self, name: str, indices: Sequence[int]) -> int:
        strides = (compiled(s)(self.frame) for s in self.buffers[name].effective_strides)
        return sum(i * s for i, s in zip(indices, strides, strict=True))

    def read(self, name: str, indices: Sequence[int]) -> Number:
        dtype = self.buffers[name].dtype
        return self.launcher.read(self.handles[name], self.offset(name, indices), dtype)

    def bind(self, buffer: Buffer, handle: Handle) -> None:
        self.buffers[buffer.name], self.handles[buffer.name] = buffer, handle
        self.owned.append(handle)

    def allocate(self, buffer: Buffer) -> None:
        count = math.prod(self.shape(buffer))
        self.bind(buffer, self.launcher.allocate(count, buffer.dtype))

    def close(self) -> None:
        for handle in self.owned:
            self.launcher.release(handle)


Step = Callable[[Call], None]


def _run(steps: Iterable[Step], call: Call) -> None:
    for step in steps:
        step(call)


class HostProgram:
    """A host function ready to run.

    Args:
        module: the te module that `entry` and the constants are in.
        entry: its host function.
        launches: how to start each kernel.
    """

    def __init__(self, module: ModuleOp, entry: FuncOp, launches: Sequence[KernelLaunch]) -> None:
        self.entry = entry
        self._launches = {k.name: _Launch(k) for k in launches}
        self._constants = {op.buffer.name: (op.buffer, op.data.data.array) for op in
                           constants(module)}  # fmt: skip
        self._uploaded: dict[str, Handle] = {}
        self._steps = self._block(entry.block)

    def run(
        self, launcher: Launcher, inputs: Mapping[str, np.ndarray | Number]
    ) -> list[np.ndarray]:
        """Outputs in order, each as an array.

        Args:
            inputs: by parameter name: C-contiguous arrays, numbers, sizes.

        Raises:
            ScriptError: a te.assert of the program does not hold.
        """
        call = self.prepare(launcher, inputs)
        try:
            self.start(call)
            return self.results(call)
        finally:
            call.close()

    def prepare(self, launcher: Launcher, inputs: Mapping[str, np.ndarray | Number]) -> Call:
        """Upload the inputs and make room for the outputs; `close` the call in the end."""
        call = Call(launcher)
        for p in self.entry.params:
            if not isinstance(p, Buffer):
                call.frame.values[p.name] = inputs[p.name]  # type: ignore[assignment]  # a number
            elif p.mode != "out":
                call.bind(p, launcher.upload(np.asarray(inputs[p.name])))
        for buffer in self._outputs():
            call.allocate(buffer)
        self._bind_constants(call)
        return call

    def start(self, call: Call) -> None:
        """Run the host code; kernels may still be at work when it is through."""
        kept = len(call.owned)
        _run(self._steps, call)
        while len(call.owned) > kept:  # later kernels that get this room run after these
            call.launcher.release(call.owned.pop())

    def results(self, call: Call) -> list[np.ndarray]:
        """The outputs in order, pairs of parts as complex numbers."""
        found = []
        for b in self._outputs():
            array = call.launcher.download(call.handles[b.name], call.shape(b), b.dtype)
            found.append(array.view(complex_dtype(b.dtype).numpy)[..., 0] if b.complex else array)
        return found

    def _outputs(self) -> list[Buffer]:
        return [b for b in self.entry.buffers if b.mode == "out"]

    def _bind_constants(self, call: Call) -> None:
        for name, (buffer, array) in self._constants.items():
            if name not in self._uploaded:
                if array is None:
                    raise InternalError(f"the data of {name} is not at hand", STAGE)
                self._uploaded[name] = call.launcher.upload(array)
            call.buffers[name], call.handles[name] = buffer, self._uploaded[name]

    # -- statements ------------------------------------------------------------------------------

    def _block(self, block: Block) -> list[Step]:
        return [self._statement(op) for op in block.ops]

    def _statement(self, op: Operation) -> Step:
        match op:
            case AllocOp():
                return lambda call: call.allocate(op.buffer)
            case CallOp():
                return self._call(op)
            case LetOp() | VarOp() | AssignOp():
                return _assign(op.var, compiled(op.value))
            case AssertOp():
                return _check(compiled(op.condition), op.message)
            case StoreOp():
                return _store(op)
            case IfOp():
                condition = compiled(op.condition)
                yes, no = self._block(op.then_body.block), self._block(op.else_body.block)
                return lambda call: _run(yes if condition(call.frame) else no, call)
            case WhileOp():
                return _repeat(compiled(op.condition), self._block(op.block))
            case ForOp():
                return _count(op, self._block(op.block))
        raise InternalError(f"the host of a GPU cannot do {op.name}", STAGE)

    def _call(self, op: CallOp) -> Step:
        if (launch := self._launches.get(op.callee)) is None:
            raise InternalError(f"@{op.callee} is not a kernel", STAGE)
        return launch.bind(op.arguments)


class _Launch:
    """Starts one kernel."""

    def __init__(self, kernel: KernelLaunch) -> None:
        self.kernel = kernel
        self.sizes = [compiled(e) for e in (*kernel.grid, *kernel.block)]

    def bind(self, arguments: Sequence[Expr]) -> Step:
        kernel = self.kernel
        pairs: list[tuple[str, str | Compiled, DType]] = []
        for p, a in zip(kernel.parameters, arguments, strict=True):
            pairs.append((p.name, str(a.value) if isinstance(p, Buffer) else compiled(a), p.dtype))

        def step(call: Call) -> None:
            frame = Frame(call.read)
            values: list[Any] = []
            for name, argument, dtype in pairs:
                if isinstance(argument, str):
                    values.append(call.handles[argument])
                else:
                    frame.values[name] = hold(argument(call.frame), dtype)
                    values.append(frame.values[name])
            sizes = [int(size(frame)) for size in self.sizes]
            if all(sizes):  # a launch of no threads is not allowed, and has nothing to do
                grid, block = (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5])
                call.launcher.launch(kernel.name, grid, block, values)

        return step


def _assign(name: str, value: Compiled) -> Step:
    def step(call: Call) -> None:
        call.frame.values[name] = value(call.frame)

    return step


def _check(condition: Compiled, message: str) -> Step:
    def step(call: Call) -> None:
        if not condition(call.frame):
            raise ScriptError(message)

    return step


def _store(op: StoreOp) -> Step:
    indices, value = [compiled(i) for i in op.indices], compiled(op.value)
    name = op.buffer

    def step(call: Call) -> None:
        at = call.offset(name, [i(call.frame) for i in indices])
        dtype = call.buffers[name].dtype
        call.launcher.write(call.handles[name], at, value(call.frame), dtype)

    return step


def _repeat(condition: Compiled, body: list[Step]) -> Step:
    def step(call: Call) -> None:
        while condition(call.frame):
            _run(body, call)

    return step


def _count(op: ForOp, body: list[Step]) -> Step:
    start, extent, name = compiled(op.start), compiled(op.extent), op.var

    def step(call: Call) -> None:
        first = start(call.frame)
        for number in range(first, first + extent(call.frame)):
            call.frame.values[name] = number
            _run(body, call)

    return step
