"""Packing of the second factor of a product: panels yp[panel][k][column], a row of them per step
of k.

Where memory runs along the depth, squares of it are transposed in registers, and parts of squares
at the ends. Columns of several loops that do not follow one another (an image) are walked as they
lie in memory into one row, which is then cut into panels. Columns beyond the last one are zeros.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, const, load, select, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, StoreOp

from ..te.affine import coefficient, flat_index, known
from ..te.lanes import vectorize_map
from .contraction_shape import Axis, Spots, at, memory_of
from .contraction_tile import Tile, ceil_div, divides

Copy = Callable[[Expr, Expr, str], Operation]
"""(step of the depth, column, what new names end with) -> what copies that element."""


def by_squares(
    copy: Copy, depth: Expr, columns: int, side: int, suffix: str = ""
) -> list[Operation]:
    """Copy so many steps of so many columns by squares transposed in registers, and parts of such;
    of a depth that is not known whole squares alone."""
    out: list[Operation] = []
    cuts = [(k, j) for k in _runs(depth, side) for j in _runs(const(columns), side)]
    for number, ((k, turns, height), (j, times, width)) in enumerate(cuts):
        tag = f"{suffix}{number or ''}"
        names = [f"{name}{tag}" for name in ("ks", "js", "ku", "jv")]
        ko, jo, ku, jv = map(var, names)
        element = copy(k + ko * side + ku, j + jo * side + jv, tag)
        square = ForOp(names[2], height, [ForOp(names[3], width, [element], "vector")], "vector")
        out.append(ForOp(names[0], turns, [ForOp(names[1], times, [square], "unroll")]))
    return out


def _runs(size: Expr, side: int) -> list[tuple[Expr, Expr, int]]:
    """(start, number, length) of the runs that a size is cut into, and of what is left."""
    turns, count = size // side, known(size)
    whole = [] if turns.is_int(0) else [(const(0), turns, side)]
    left = (count or 0) % side
    return whole + ([(turns * side, const(1), left)] if left else [])


@dataclass(frozen=True)
class ColumnPacker:
    """Packs panels of columns of a factor of a product.

    Attributes:
        factor: its value, at the variables of `along` (the columns) and `depth`.
        buffers: those of the function, by name.
    """

    factor: Expr
    along: Axis
    depth: Axis
    buffers: dict[str, Buffer]
    dtype: DType
    tile: Tile

    @property
    def is_even(self) -> bool:
        """All columns follow one another in memory."""
        memory = memory_of(self.factor)
        if sum(not extent.is_int(1) for extent in self.along.extents) < 2:
            return True
        if memory is None:
            return False
        return self.along.is_even(flat_index(self.buffers[str(memory.value)], memory.args))

    @property
    def runs_along(self) -> bool:
        """Memory runs along all columns, not along the depth."""
        return self.is_even and not self._lies_across()

    def steps(self, name: str, slot: Expr, panel: Expr, start: Expr, end: Expr) -> list[Operation]:
        """Statements that fill `name[slot]` from one step of the depth to another of a panel."""
        return [self._rows(name, slot, panel, "p", const(0), start, end)]

    def value(self, column: Expr, k: Expr) -> Expr:
        spots = Spots(self.buffers, ((self.along, column), (self.depth, k)))
        return spots.expression(self.factor)

    def panel(
        self, name: str, slot: Expr, panel: Expr, first: Expr, depth: Expr
    ) -> list[Operation]:
        """Statements that fill `name[slot]` with `depth` steps of a panel from `first` on."""
        if not self._lies_across():
            return [self._rows(name, slot, panel, "p", first, const(0), depth)]
        columns = self.tile.columns
        across = self._squares(name, slot, panel, first, depth, columns)
        if divides(self.along.size, columns):
            return across
        whole = panel < self.along.size // columns
        if (size := known(self.along.size)) is None:
            plain = self._rows(name, slot, panel, "l", first, const(0), depth)
            return [IfOp(whole, across, [plain])]
        clear = StoreOp(name, [slot, var("kz"), var("jz")], const(0, self.dtype))
        zeros = ForOp("kz", depth, [ForOp("jz", columns, [clear], "vector")])
        rest = self._squares(name, slot, panel, first, depth, size % columns)
        return [IfOp(whole, across, [zeros, *rest])]

    def _lies_across(self) -> bool:
        """Memory runs along the depth, not along the columns, and squares of it fit."""
        memory, side = memory_of(self.factor), self.tile.lanes
        size = known(self.depth.size) or side
        if memory is None or side < 4 or size < side or len(self.depth.names) > 1:
            return False
        position = flat_index(self.buffers[str(memory.value)], memory.args)
        step = coefficient(position, self.depth.names[-1])
        return step is not None and step.is_int(1)

    def _padded(self, column: Expr, value: Expr) -> Expr:
        if divides(self.along.size, self.tile.columns):
            return value
        return select(column < self.along.size, value, const(0, self.dtype))

    def _rows(
        self, name: str, slot: Expr, panel: Expr, suffix: str, first: Expr, start: Expr, depth: Expr
    ) -> ForOp:
        """Steps `start` to `depth` of a panel, a row of it at a time; `suffix` names its loops."""
        k, lane = start + var(f"k{suffix}"), var(f"j{suffix}v")
        column = panel * self.tile.columns + lane
        value = self._padded(column, self.value(column, first + k))
        store = StoreOp(name, [slot, k, lane], value)
        inner = ForOp(f"j{suffix}v", self.tile.columns, [store], "vector")
        return ForOp(f"k{suffix}", depth - start, [inner])

    def _squares(
        self, name: str, slot: Expr, panel: Expr, first: Expr, depth: Expr, columns: int
    ) -> list[Operation]:
        """So many columns of a panel by squares; a rest of the depth whose size is not known goes
        the plain way."""
        side, suffix = self.tile.lanes, "" if columns == self.tile.columns else "l"

        def copy(k: Expr, j: Expr, _: str) -> Operation:
            value = self.value(panel * self.tile.columns + j, first + k)
            return StoreOp(name, [slot, k, j], value)

        out = by_squares(copy, depth, columns, side, suffix)
        if known(depth) is None:
            rest = depth // side * side
            out.append(self._rows(name, slot, panel, f"r{suffix}", first, rest, depth))
        return out

    def step(self, name: str, k: Expr, first: Expr) -> list[Operation]:
        """Statements that fill one step of the depth of every panel, by a row of all columns; the
        panels lie from `first` on.
        Indices stay affine, so that the walk is vector loads."""
        flat = self.along.flat()
        row = AllocOp(make_buffer("row", self.dtype, [self.along.size]), "stack")
        walk: list[Operation] = [StoreOp("row", [flat], at(self.factor, self.depth.unflatten(k)))]
        loops = list(zip(self.along.names, self.along.extents, strict=True))
        for depth, (loop_name, extent) in enumerate(reversed(loops)):
            loop = ForOp(loop_name, extent, walk)
            lanes = self.tile.columns
            while lanes > 4 and extent.is_const and lanes // 2 >= int(str(extent)):
                lanes //= 2
            walk = vectorize_map(loop, lanes) if depth == 0 else [loop]
        column = var("jp") * self.tile.columns + var("jv")
        value = self._padded(column, load("row", [column], self.dtype))
        store = StoreOp(name, [first + var("jp"), k, var("jv")], value)
        cut = ForOp("jv", self.tile.columns, [store], "vector")
        panels = ceil_div(self.along.size, self.tile.columns)
        return [row, *walk, ForOp("jp", panels, [cut])]
