"""Convolutions for the CPU as products with a shifted image, without a copy per tap.

The image is copied once into a plane with its border of zeros, `pitch` elements a row. In the plane
the output pixels q = h * pitch + w of one tap (r, s) read q + r * pitch + s: a contiguous vector,
whatever the tap. The columns between one output row's end and the next one's start are computed too
and left out when the results are copied to their places.

```
plane[c][q] = image with its border                          (once)
pack the weights X into panels xp[m / MR][k][MR]             (once)
for each block of output rows (parallel):
    for each column panel, for each row panel:
        tile[MR][NR] in registers += xp[.., k, :] outer plane[c(k)][q + shift(k)]     over all k
        sums[m][q] = tile                                        (stays in the L2 cache)
    y[m, h, w] = epilogue(sums[m][h * pitch + w])
```
A stride cuts the plane into one plane per phase, in which taps are shifts again; groups and a batch
are loops around. A depthwise convolution is the case of one row.

The idea of shifting instead of copying is that of Anderson, Vasudevan, Keane, Gregg, "Low-memory
GEMM-based convolution algorithms for deep neural networks" (2017).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product as cartesian

from xdsl.ir import Operation

from tensorscript.base.dtypes import float32, float64
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import (
    COMPARISONS,
    Expr,
    binary,
    const,
    load,
    mul,
    replace_loads,
    var,
    walk,
)
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp

from .affine import all_buffers, coefficient, known
from .contraction_pack import RowPacker
from .contraction_shape import Axis, Product, at
from .contraction_tile import TASKS, Tile, ceil_div, loops_around, tile_for
from .lanes import vectorize_map
from .rebuild import substituting

MOST_PHASES = 16
BLOCK_BYTES = 1 << 18
"""Sums of a block: a part of the L2 cache."""
LEAST_PANELS = 4
"""Column panels of a block: what the last one wastes is then little."""
ROWS_OF_UNKNOWN = 8
LONE_VECTORS = 8
"""Vectors of a tile with one row: as many sums as hide the latency of one."""
LEAST_WORK = 1 << 12


@dataclass(frozen=True)
class _Dim:
    """One spatial dimension: input position = stride * output + dilation * tap + a constant.

    Attributes:
        column: loop over the output; `size` its extent.
        tap: loop over the kernel, "" where the kernel has size 1.
    """

    column: str
    size: Expr
    stride: int
    tap: str
    taps: int
    dilation: int

    @property
    def extent(self) -> Expr:
        """Positions of one phase."""
        return self.size + (self.taps - 1) * self.dilation // self.stride

    def place_of(self, tap: Expr) -> tuple[Expr, Expr]:
        """(phase, shift within it) of a tap."""
        moved = tap * self.dilation
        if self.stride == 1:
            return const(0), moved
        return moved % self.stride, moved // self.stride

    def phases(self) -> dict[int, int]:
        """Phase to the first tap that reads it."""
        found: dict[int, int] = {}
        for tap in range(self.taps):
            found.setdefault(tap * self.dilation % self.stride, tap)
        return found


@dataclass(frozen=True)
class _Image:
    """The image of a convolution: spatial dimensions in the order of the column loops."""

    dims: tuple[_Dim, ...]
    channels: Axis

    @property
    def pitches(self) -> list[Expr]:
        """Distance in the plane of neighbours along each dimension."""
        found = [const(1)]
        for dim in reversed(self.dims[1:]):
            found.insert(0, mul(found[0], dim.extent))
        return found

    @property
    def phase_count(self) -> int:
        count = 1
        for dim in self.dims:
            count *= dim.stride
        return count


def _image(p: Product) -> _Image | None:
    """The image that the factor Y reads by windows; None if it is another one."""
    y = p.y
    reads = [n for n in walk(y) if n.op == "load"]
    if len(reads) != 1 or not p.columns.names:
        return None
    dims = []
    for column, size in zip(p.columns.names, p.columns.extents, strict=True):
        own = [i for i in reads[0].args if column in i.free]
        if len(own) != 1 or (dim := _dim(own[0], column, size, p)) is None:
            return None
        dims.append(dim)
    taps = {d.tap for d in dims}
    rest = [(n, e) for n, e in zip(p.depth.names, p.depth.extents, strict=True) if n not in taps]
    channels = Axis([n for n, _ in rest], [e for _, e in rest])
    spatial = [d for d in dims if d.taps > 1 or d.stride > 1]
    if not spatial or not all(_depends_on_position(y, d) for d in dims):
        return None
    found = _Image(tuple(dims), channels)
    return found if found.phase_count <= MOST_PHASES else None


def _dim(index: Expr, column: str, size: Expr, p: Product) -> _Dim | None:
    stride = coefficient(index, column)
    taps = [n for n in p.depth.names if n in index.free]
    others = [n for n in p.columns.names if n in index.free and n != column]
    if stride is None or not stride.is_const or len(taps) > 1 or others:
        return None
    step = int(str(stride))
    if step < 1:
        return None
    if not taps:
        return _Dim(column, size, step, "", 1, 1)
    dilation = coefficient(index, taps[0])
    count = known(p.depth.extents[p.depth.names.index(taps[0])])
    if dilation is None or not dilation.is_const or count is None or int(str(dilation)) < 1:
        return None
    return _Dim(column, size, step, taps[0], count, int(str(dilation)))


def _depends_on_position(y: Expr, dim: _Dim) -> bool:
    """Column and tap stand in Y only as stride * column + dilation * tap."""
    for e in _affine_parts(y):
        column = coefficient(e, dim.column)
        tap = coefficient(e, dim.tap) if dim.tap else const(0)
        if column is None or tap is None or not (column.is_const and tap.is_const):
            return False
        if dim.tap and int(str(column)) * dim.dilation != int(str(tap)) * dim.stride:
            return False
    return True


def _affine_parts(y: Expr) -> Iterator[Expr]:
    """The indices and the compared positions of a read, guarded or not; of another expression the
    whole, which is affine in nothing."""
    read, conditions = y, []
    if y.op == "select" and y.args[2].is_const:
        conditions, read = [y.args[0]], y.args[1]
    if read.op != "load":
        yield y
        return
    yield from read.args
    while conditions:
        e = conditions.pop()
        if e.op in ("and", "or", "not"):
            conditions += e.args
        else:
            yield from e.args if e.op in COMPARISONS else (e,)


def direct_convolution(func: FuncOp, p: Product, vector_bytes: int) -> list[Operation] | None:
    """The nest of a product whose factor Y is an image read by windows; None if it is not."""
    dtype = p.target.value.dtype
    if dtype not in (float32, float64) or (image := _image(p)) is None:
        return None
    work = known(mul(mul(p.rows.size, p.columns.size), p.depth.size))
    if work is not None and work < LEAST_WORK:
        return None
    tile = tile_for(dtype, vector_bytes, p.rows.size)
    if p.rows.size.is_int(1):
        tile = Tile(1, vector_bytes // dtype.itemsize * LONE_VECTORS)
    lanes = vector_bytes // dtype.itemsize
    return _Direct(p, image, tile, lanes, all_buffers(func)).build()


class _Direct:
    """Writes the nest of one convolution."""

    def __init__(
        self, p: Product, image: _Image, tile: Tile, lanes: int, buffers: dict[str, Buffer]
    ) -> None:
        self.p, self.image, self.tile, self.lanes = p, image, tile, lanes
        self.dtype = dtype = p.target.value.dtype
        self.pitches = image.pitches
        self.block = self._block_rows()
        self.blocks = ceil_div(image.dims[0].size, self.block)
        self.panels_m = ceil_div(p.rows.size, tile.rows)
        positions = mul(image.dims[0].extent, self.pitches[0]) + tile.columns
        self.plane = make_buffer(
            "plane", dtype, [image.channels.size, const(image.phase_count), positions]
        )
        self.packer = RowPacker(p, buffers, dtype, tile.rows)
        self.xp = make_buffer("xp", dtype, [self.panels_m, p.depth.size, const(self.packer.width)])
        columns = mul(self._panels(const(self.block)), const(tile.columns))
        self.sums = make_buffer("sums", dtype, [mul(self.panels_m, const(tile.rows)), columns])

    def _block_rows(self) -> int:
        """Rows of a block: enough blocks for the threads, sums that stay cached, full panels."""
        size, pitch = known(self.image.dims[0].size), known(self.pitches[0])
        if size is None or pitch is None:
            return ROWS_OF_UNKNOWN
        rows = known(self.p.rows.size) or 1
        cached = BLOCK_BYTES // (rows * pitch * self.dtype.itemsize)
        filled = -(-LEAST_PANELS * self.tile.columns // pitch)
        return min(size, max(1, filled, min(-(-size // TASKS), cached)))

    def _panels(self, rows: Expr) -> Expr:
        """Column panels of some output rows, what lies between their ends included."""
        columns = mul(rows - 1, self.pitches[0]) + 1
        for dim, pitch in zip(self.image.dims[1:], self.pitches[1:], strict=True):
            columns = columns + mul(dim.size - 1, pitch)
        return ceil_div(columns, self.tile.columns)

    def build(self) -> list[Operation]:
        batch = set(self.p.batch.names)
        shared = bool(batch) and not batch & self.p.x.free
        own = [] if shared else [AllocOp(self.xp, "stack"), self._pack_weights()]
        body: list[Operation] = [
            *own,
            AllocOp(self.plane, "stack"),
            *self._fill_plane(),
            self._blocks(),
        ]
        nest = loops_around(self.p.batch, body)
        return [AllocOp(self.xp, "stack"), self._pack_weights(), *nest] if shared else nest

    # -- the operands ------------------------------------------------------------------------

    def _pack_weights(self) -> Operation:
        panel = var("ip")
        body = self.packer.panel("xp", panel, panel * self.tile.rows, const(0), self.p.depth.size)
        return ForOp("ip", self.panels_m, body, "parallel", grain=4)

    def _fill_plane(self) -> list[Operation]:
        """Every phase of every channel, row by row; what follows the last row is zeros, for whole
        vectors read it."""
        channels = Axis(
            [f"c{k}" for k in range(len(self.image.channels.names))], self.image.channels.extents
        )
        channel, last = channels.flat(), self.image.dims[-1]
        here = {n: var(f"c{k}") for k, n in enumerate(self.image.channels.names)}
        body: list[Operation] = []
        for number, (phase, taps) in enumerate(self._phases()):
            place, values = const(0), dict(here)
            for t, (dim, pitch) in enumerate(zip(self.image.dims, self.pitches, strict=True)):
                position = var(f"a{number}_{t}")
                place = place + mul(position, pitch)
                tap = taps[t]
                values[dim.column] = position - tap * dim.dilation // dim.stride
                if dim.tap:
                    values[dim.tap] = const(tap)
            store = StoreOp("plane", [channel, const(phase), place], at(self.p.y, values))
            inner = ForOp(f"a{number}_{len(self.image.dims) - 1}", last.extent, [store])
            nest = vectorize_map(inner, self.lanes)
            for t in reversed(range(len(self.image.dims) - 1)):
                nest = [ForOp(f"a{number}_{t}", self.image.dims[t].extent, nest)]
            end = mul(self.image.dims[0].extent, self.pitches[0]) + var(f"z{number}")
            clear = StoreOp("plane", [channel, const(phase), end], const(0, self.dtype))
            body += [*nest, ForOp(f"z{number}", self.tile.columns, [clear], "vector")]
        return loops_around(channels, body, least=2)

    def _phases(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(number of the phase, a tap of each dimension that reads it)."""
        for chosen in cartesian(*(d.phases().items() for d in self.image.dims)):
            number = 0
            for dim, (phase, _) in zip(self.image.dims, chosen, strict=True):
                number = number * dim.stride + phase
            yield number, tuple(tap for _, tap in chosen)

    # -- the product -------------------------------------------------------------------------

    def _blocks(self) -> Operation:
        size, block = self.image.dims[0].size, const(self.block)
        first = var("hb") * self.block
        rows = block
        if (count := known(size)) is None or count % self.block:
            rows = binary("min", block, size - first)
        # One block leaves the threads to the row panels.
        kind = "serial" if self.blocks.is_int(1) else "parallel"
        inner = "serial" if kind == "parallel" else "parallel"
        start = mul(first, self.pitches[0])
        panels = ForOp("jp", self._panels(rows), self._micro_kernel(start))
        body = [
            AllocOp(self.sums, "stack"),
            ForOp("iq", self.panels_m, [panels], inner, grain=1 if inner == "parallel" else None),
            *self._results(first, rows),
        ]
        return ForOp("hb", self.blocks, body, kind, grain=1 if kind == "parallel" else None)

    def _micro_kernel(self, first: Expr) -> list[Operation]:
        """One tile of the block whose columns start at `first`."""
        tile = make_buffer("tile", self.dtype, [self.tile.rows, self.tile.columns])
        phase, shift = const(0), const(0)
        for dim, pitch in zip(self.image.dims, self.pitches, strict=True):
            own_phase, own_shift = dim.place_of(var(dim.tap)) if dim.tap else (const(0),) * 2
            phase = phase * dim.stride + own_phase
            shift = shift + mul(own_shift, pitch)
        column = var("jp") * self.tile.columns
        k = self.p.depth.flat()
        a = load("xp", [var("iq"), k, var("i1")], self.dtype)
        position = first + column + shift + var("j1")
        b = load("plane", [self.image.channels.flat(), phase, position], self.dtype)
        step: list[Operation] = [UpdateOp("tile", [var("i1"), var("j1")], "add", a * b)]
        taps: list[Operation] = [self._each("1", step)]
        for name, extent in reversed(
            list(zip(self.p.depth.names, self.p.depth.extents, strict=True))
        ):
            taps = [ForOp(name, extent, taps, reduction=True)]
        row = var("iq") * self.tile.rows + var("i2")
        total = load("tile", [var("i2"), var("j2")], self.dtype)
        clear = StoreOp("tile", [var("i0"), var("j0")], const(0, self.dtype))
        return [
            AllocOp(tile, "reg"),
            self._each("0", [clear]),
            *taps,
            self._each("2", [StoreOp("sums", [row, column + var("j2")], total)]),
        ]

    def _each(self, suffix: str, body: list[Operation]) -> Operation:
        columns = ForOp(f"j{suffix}", self.tile.columns, body, "vector")
        return ForOp(f"i{suffix}", self.tile.rows, [columns], "unroll")

    # -- the results -------------------------------------------------------------------------

    def _results(self, first: Expr, rows: Expr) -> list[Operation]:
        """The epilogue of a block: `rows` output rows from `first` on."""
        names = ["hr", *(d.column for d in self.image.dims[1:])]
        sizes = [rows, *(d.size for d in self.image.dims[1:])]
        column = const(0)
        for name, pitch in zip(names, self.pitches, strict=True):
            column = column + mul(var(name), pitch)
        total = load("sums", [self.p.rows.flat(), column], self.dtype)
        target = self.p.target
        here = substituting({self.image.dims[0].column: first + var("hr")})

        def summed(e: Expr) -> Expr:
            return replace_loads(here(e), lambda n: total if n.value == target.buffer else None)

        stores: list[Operation] = [
            StoreOp(s.buffer, [here(i) for i in s.indices], summed(s.value))
            for s in self.p.epilogue
        ] or [StoreOp(target.buffer, [here(i) for i in target.indices], total)]
        nest = vectorize_map(ForOp(names[-1], sizes[-1], stores), self.lanes)
        for name, size in reversed(list(zip(names[:-1], sizes[:-1], strict=True))):
            nest = [ForOp(name, size, nest)]
        return loops_around(self.p.rows, nest, least=2)
