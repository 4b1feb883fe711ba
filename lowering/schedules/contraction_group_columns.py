"""Packing of the second factor of a product of groups: panels yp[panel][group][column][number].

The numbers of a group lie side by side. Where memory runs along the depth, they do so there, too:
squares of groups are transposed in registers like numbers that are as wide.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, select, var
from tensorscript.dialects.te.ops import ForOp, IfOp, StoreOp

from ..te.affine import known
from .contraction_columns import by_squares
from .contraction_shape import Axis, Spots
from .contraction_tile import Tile, ceil_div, divides


@dataclass(frozen=True)
class GroupPacker:
    """Packs panels of groups of a factor; of missing columns and steps it packs zeros.

    Attributes:
        factor: its value, at the variables of `along` (the columns) and `depth`.
        count: numbers of a group.
        step: steps of the depth that panels are padded to a multiple of.
        by_squares: it is memory that runs along the depth.
    """

    factor: Expr
    along: Axis
    depth: Axis
    buffers: dict[str, Buffer]
    tile: Tile
    count: int
    by_squares: bool
    step: int

    def value(self, column: Expr, k: Expr) -> Expr:
        """A number, 0 beyond the last column."""
        value = self._at(column, k)
        if divides(self.along.size, self.tile.columns):
            return value
        return select(column < self.along.size, value, const(0, value.dtype))

    def _at(self, column: Expr, k: Expr) -> Expr:
        spots = Spots(self.buffers, ((self.along, column), (self.depth, k)))
        return spots.expression(self.factor)

    def panel(
        self, name: str, slot: Expr, panel: Expr, first: Expr, depth: Expr
    ) -> list[Operation]:
        """Statements that fill `name[slot]` with `depth` steps from `first` on."""
        columns, place = self.tile.columns, (name, slot, panel, first)
        size = known(self.along.size)
        if not self.by_squares or size is None:
            return [self.groups(place, const(0), self.padded(depth))]
        whole = self._squares(place, depth, columns)
        if size % columns == 0:
            return whole
        zero = const(0, self.factor.dtype)
        clear = StoreOp(name, [slot, var("kz"), var("jz"), var("uz")], zero)
        lanes = ForOp("jz", columns, [ForOp("uz", self.count, [clear], "vector")], "vector")
        zeros = ForOp("kz", self.padded(depth), [lanes])
        rest = self._squares(place, depth, size % columns)
        return [IfOp((panel + 1) * columns <= size, whole, [zeros, *rest])]

    def _squares(
        self, place: tuple[str, Expr, Expr, Expr], depth: Expr, columns: int
    ) -> list[Operation]:
        """So many columns of a panel; a group that is padded, and groups whose number is not known,
        as they come."""
        name, slot, panel, first = place
        suffix = "" if columns == self.tile.columns else "l"

        def copy(k: Expr, j: Expr, tag: str) -> Operation:
            number = var(f"u{tag}")
            value = self._at(panel * self.tile.columns + j, first + k * self.count + number)
            store = StoreOp(name, [slot, k, j, number], value)
            return ForOp(f"u{tag}", self.count, [store], "vector")

        groups, side = depth // self.count, self.tile.lanes
        out = by_squares(copy, groups, columns, side, f"g{suffix}")
        if known(depth) is None:
            out.append(self.groups(place, groups // side * side, self.padded(depth), suffix))
        elif not divides(depth, self.step):
            out.append(self.groups(place, groups, self.padded(depth), suffix))
        return out

    def groups(
        self, place: tuple[str, Expr, Expr, Expr], start: Expr, end: Expr, suffix: str = ""
    ) -> Operation:
        """Group by group from one to another, all columns of a panel. `place` is the buffer, the
        slot in it, the panel and the step of the depth that it begins with."""
        name, slot, panel, first = place
        group, lane, number = (var(f"{letters}{suffix}") for letters in ("kp", "jv", "ku"))
        k = first + group * self.count + number
        value = self.value(panel * self.tile.columns + lane, k)
        if not divides(self.depth.size, self.step):
            value = select(k < self.depth.size, value, const(0, value.dtype))
        store = StoreOp(name, [slot, group, lane, number], value)
        numbers = ForOp(f"ku{suffix}", self.count, [store], "vector")
        lanes = ForOp(f"jv{suffix}", self.tile.columns, [numbers], "vector")
        return ForOp(f"kp{suffix}", end - start, [lanes], start=start)

    def padded(self, depth: Expr) -> Expr:
        """Groups of a panel of so many steps."""
        return ceil_div(depth, self.step) * (self.step // self.count)
