"""Packing of a factor of a product: panels xp[panel][k][row], a row of them per step of k.

Where memory runs along the depth, squares of it are transposed in registers; a panel that `pads` is
then padded to whole squares, and its last rows are the first ones of the next panel, which nothing
reads.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, select, var
from tensorscript.dialects.te.ops import ForOp, IfOp, StoreOp

from ..te.affine import coefficient, flat_index, known
from .contraction_shape import Axis, Spots, memory_of
from .contraction_tile import divides


@dataclass(frozen=True)
class RowPacker:
    """Packs panels of `rows` rows of a factor of a product.

    Attributes:
        factor: its value, at the variables of `along` (the rows) and `depth`.
        buffers: those of the function, by name.
        lanes: elements of a vector, the most that a side of a square may have.
        pads: a panel may be padded to whole squares. What is packed while compiling is not: it
            takes its memory as long as the program does.
    """

    factor: Expr
    along: Axis
    depth: Axis
    buffers: dict[str, Buffer]
    dtype: DType
    rows: int
    lanes: int
    pads: bool = True

    @property
    def side(self) -> int:
        """Of the squares; 0 where X does not lie across the panels or a square would be wasted."""
        x, depth = memory_of(self.factor), self.depth
        size = known(depth.size)
        side = min(self.lanes, 8 if self.rows <= 8 else 16)
        if x is None or min(self.rows, side) < 4 or (size is not None and size < side):
            return 0
        if self.rows % side and not self.pads:
            return 0
        position = flat_index(self.buffers[str(x.value)], x.args)
        if not depth.names or not (depth.is_even(position) or divides(depth.extents[-1], side)):
            return 0  # what lies together is not a whole number of squares
        step = coefficient(position, depth.names[-1])
        return side if step is not None and step.is_int(1) else 0

    @property
    def width(self) -> int:
        """Elements of a packed row: the rows of the panel and its padding."""
        return -(-self.rows // self.side) * self.side if self.side else self.rows

    def value(self, row: Expr, k: Expr) -> Expr:
        spots = Spots(self.buffers, ((self.along, row), (self.depth, k)))
        return spots.expression(self.factor)

    def panel(
        self, name: str, panel: Expr, first_row: Expr, first_k: Expr, depth: Expr
    ) -> list[Operation]:
        """Statements that fill `name[panel]` with `depth` steps from `first_k` on."""
        plain = self._plain(name, panel, first_row, first_k, const(0), depth, "p")
        if not (side := self.side):
            return [plain]
        lane_k, lane_row = var("kv"), var("kw") * side + var("iu")
        k = var("kq") * side + lane_k
        store = StoreOp(name, [panel, k, lane_row], self.value(first_row + lane_row, first_k + k))
        square = ForOp("kv", side, [ForOp("iu", side, [store], "vector")], "vector")
        squares = ForOp("kw", self.width // side, [square], "unroll")
        fast: list[Operation] = [ForOp("kq", depth // side, [squares])]
        size = known(depth)
        if size is None or size % side:
            done = depth // side * side
            fast.append(self._plain(name, panel, first_row, first_k, done, depth, "r"))
        return [IfOp(first_row + self.width <= self.along.size, fast, [plain])]

    def _plain(
        self,
        name: str,
        panel: Expr,
        first_row: Expr,
        first_k: Expr,
        start: Expr,
        depth: Expr,
        suffix: str,
    ) -> Operation:
        """Element by element, with zeros beyond the last row."""
        k = start + var(f"kx{suffix}")
        row = first_row + var(f"ix{suffix}")
        value = self.value(row, first_k + k)
        size = known(self.along.size)
        if size is None or size % self.rows:
            value = select(row < self.along.size, value, const(0, self.dtype))
        store = StoreOp(name, [panel, k, var(f"ix{suffix}")], value)
        rows = ForOp(f"ix{suffix}", self.rows, [store], "unroll")
        return ForOp(f"kx{suffix}", depth - start, [rows])
