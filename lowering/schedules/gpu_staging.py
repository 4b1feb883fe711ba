"""A tile of a factor of a product, brought from global to shared memory by a block of threads.

```
xg[slot, lane] = x[first + row, k + step]         every thread its elements, into registers
xs[stage, step, row] = xg[slot, lane]             after the step before was multiplied
```
Neighbouring threads, and the lanes of one, go where memory goes on, along the depth or across it:
loads of a warp are whole 32-byte sectors, and vectors where the size says that all of one lies
inside. Rows of the shared tile that are written across are padded by a vector: with the threads of
a warp over `BANK_STEPS` steps and as many rows as are left, each bank gets one of their words.
What lies beyond the matrix is zero.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, all_of, const, load, select, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, LetOp, StoreOp
from tensorscript.dialects.te.rewriting import loads, substitute

from ..te.affine import coefficient, flat_index, known
from .contraction_shape import Axis, memory_of
from .contraction_tile import divides
from .gpu_tile import VECTOR_BYTES

BANK_STEPS = 8
MOST_LANES = 4
"""Of a vector that the code generator makes a load of."""

THREAD = "tx"


@dataclass(frozen=True)
class Slot:
    """Where the lanes of one load start: in the tile, along it and in its depth."""

    number: int
    along: Expr
    step: Expr


@dataclass(frozen=True)
class StagedFactor:
    """Writes how a block brings tiles of `factor`.

    Attributes:
        name: "x" or "y", for what is declared.
        factor: its value in the dtype of the sums, at the loops of `along` and `depth`.
        extent, steps: sizes of the tile along and in its depth.
        first: where the block starts along.
    """

    name: str
    factor: Expr
    along: Axis
    depth: Axis
    extent: int
    steps: int
    threads: int
    first: Expr
    buffers: dict[str, Buffer]
    dtype: DType

    @property
    def runs_deep(self) -> bool:
        """Whether memory goes on along the depth rather than along rows or columns."""
        return not self._follows(self.along) and self._follows(self.depth)

    def _follows(self, axis: Axis) -> bool:
        for access in loads(self.factor):
            position = flat_index(self.buffers[str(access.value)], access.args)
            step = coefficient(position, axis.names[-1]) if axis.names else None
            if step is not None and step.is_int(1):
                return True
        return False

    def _is_even(self, axis: Axis) -> bool:
        """Whether one index stands for all loops of an axis."""
        memory = memory_of(self.factor)
        if memory is None:
            return False
        return axis.is_even(flat_index(self.buffers[str(memory.value)], memory.args))

    @property
    def lanes(self) -> int:
        """Elements of a load. None of its lanes is beyond the matrix unless all are."""
        axis, extent = (self.depth, self.steps) if self.runs_deep else (self.along, self.extent)
        memory, size = memory_of(self.factor), known(axis.size)
        if memory is None or size is None or not self._is_even(axis) or not axis.names:
            return 1
        if memory.dtype.itemsize == 1:
            return 1  # no vectors of bytes on NVPTX
        each = self.extent * self.steps // self.threads
        most = min(self.most_lanes, VECTOR_BYTES // memory.dtype.itemsize, each, extent)
        return next(n for n in (8, 4, 2, 1) if n <= most and size % n == 0)

    @property
    def most_lanes(self) -> int:
        """Of a load, which is converted on its way."""
        return MOST_LANES

    @property
    def padding(self) -> int:
        return VECTOR_BYTES // self.dtype.itemsize if self.runs_deep else 0

    @property
    def slots(self) -> int:
        """Loads of a thread."""
        return self.extent * self.steps // (self.threads * self.lanes)

    def _slots(self) -> Iterator[Slot]:
        """Positions of a thread's loads, the part that depends on the thread named before."""
        for number in range(self.slots):
            run = var(f"{self.name}_run") + self._later(number)[0]
            other = var(f"{self.name}_other") + self._later(number)[1]
            yield Slot(number, *((other, run) if self.runs_deep else (run, other)))

    @property
    def _shape(self) -> tuple[int, int]:
        """How many vectors of a run neighbouring threads take, and how many runs there are."""
        run, other = self.extent, self.steps
        if self.runs_deep:
            run, other = other, run
        return self.near(run // self.lanes), other

    def near(self, whole: int) -> int:
        """Of so many vectors of a run, those that neighbouring threads take."""
        return min(whole, max(1, BANK_STEPS // self.lanes)) if self.runs_deep else whole

    def _later(self, number: int) -> tuple[int, int]:
        """How far a load is from the thread's first one: along the run, and across."""
        near, other = self._shape
        if self.threads >= near * other:
            return number * (self.threads // (near * other)) * near * self.lanes, 0
        turns = near * other // self.threads
        return number // turns * near * self.lanes, number % turns * (self.threads // near)

    def names(self) -> list[Operation]:
        """Where the thread's first load lies in the tile."""
        near, other = self._shape
        thread = var(THREAD)
        run = thread % near if near > 1 else const(0)
        across = thread // near
        if self.threads > near * other:
            run = run + across // other * near
            across = across % other
        made = {"run": run * self.lanes, "other": across}
        return [LetOp(f"{self.name}_{part}", value) for part, value in made.items()]

    def storage(self) -> list[Operation]:
        """The tile, twice, and the registers on the way to it."""
        return [
            AllocOp(
                make_buffer(
                    f"{self.name}s", self.dtype, [2, self.steps, self.extent + self.padding]
                ),
                "shared",
            ),
            AllocOp(make_buffer(f"{self.name}g", self.dtype, [self.slots * self.lanes]), "reg"),
        ]

    def fetch(self, turn: Expr, suffix: str) -> list[Operation]:
        """Loads of the tile of that turn over the depth; `suffix` tells the names from others."""
        return [op for slot in self._slots() for op in self._fetch_slot(slot, turn, suffix)]

    def _fetch_slot(self, slot: Slot, turn: Expr, suffix: str) -> list[Operation]:
        along, step = self.first + slot.along, turn * self.steps + slot.step
        inside = []
        if not divides(self.along.size, self.extent):
            inside.append(along < self.along.size)
        if not divides(self.depth.size, self.steps):
            inside.append(step < self.depth.size)
        tag = f"{self.name}{suffix}_{slot.number}"
        lane = var(f"{tag}l")
        if self.lanes > 1:
            along, step = (along, step + lane) if self.runs_deep else (along + lane, step)
        names, values = self._values(self.along, along, tag)
        deep_names, deep = self._values(self.depth, step, tag)
        value = substitute(self.factor, values | deep)
        zero = const(0, self.dtype)
        register = f"{self.name}g"
        if self.lanes == 1:
            checked = select(all_of(inside), value, zero) if inside else value
            return [*names, *deep_names, StoreOp(register, [slot.number], checked)]
        place = [lane + slot.number * self.lanes]
        loaded = ForOp(str(lane.value), self.lanes, [StoreOp(register, place, value)], "vector")
        if not inside:
            return [loaded]
        blank = substitute(place[0], {str(lane.value): var(f"{tag}z")})
        clear = ForOp(f"{tag}z", self.lanes, [StoreOp(register, [blank], zero)], "vector")
        return [IfOp(all_of(inside), [loaded], [clear])]

    def _values(
        self, axis: Axis, position: Expr, tag: str
    ) -> tuple[list[Operation], dict[str, Expr]]:
        """The loops of an axis at a flat position. Those that are found by division have names, so
        that it is divided once."""
        if len(axis.names) < 2 or self._is_even(axis):
            return [], axis.collapse(position)
        digits = axis.unflatten(position)
        names = {loop: f"{tag}_{loop}" for loop in digits}
        lets: list[Operation] = [LetOp(names[loop], digit) for loop, digit in digits.items()]
        return lets, {loop: var(name) for loop, name in names.items()}

    def put(self, stage: Expr, suffix: str) -> list[Operation]:
        """Registers to the shared tile of that stage."""
        made: list[Operation] = []
        for slot in self._slots():
            lane = var(f"{self.name}{suffix}_{slot.number}p")
            along, step = slot.along, slot.step
            along, step = (along, step + lane) if self.runs_deep else (along + lane, step)
            value = load(f"{self.name}g", [lane + slot.number * self.lanes], self.dtype)
            store = StoreOp(f"{self.name}s", [stage, step, along], value)
            kind = "unroll" if self.runs_deep else "vector"
            made.append(ForOp(str(lane.value), self.lanes, [store], kind))
        return made

    def staged(self, stage: Expr, step: Expr, along: Expr) -> Expr:
        """An element of the shared tile."""
        return load(f"{self.name}s", [stage, step, along], self.dtype)
