"""The image that a convolution reads, and the plane it is copied to.

The plane holds the image with its border of zeros, `pitch` elements a row; a stride cuts it into
one plane per phase. In it, what one tap reads for all output pixels is a shift.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import reduce
from itertools import product as cartesian
from math import gcd, prod

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, mul, var
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.rewriting import walk
from tensorscript.dialects.te.vocabulary import COMPARISONS

from ..te.affine import coefficient, known
from ..te.lanes import vectorize_map
from .contraction_shape import Axis, Product, at
from .contraction_tile import loops_around

MOST_PHASES = 16


@dataclass(frozen=True)
class Dim:
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
        return self.reach(self.size)

    def reach(self, count: Expr) -> Expr:
        """Positions of one phase that so many neighbouring outputs read."""
        return count + (self.taps - 1) * self.dilation // self.stride

    @property
    def period(self) -> int:
        """A tap and the one so many after it are of one phase."""
        return self.stride // gcd(self.stride, self.dilation)

    @property
    def phased_tap(self) -> Expr:
        """The tap that the two loops of `loops` stand at."""
        return var(f"{self.tap}_turn") * self.period + var(f"{self.tap}_first")

    @property
    def turns(self) -> int:
        """Taps of the first phase."""
        return -(-self.taps // self.period)

    @property
    def numbers_taps(self) -> bool:
        """Whether all phases have as many taps as the first, the last one perhaps fewer, so that
        `tap_number` counts through them without a gap."""
        return self.taps < self.period or self.taps % self.period in (0, self.period - 1)

    @property
    def tap_number(self) -> Expr:
        """How many taps the two loops of `loops` have been at before."""
        return var(f"{self.tap}_first") * self.turns + var(f"{self.tap}_turn")

    def numbered_tap(self, number: Expr) -> Expr:
        """The tap that so many are visited before."""
        return number % self.turns * self.period + number // self.turns

    def loops(self) -> list[tuple[str, Expr]]:
        """Names and extents of loops over all taps: over those of a phase (inside), and over the
        first ones of each."""
        count = (self.taps - 1 - var(f"{self.tap}_first")) // self.period + 1
        firsts = const(min(self.period, self.taps))
        return [(f"{self.tap}_turn", count), (f"{self.tap}_first", firsts)]

    def place_of(self, phased: bool) -> tuple[Expr, Expr]:
        """(phase, shift within it) of the tap that one loop over taps stands at, or two."""
        if not self.tap:
            return const(0), const(0)
        turn = var(f"{self.tap}_turn") if phased else const(0)
        first = var(f"{self.tap}_first" if phased else self.tap) * self.dilation
        later = turn * (self.period * self.dilation // self.stride)
        if self.stride == 1:
            return const(0), first + later
        return first % self.stride, first // self.stride + later

    def phases(self) -> dict[int, int]:
        """Phase to the first tap that reads it."""
        found: dict[int, int] = {}
        for tap in range(self.taps):
            found.setdefault(tap * self.dilation % self.stride, tap)
        return found


@dataclass(frozen=True)
class Image:
    """The image of a convolution: spatial dimensions in the order of the column loops."""

    dims: tuple[Dim, ...]
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
        return prod(dim.stride for dim in self.dims)

    @property
    def pixels(self) -> Expr:
        """Of the output."""
        return reduce(mul, (dim.size for dim in self.dims))

    def phases(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """(number of the phase, a tap of each dimension that reads it)."""
        for chosen in cartesian(*(d.phases().items() for d in self.dims)):
            number = 0
            for dim, (phase, _) in zip(self.dims, chosen, strict=True):
                number = number * dim.stride + phase
            yield number, tuple(tap for _, tap in chosen)

    def tap_place(self, phased: Collection[str]) -> tuple[Expr, Expr]:
        """(phase, shift in its plane) of the taps that the loops stand at, those over the taps
        `phased` being two each."""
        phase, shift = const(0), const(0)
        for dim, pitch in zip(self.dims, self.pitches, strict=True):
            own_phase, own_shift = dim.place_of(dim.tap in phased)
            phase = phase * dim.stride + own_phase
            shift = shift + mul(own_shift, pitch)
        return phase, shift


def image_of(p: Product) -> Image | None:
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
    if any(sum(tap in i.free for i in reads[0].args) > 1 for tap in taps - {""}):
        return None
    spatial = [d for d in dims if d.taps > 1 or d.stride > 1]
    if not spatial or not all(_depends_on_position(y, d) for d in dims):
        return None
    found = Image(tuple(dims), channels)
    return found if found.phase_count <= MOST_PHASES else None


def _dim(index: Expr, column: str, size: Expr, p: Product) -> Dim | None:
    stride = coefficient(index, column)
    taps = [n for n in p.depth.names if n in index.free]
    others = [n for n in p.columns.names if n in index.free and n != column]
    if stride is None or not stride.is_const or len(taps) > 1 or others:
        return None
    step = int(str(stride))
    if step < 1:
        return None
    if not taps:
        return Dim(column, size, step, "", 1, 1)
    dilation = coefficient(index, taps[0])
    count = known(p.depth.extents[p.depth.names.index(taps[0])])
    if dilation is None or not dilation.is_const or count is None or int(str(dilation)) < 1:
        return None
    return Dim(column, size, step, taps[0], count, int(str(dilation)))


def _depends_on_position(y: Expr, dim: Dim) -> bool:
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
    """The indices and the compared positions of a read, guarded or not, converted or not; of
    another expression the whole, which is affine in nothing."""
    read, conditions = y, []
    if y.op == "select" and y.args[2].is_const:
        conditions, read = [y.args[0]], y.args[1]
    while read.op == "cast":
        (read,) = read.args
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


def fill_plane(
    product: Product, image: Image, slack: int, lanes: int, first: Expr, rows: Expr
) -> list[Operation]:
    """Statements that fill the buffer `plane[channel, phase, position]`.

    Every phase of every channel, row by row, for `rows` rows of the output from `first` on; the
    `slack` positions after the last row are zeros, for whole vectors read them.
    """
    channels = Axis([f"c{k}" for k in range(len(image.channels.names))], image.channels.extents)
    channel, last = channels.flat(), len(image.dims) - 1
    here = {n: var(f"c{k}") for k, n in enumerate(image.channels.names)}
    starts = [first, *(const(0) for _ in image.dims[1:])]
    extents = [image.dims[0].reach(rows), *(dim.extent for dim in image.dims[1:])]
    body: list[Operation] = []
    for number, (phase, taps) in enumerate(image.phases()):
        place, values = const(0), dict(here)
        for t, (dim, pitch) in enumerate(zip(image.dims, image.pitches, strict=True)):
            position = var(f"a{number}_{t}")
            place = place + mul(position, pitch)
            tap = taps[t]
            values[dim.column] = starts[t] + position - tap * dim.dilation // dim.stride
            if dim.tap:
                values[dim.tap] = const(tap)
        store = StoreOp("plane", [channel, const(phase), place], at(product.y, values))
        inner = ForOp(f"a{number}_{last}", extents[last], [store])
        nest = vectorize_map(inner, lanes)
        for t in reversed(range(last)):
            nest = [ForOp(f"a{number}_{t}", extents[t], nest)]
        end = mul(extents[0], image.pitches[0]) + var(f"z{number}")
        clear = StoreOp("plane", [channel, const(phase), end], const(0, product.target.value.dtype))
        body += [*nest, ForOp(f"z{number}", slack, [clear], "vector")]
    return loops_around(channels, body, least=2)
