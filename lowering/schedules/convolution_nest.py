"""What both forms of a convolution share: the plane, the packed weights, and the loops around.

A task is one of two, whichever moves less through the caches:

| task | reads | packs itself |
|---|---|---|
| some output rows, all channels | all weights, a part of the image | its part of the image |
| a panel of channels, some output rows | the image, a panel of weights | its weights |

The other is packed once, before. What a task packs is in its core's caches when it reads it.

In a task a panel goes over its pixels once per block of the depth: the rounding errors of a sum
grow with the length of its chains of additions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import gcd

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, mul, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, PrefetchOp, StoreOp, UpdateOp

from ..te.affine import known
from ..te.rebuild import substituting
from .contraction_pack import RowPacker
from .contraction_plan import lines
from .contraction_shape import Axis, Product, at
from .contraction_tile import DEPTH_BLOCK, TASKS, Tile, ceil_div, loops_around, takes_threads
from .convolution_image import Dim, Image, fill_plane

BLOCK_BYTES = 1 << 18
"""Sums of a block of output rows: a part of the L2 cache."""
KEPT_BYTES = 1 << 19
"""What stays in the L2 cache from one task to the next."""
ROWS_OF_UNKNOWN = 8


def rows_of_blocks(size: int, most: int, least: int = 1) -> int:
    """Rows of a block when `size` rows are cut into blocks of `least` to `most` rows: as many as
    leave the smallest rest."""
    most = max(1, min(size, most))
    return min(range(min(least, most), most + 1), key=lambda rows: (-size % rows, -rows))


@dataclass(frozen=True)
class ConvolutionBlocking:
    """How a convolution is blocked.

    Attributes:
        rows, columns: of the register tile.
        lanes: of its vectors.
        depth: about as many steps of the depth between two visits of a tile.
        block: output rows (of the first dimension) of a task.
        by_panel: 1 where a task is of one panel of channels, 0 where it is of all.
    """

    rows: int
    columns: int
    lanes: int
    depth: int
    block: int
    by_panel: int

    @property
    def tile(self) -> Tile:
        return Tile(self.rows, self.columns, self.lanes)


class ConvolutionNest(ABC):
    """Writes the nest of one convolution.

    Attributes:
        tile: the register tile.
        depth: about as many steps of the depth are in a block of it.
        sets: the loops of the batch that have weights of their own, all of which are packed before.
        packed: output channels of a panel of packed weights.
        by_panel: a task is of one panel.
        local: a task packs its weights.
        numbered: weights are packed in the order in which the loops over phases read them: caches
            fetch what follows before it is asked for. Packed for one call, they lie as they came,
            for whole squares of them are faster to pack.
        framed: a task copies its part of the image.
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
        whole: bool,
        blocking: ConvolutionBlocking | None = None,
    ) -> None:
        """With a `blocking` that is given, or that sizes and caches suggest."""
        self.p, self.image, self.lanes, self.buffers = p, image, lanes, buffers
        self.tile, self.packed = tile, packed
        self.depth = DEPTH_BLOCK if blocking is None else blocking.depth
        self.dtype = p.target.value.dtype
        self.pitches = image.pitches
        self.panels = ceil_div(p.rows.size, packed)
        slack = max(tile.columns, tile.rows)
        self.slack = -(-slack // lanes) * lanes
        self.numbered = whole and all(d.numbers_taps for d in self._phased().values())
        x = self._in_order_of_loops(p.x) if self.numbered else p.x
        own = [(name, extent) for name, extent in p.batch.pairs if whole and name in p.x.free]
        self.sets = Axis([name for name, _ in own], [extent for _, extent in own])
        self._packing = Axis([f"{name}_p" for name in self.sets.names], self.sets.extents)
        x = at(x, dict(zip(self.sets.names, map(var, self._packing.names), strict=True)))
        self.packer = RowPacker(x, p.rows, p.depth, buffers, self.dtype, packed, lanes, not whole)
        self.by_panel = self.framed = False
        self.by_panel = bool(blocking.by_panel) if blocking else self._wants_panels()
        batch = set(p.batch.names)
        self.hoisted = bool(batch) and (whole or not batch & p.x.free)
        self.local = self.by_panel and not self.hoisted and not whole
        self.step = self._depth_step()
        self.depth_blocks = ceil_div(p.depth.extents[0], self.step) if p.depth.names else const(1)
        self.block = blocking.block if blocking else self.block_rows()
        self.blocks = ceil_div(image.dims[0].size, self.block)
        several = not self.by_panel and (known(self.blocks) or TASKS) > 1
        self.framed = several and not takes_threads(p.batch)

    @property
    def blocking(self) -> ConvolutionBlocking:
        tile = self.tile
        return ConvolutionBlocking(
            tile.rows, tile.columns, tile.lanes, self.depth, self.block, int(self.by_panel)
        )

    # --- sizes ----------------------------------------------------------------------------------

    @property
    def plane(self) -> Buffer:
        first = self.image.dims[0]
        rows = first.reach(const(self.block)) if self.framed else first.extent
        positions = mul(rows, self.pitches[0]) + self.slack
        shape = [self.image.channels.size, const(self.image.phase_count), positions]
        return make_buffer("plane", self.dtype, shape)

    @property
    def weights(self) -> Buffer:
        """Of one panel and one block of the depth where a task packs them itself."""
        panels, depth = (const(1), self._block_depth) if self.local else (
            mul(self.sets.size, self.panels), self.p.depth.size)  # fmt: skip
        return make_buffer("weights", self.dtype, [panels, depth, const(self.packer.width)])

    @property
    def _inner_depth(self) -> Expr:
        """Steps of the depth for one of its outermost loop."""
        return Axis(self.p.depth.names[1:], self.p.depth.extents[1:]).size

    @property
    def _block_depth(self) -> Expr:
        return mul(self.step, self._inner_depth)

    def _depth_step(self) -> Expr:
        """Iterations of the outermost loop of the depth in a block: about `depth` steps, in
        whole squares of a transposing packer if they fit."""
        count, inner = known(self.p.depth.extents[0]), known(self._inner_depth)
        if count is None or inner is None:
            return self.p.depth.extents[0]
        blocks = max(1, round(count * inner / self.depth))
        step = -(-count // blocks)
        square = self.lanes // gcd(inner, self.lanes)
        return const(min(count, -(-step // square) * square if step >= square else step))

    def _wants_panels(self) -> bool:
        alone = known(ceil_div(self.image.dims[0].size, self.block_rows())) == 1
        return (alone and not self.panels.is_int(1)) or self._moves_less_by_panel()

    def _moves_less_by_panel(self) -> bool:
        """Whether tasks of panels read less than tasks of output rows do."""
        numbers = [known(e) for e in (self.p.rows.size, self.p.depth.size, self.panels,
                                      *self.plane.shape)]  # fmt: skip
        rows, depth, panels, *plane_shape = (0 if n is None else n for n in numbers)
        if not all(numbers):
            return False
        weights = rows * depth * self.dtype.itemsize
        plane = plane_shape[0] * plane_shape[1] * plane_shape[2] * self.dtype.itemsize
        again_weights = TASKS if weights > KEPT_BYTES else 1
        again_plane = panels if plane > KEPT_BYTES else 1
        return weights + again_plane * plane < again_weights * weights + plane

    @abstractmethod
    def block_rows(self) -> int:
        """Output rows of a block."""

    @property
    def tasks(self) -> int:
        """Blocks of output rows that the threads need."""
        return -(-TASKS // (known(self.panels) or 1)) if self.by_panel else TASKS

    @property
    def kept_rows(self) -> Expr:
        """Channels, padded to panels, whose sums a task keeps."""
        return mul(const(1) if self.by_panel else self.panels, const(self.packed))

    @property
    def stores_tiles(self) -> bool:
        """Whether results are stored from the tiles themselves: there are no sums then."""
        return False

    # --- loops ----------------------------------------------------------------------------------

    @abstractmethod
    def sums(self) -> Buffer:
        """Of a task."""

    @abstractmethod
    def panel_body(self, start: Expr, rows: Expr) -> list[Operation]:
        """The tiles of one panel and one block of the depth, for `rows` output rows whose pixels
        are in the plane from `start` on."""

    @abstractmethod
    def results(self, first: Expr, rows: Expr) -> list[Operation]:
        """The epilogue of a task."""

    def build(self) -> list[Operation]:
        pack: list[Operation] = []
        if not self.local:
            pack = [AllocOp(self.weights, "stack"), self._pack_weights()]
        body: list[Operation] = [
            *([] if self.hoisted else pack),
            *([] if self.framed else self._copy_image(const(0), self.image.dims[0].size)),
            self._tasks(),
        ]
        nest = loops_around(self.p.batch, body)
        return [*pack, *nest] if self.hoisted else nest

    def _pack_weights(self) -> Operation:
        panel = var("ip")
        slot = mul(self._packing.flat(), self.panels) + panel
        body = self.packer.panel("weights", slot, panel * self.packed, const(0), self.p.depth.size)
        nest: Operation = ForOp("ip", self.panels, body, "parallel", grain=4)
        for name, extent in reversed(self._packing.pairs):
            nest = ForOp(name, extent, [nest])
        return nest

    def _copy_image(self, first: Expr, rows: Expr) -> list[Operation]:
        fill = fill_plane(self.p, self.image, self.slack, self.lanes, first, rows)
        return [AllocOp(self.plane, "stack"), *fill]

    def _tasks(self) -> Operation:
        size, block = self.image.dims[0].size, const(self.block)
        first, rows = self.first_row, block
        if (count := known(size)) is None or count % self.block:
            rows = binary("min", block, size - first)
        start = const(0) if self.framed else mul(first, self.pitches[0])
        panel = self._over_depth(self.panel_body(start, rows))
        if not self.by_panel:
            panel = [ForOp("iq", self.panels, panel)]
        body = panel
        if not self.stores_tiles:
            body = [AllocOp(self.sums(), "stack"), *panel, *self.results(first, rows)]
        if self.framed:
            body = [*self._copy_image(first, rows), *body]
        if self.local:
            body.insert(0, AllocOp(self.weights, "stack"))
        count_ = mul(self.panels, self.blocks) if self.by_panel else self.blocks
        return ForOp("hb", count_, body, "parallel", grain=1)

    @property
    def first_row(self) -> Expr:
        """Of the output rows of a task."""
        if self.blocks.is_int(1):
            return const(0)
        return (var("hb") % self.blocks if self.by_panel else var("hb")) * self.block

    @property
    def panel(self) -> Expr:
        """The panel that a tile is of."""
        return var("hb") // self.blocks if self.by_panel else var("iq")

    @property
    def weight_panel(self) -> Expr:
        """Its weights among those that are packed before."""
        return mul(self.sets.flat(), self.panels) + self.panel

    @property
    def first_channel(self) -> Expr:
        """Of those that a task is of."""
        return self.panel * self.packed if self.by_panel else const(0)

    @property
    def channels(self) -> Expr:
        """How many a task is of."""
        size = known(self.p.rows.size)
        if not self.by_panel:
            return self.p.rows.size
        if size is not None and size % self.packed == 0:
            return const(self.packed)
        return binary("min", self.packed, self.p.rows.size - self.first_channel)

    @property
    def slot(self) -> Expr:
        """Where the sums of the panel are kept."""
        return const(0) if self.by_panel else self.panel

    def _over_depth(self, body: list[Operation]) -> list[Operation]:
        """A panel's tiles, block by block of the depth."""
        if self.local:
            first = var("kb") * self._block_depth
            row = self.panel * self.packed
            depth = mul(self._step_here, self._inner_depth)
            body = [*self.packer.panel("weights", const(0), row, first, depth), *body]
        return [ForOp("kb", self.depth_blocks, body)]

    @property
    def _step_here(self) -> Expr:
        extent, step = self.p.depth.extents[0], known(self.step)
        size = known(extent)
        if self.depth_blocks.is_int(1) or (size is not None and step and size % step == 0):
            return self.step
        return binary("min", self.step, extent - var("kb") * self.step)

    def weight(self, channel: Expr) -> Expr:
        """The packed weight of a channel of the panel, at the loops of the depth."""
        k = self._at_taps(self.p.depth.flat())
        if not self.local:
            return load("weights", [self.weight_panel, self._global_depth(k), channel], self.dtype)
        return load("weights", [const(0), k, channel], self.dtype)

    @property
    def run(self) -> tuple[Expr, int]:
        """The number of the tile among those that go over the same weights, and how many these
        are, 1 where that is not known."""
        return const(0), 1

    def _fetch_next(self) -> tuple[list[Operation], list[Operation]]:
        """The next block of packed weights, or the next panel's first one, comes into the second
        cache: weights of large models are in memory when a call comes to them. Each of the tiles
        that go over a block asks for its part of the next one: all at once would wait for memory.

        Returns:
            What each step of the depth fetches, and each turn of its outermost loop.
        """
        if self.local or (self._phased() and not self.numbered):
            return [], []
        number, runs = self.run
        inner, step = known(self._inner_depth), known(self.step)
        if runs == 1 or inner is None or step is None:
            return self._fetched(self._global_depth(self._at_taps(self.p.depth.flat()))), []
        rows = -(-inner // runs)
        part = binary("min", number, -(-inner // rows) - 1)
        turn = part * step + var(self.p.depth.names[0])
        first = var("kb") * self._block_depth + turn * rows
        return [], [op for row in range(rows) for op in self._fetched(first + row)]

    def _fetched(self, k: Expr) -> list[Operation]:
        """The weights of the next block at a step of this one."""
        place = [self.weight_panel, k + self._block_depth]
        columns = lines(self.packer.width, self.dtype)
        return [PrefetchOp(load("weights", [*place, const(j)], self.dtype)) for j in columns]

    def pixel(self, position: Expr) -> Expr:
        """The element of the plane `position` after the tap's shift, at the loops of the depth."""
        phase, shift = self.image.tap_place(frozenset(self._phased()))
        place = [self.image.channels.flat(), phase, position + shift]
        return load("plane", [self._global_depth(e) for e in place], self.dtype)

    def _global_depth(self, e: Expr) -> Expr:
        """`e` where the outermost loop of the depth runs over the block only."""
        name = self.p.depth.names[0]
        return substituting({name: var("kb") * self.step + var(name)})(e)

    def _phased(self) -> dict[str, Dim]:
        """The taps that a stride cuts into phases, each with its dimension. They take two loops,
        over phases and over the turns in one, so that every place in the plane is affine in the
        loops; the loop that blocks of the depth cut stays as it is."""
        first = self.p.depth.names[0]
        return {d.tap: d for d in self.image.dims if d.tap != first and d.tap and d.period > 1}

    def _at_taps(self, e: Expr) -> Expr:
        """The place of packed weights at the loops over phases."""
        phased = self._phased().items()
        return substituting(
            {t: d.tap_number if self.numbered else d.phased_tap for t, d in phased}
        )(e)

    def _in_order_of_loops(self, weight: Expr) -> Expr:
        """The weight at a place of the depth, if taps are counted as the loops over phases go."""
        return substituting({t: d.numbered_tap(var(t)) for t, d in self._phased().items()})(weight)

    def over_taps(self, body: list[Operation], turn: Sequence[Operation] = ()) -> list[Operation]:
        """The loops over a block's channels and taps around a step of the sums, and what is done
        in a `turn` of the outermost."""
        extents = [self._step_here, *self.p.depth.extents[1:]]
        phased = self._phased()
        for name, extent in reversed(list(zip(self.p.depth.names, extents, strict=True))):
            if name == self.p.depth.names[0]:
                body = [*body, *turn]
            loops = phased[name].loops() if name in phased else [(name, extent)]
            for variable, count in loops:
                body = [ForOp(variable, count, body, reduction=True)]
        return body

    def over_tile(self, suffix: str, body: list[Operation]) -> Operation:
        columns = ForOp(f"j{suffix}", self.tile.columns, body, "vector")
        return ForOp(f"i{suffix}", self.tile.rows, [columns], "unroll")

    def micro_kernel(self, value: Expr, row: Expr, column: Expr) -> list[Operation]:
        """A tile over a block of the depth, added to the sums.

        Args:
            value: of a step, at row i1t and column j1t of the tile.
            row, column: in the sums, of the tile's first element.
        """
        tile = make_buffer("tile", self.dtype, [self.tile.rows, self.tile.columns])
        step = UpdateOp("tile", [var("i1t"), var("j1t")], "add", value)
        clear = StoreOp("tile", [var("i0t"), var("j0t")], const(0, self.dtype))
        fetch, turn = self._fetch_next()
        return [
            AllocOp(tile, "reg"),
            self.over_tile("0t", [clear]),
            *self.over_taps([self.over_tile("1t", [step]), *fetch], turn),
            *self.keep(row, column),
        ]

    def keep(self, row: Expr, column: Expr) -> list[Operation]:
        """A tile becomes sums, or is added to them."""

        def kept(suffix: str, more: bool) -> Operation:
            i, j = var(f"i{suffix}"), var(f"j{suffix}")
            place = [row + i, column + j]
            total = load("tile", [i, j], self.dtype)
            if more:
                total = load("sums", place, self.dtype) + total
            return self.over_tile(suffix, [StoreOp("sums", place, total)])

        if self.depth_blocks.is_int(1):
            return [kept("2t", False)]
        return [IfOp(binary("eq", var("kb"), 0), [kept("2t", False)], [kept("3t", True)])]
