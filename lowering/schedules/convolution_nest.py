"""What both forms of a convolution share: the plane, the packed weights, and the loops around."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, binary, const, mul, var
from tensorscript.dialects.te.ops import AllocOp, ForOp

from ..te.affine import known
from .contraction_pack import RowPacker
from .contraction_shape import Product
from .contraction_tile import Tile, ceil_div, loops_around
from .convolution_image import Image, fill_plane

BLOCK_BYTES = 1 << 18
"""Sums of a block of output rows: a part of the L2 cache."""
ROWS_OF_UNKNOWN = 8


class ConvolutionNest(ABC):
    """Writes the nest of one convolution.

    Attributes:
        tile: the register tile.
        packed: output channels of a panel of packed weights.
        block: output rows (of the first dimension) that are computed and stored together.
    """

    def __init__(
        self,
        p: Product,
        image: Image,
        lanes: int,
        buffers: dict[str, Buffer],
        tile: Tile,
        packed: int,
    ) -> None:
        self.p, self.image, self.lanes, self.buffers = p, image, lanes, buffers
        self.tile, self.packed = tile, packed
        self.dtype = dtype = p.target.value.dtype
        self.pitches = image.pitches
        self.panels = ceil_div(p.rows.size, packed)
        slack = max(tile.columns, tile.rows)
        self.slack = -(-slack // lanes) * lanes
        positions = mul(image.dims[0].extent, self.pitches[0]) + self.slack
        self.plane = make_buffer(
            "plane", dtype, [image.channels.size, const(image.phase_count), positions]
        )
        self.packer = RowPacker(p.x, p.rows, p.depth, buffers, dtype, packed, lanes)
        self.weights = make_buffer(
            "weights", dtype, [self.panels, p.depth.size, const(self.packer.width)]
        )
        self.block = self.block_rows()
        self.blocks = ceil_div(image.dims[0].size, self.block)

    @abstractmethod
    def block_rows(self) -> int:
        """Output rows of a block."""

    @abstractmethod
    def block_body(self, first: Expr, rows: Expr, kind: str) -> list[Operation]:
        """The sums and the results of `rows` output rows from `first` on; the loop over the panels
        of weights is of the given kind."""

    def build(self) -> list[Operation]:
        batch = set(self.p.batch.names)
        shared = bool(batch) and not batch & self.p.x.free
        pack: list[Operation] = [AllocOp(self.weights, "stack"), self._pack_weights()]
        body: list[Operation] = [
            *([] if shared else pack),
            AllocOp(self.plane, "stack"),
            *fill_plane(self.p, self.image, self.slack, self.lanes),
            self._blocks(),
        ]
        nest = loops_around(self.p.batch, body)
        return [*pack, *nest] if shared else nest

    def _pack_weights(self) -> Operation:
        panel = var("ip")
        body = self.packer.panel("weights", panel, panel * self.packed, const(0), self.p.depth.size)
        return ForOp("ip", self.panels, body, "parallel", grain=4)

    def _blocks(self) -> Operation:
        size, block = self.image.dims[0].size, const(self.block)
        first, rows = var("hb") * self.block, block
        if (count := known(size)) is None or count % self.block:
            rows = binary("min", block, size - first)
        if self.blocks.is_int(1):  # the panels of weights take the threads
            return ForOp("hb", self.blocks, self.block_body(first, rows, "parallel"))
        body = self.block_body(first, rows, "serial")
        return ForOp("hb", self.blocks, body, "parallel", grain=1)

    def over_panels(self, body: list[Operation], kind: str) -> Operation:
        return ForOp("iq", self.panels, body, kind, grain=1 if kind == "parallel" else None)

    def over_taps(self, body: list[Operation]) -> list[Operation]:
        """The loops over channels and taps around a step of the sums."""
        for name, extent in reversed(
            list(zip(self.p.depth.names, self.p.depth.extents, strict=True))
        ):
            body = [ForOp(name, extent, body, reduction=True)]
        return body

    def over_tile(self, suffix: str, body: list[Operation]) -> Operation:
        columns = ForOp(f"j{suffix}", self.tile.columns, body, "vector")
        return ForOp(f"i{suffix}", self.tile.rows, [columns], "unroll")
