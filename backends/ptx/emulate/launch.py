"""`Emulator`: PTX text in, launches over NumPy arrays.

Many blocks run at once as extra lanes; races between blocks are still seen, since the access
history of global memory spans the whole launch. Not modelled: blocks that wait for each other
(they may fall into different batches), and the time anything takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .arguments import pack_argument
from .binder import Place
from .errors import LaunchError, PtxSyntaxError
from .machine import Clock, Machine, Shape, Spaces, Statistics, stride
from .memory import GlobalMemory, Region
from .parse import parse_module
from .program import Kernel, build_kernel
from .races import Shadow
from .schedule import Scheduler
from .syntax import Symbol, Variable
from .types import width

Dimensions = int | Sequence[int]
_LANES = 1 << 14
_SHARED_BUDGET = 1 << 26
_MAXIMUM_THREADS = 1024


class Emulator:
    """One PTX module, ready to launch.

    Args:
        text: PTX, as a driver would load it.
        races: look for races on shared and global memory.
        uninitialized: look for reads of shared memory that nobody wrote.
        step_limit: segments that one batch of blocks may run before the launch is given up.
        lanes: threads to run at once, at least one block.
        banks: count conflicts between banks of shared memory.

    Attributes:
        statistics: counts of the latest launch.
    """

    def __init__(
        self,
        text: str,
        *,
        races: bool = True,
        uninitialized: bool = True,
        step_limit: int = 2_000_000,
        lanes: int = _LANES,
        banks: bool = False,
    ) -> None:
        self.module = parse_module(text)
        self.races = races
        self.uninitialized = uninitialized
        self.step_limit = step_limit
        self.lanes = lanes
        self.banks = banks
        self.statistics = Statistics()
        self._regions: dict[str, Region] = {}
        self._places: dict[str, Place] = {}
        self._kernels: dict[str, Kernel] = {}
        self._place_globals()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the entries."""
        return tuple(f.name for f in self.module.functions.values() if f.entry)

    def variable(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a module-level global or constant variable, by reference."""
        if name not in self._regions:
            raise LaunchError(f"no global variable {name!r}")
        return self._regions[name].data

    def launch(
        self,
        name: str,
        grid: Dimensions,
        block: Dimensions,
        args: Sequence[Any],
        shared_bytes: int = 0,
    ) -> Statistics:
        """Run a kernel to its end; arrays are read and written in place.

        Args:
            grid, block: sizes as x, (x, y) or (x, y, z).
            args: one for each parameter: a C-contiguous array for a pointer, a number for a
                scalar, a NumPy scalar or `bytes` of the right size for a `.b8` array.
            shared_bytes: size of dynamic shared memory.

        Raises:
            LaunchError: arguments or sizes that do not fit the kernel.
            EmulationError: what the kernel did wrong; see `errors`.
        """
        if name not in self._kernels:
            self._kernels[name] = build_kernel(self.module, name, self._places)
        kernel = self._kernels[name]
        shape = Shape(_triple(grid, "grid"), _triple(block, "block"))
        _check_shape(kernel, shape)
        memory = self._fresh_memory()
        parameters = self._parameters(kernel, args, memory)
        self.statistics = Statistics()
        clock = Clock()
        with np.errstate(all="ignore"):
            for first, count in self._batches(kernel, shape, shared_bytes):
                spaces = self._spaces(kernel, shape, count, shared_bytes, memory, parameters)
                machine = Machine(
                    name,
                    shape,
                    first,
                    count,
                    kernel.register_types,
                    kernel.instructions,
                    spaces,
                    self.statistics,
                    clock,
                    self.banks,
                )
                Scheduler(kernel, machine, self.step_limit).run()
        return self.statistics

    # -- memory ----------------------------------------------------------------------------

    def _place_globals(self) -> None:
        memory = GlobalMemory()
        variables = [v for v in self.module.variables if v.space in ("global", "const")]
        for variable in variables:
            data = np.zeros(variable.size, np.uint8)
            region = Region(variable.name, data, read_only=variable.space == "const")
            self._regions[variable.name] = region
            self._places[variable.name] = Place(variable.space, memory.add(region).address)
        for variable in variables:
            if variable.values:
                self._initialize(variable)

    def _initialize(self, variable: Variable) -> None:
        size = width(variable.type)
        view = self._regions[variable.name].view(size)
        for index, value in enumerate(variable.values):
            if isinstance(value, Symbol):
                if value.name not in self._places:
                    raise PtxSyntaxError(f"{variable.name} holds unknown name {value.name!r}")
                value = self._places[value.name].address + value.offset
            view[index] = value & ((1 << (8 * size)) - 1)

    def _fresh_memory(self) -> GlobalMemory:
        """The module's variables at their addresses, with an empty access history."""
        memory = GlobalMemory()
        for region in self._regions.values():
            watched = self.races and not region.read_only
            shadow = Shadow(region.data.size) if watched else None
            memory.add(replace(region, shadow=shadow))
        return memory

    def _spaces(
        self,
        kernel: Kernel,
        shape: Shape,
        blocks: int,
        dynamic: int,
        memory: GlobalMemory,
        parameters: Region,
    ) -> Spaces:
        shared_size = kernel.shared_bytes + dynamic
        shared_total = stride(shared_size) * blocks
        local_total = stride(kernel.local_bytes) * blocks * shape.threads
        shared = Region("shared memory", np.zeros(shared_total, np.uint8))
        if self.races and shared_total:
            shared.shadow = Shadow(shared_total)
        if self.uninitialized and shared_total:
            shared.written = Region("written", np.zeros(shared_total, np.uint8))
        local = Region("local memory", np.zeros(local_total, np.uint8))
        return Spaces(memory, shared, shared_size, dynamic, local, kernel.local_bytes, parameters)

    def _batches(self, kernel: Kernel, shape: Shape, dynamic: int) -> list[tuple[int, int]]:
        """(first block, blocks) of each batch."""
        by_lanes = self.lanes // shape.threads
        by_shared = _SHARED_BUDGET // max(1, stride(kernel.shared_bytes + dynamic))
        size = max(1, min(by_lanes, by_shared))
        return [(first, min(size, shape.blocks - first)) for first in range(0, shape.blocks, size)]

    # -- arguments -------------------------------------------------------------------------

    def _parameters(self, kernel: Kernel, args: Sequence[Any], memory: GlobalMemory) -> Region:
        if len(args) != len(kernel.parameters):
            raise LaunchError(
                f"kernel {kernel.name} takes {len(kernel.parameters)} arguments, got {len(args)}"
            )
        names = [f"argument {i} ({v.name})" for i, (v, _) in enumerate(kernel.parameters)]
        pointers = [i for i, value in enumerate(args) if isinstance(value, np.ndarray)]
        addresses = memory.bind(
            [args[i] for i in pointers], [names[i] for i in pointers], self.races
        )
        address_of = dict(zip(pointers, addresses, strict=True))
        data = np.zeros(kernel.parameter_bytes, np.uint8)
        for index, (variable, offset) in enumerate(kernel.parameters):
            value = address_of.get(index, args[index])
            if index in address_of and width(variable.type) != 8:
                raise LaunchError(f"{names[index]} is .{variable.type}, not a pointer")
            raw = pack_argument(variable, value, names[index])
            data[offset : offset + variable.size] = np.frombuffer(raw, np.uint8)
        return Region("parameters", data, read_only=True)


def _triple(size: Dimensions, what: str) -> tuple[int, int, int]:
    given = (size,) if isinstance(size, int) else tuple(size)
    if not 1 <= len(given) <= 3 or any(n < 1 for n in given):
        raise LaunchError(f"{what} {size!r} must be one to three positive sizes")
    x, y, z = (*given, 1, 1)[:3]
    return int(x), int(y), int(z)


def _check_shape(kernel: Kernel, shape: Shape) -> None:
    if shape.threads > _MAXIMUM_THREADS:
        raise LaunchError(f"a block of {shape.threads} threads exceeds {_MAXIMUM_THREADS}")
    limit = kernel.maximum_threads
    if limit is not None and shape.threads > int(np.prod(limit)):
        raise LaunchError(f"{shape.threads} threads exceed .maxntid {limit} of {kernel.name}")
    required = kernel.required_threads
    if required is not None and shape.block != _triple(required, ".reqntid"):
        raise LaunchError(f"block {shape.block} is not .reqntid {required} of {kernel.name}")
