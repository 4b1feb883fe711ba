"""A tile of a factor in shared memory as it lies in global memory, for instructions that turn it.

```
xs[stage, row, (unit ^ row % 8) * 8 + k] = x[row, unit * 8 + k]          units of 8 numbers
```
Rows of numbers of 16 bits are cut into units of 16 bytes, which `ldmatrix` reads, eight rows at
once. Those of eight rows at one place would lie in the same banks; so the units of each row change
places by its number, of short rows so that those of 128 bytes together differ. Stores of a warp
still fill whole lines. After Thakkar et al., NVIDIA's CUTLASS (swizzled layouts).
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp

from .gpu_staging import StagedFactor

UNIT = 8
"""Numbers of 16 bits that `ldmatrix` reads of a row, and the rows of a matrix."""


class SwizzledFactor(StagedFactor):
    """Stages a factor of numbers of 16 bits without turning it."""

    @property
    def _run(self) -> int:
        """Elements of a row of the tile, along which memory goes on."""
        return self.steps if self.runs_deep else self.extent

    @property
    def most_lanes(self) -> int:
        return UNIT  # nothing is converted

    def near(self, whole: int) -> int:
        return whole

    def storage(self) -> list[Operation]:
        rows = self.extent if self.runs_deep else self.steps
        return [
            AllocOp(make_buffer(f"{self.name}s", self.dtype, [2, rows, self._run]), "shared"),
            AllocOp(make_buffer(f"{self.name}g", self.dtype, [self.slots * self.lanes]), "reg"),
        ]

    def _swizzled(self, unit: Expr, row_of_eight: Expr) -> Expr:
        """Where a unit of a row lies, whose number is known by its rest modulo 8."""
        apart = UNIT // min(UNIT, self._run // UNIT)
        return binary("xor", unit, row_of_eight // apart) * UNIT

    def put(self, stage: Expr, suffix: str) -> list[Operation]:
        made: list[Operation] = []
        for slot in self._slots():
            lane = var(f"{self.name}{suffix}_{slot.number}p")
            row, run = (slot.along, slot.step) if self.runs_deep else (slot.step, slot.along)
            column = self._swizzled(run // UNIT, row % UNIT) + run % UNIT + lane
            value = load(f"{self.name}g", [lane + slot.number * self.lanes], self.dtype)
            store = StoreOp(f"{self.name}s", [stage, row, column], value)
            made.append(ForOp(str(lane.value), self.lanes, [store], "vector"))
        return made

    def unit(self, stage: Expr, row: Expr, row_of_eight: Expr, unit: Expr) -> Expr:
        """The first element of a unit of the staged tile."""
        column = self._swizzled(unit, row_of_eight)
        return load(f"{self.name}s", [stage, row, column], self.dtype)
