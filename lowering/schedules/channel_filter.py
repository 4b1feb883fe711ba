"""Convolutions of each channel by itself whose channels lie last in memory.

```
for each row of pixels (parallel), for each run of pixels, for each panel of channels:
    tile[pixels][channels] in registers += x[what the tap sees of a pixel][..] * w[tap][..]
                                           over all taps
    y[row, run, panel] = epilogue(tile)
```
A run takes a weight from memory once for all its pixels, and an element of the image once for all
the taps of a row that see it. The first and the last run of a row are written apart: between them
no tap leaves the image to the side. Of a width that the program finds each run asks, and the last
one is moved back to where the row ends.
"""

from __future__ import annotations

from itertools import product
from math import prod

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import (
    Expr,
    all_of,
    binary,
    conjuncts,
    const,
    load,
    select,
    sub,
    var,
)
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, IfOp, LetOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, replace_loads
from tensorscript.dialects.te.vocabulary import COMPARISONS

from ..te.affine import all_buffers, coefficient, flat_index, known
from .contraction_shape import Axis, at, epilogue_of, perfect_loops, reduction_in
from .work import UNKNOWN_SIZE

MOST_PIXELS = 8
"""Of a run."""
FOUND_PIXELS = 4
"""Of a run, where the program finds how many pixels a row has."""
MOST_SUMS = {64: 14, 32: 7, 16: 7}
"""Vectors of a tile by vector bytes: those of a row of taps are half of the registers."""
MOST_TAPS = 25
"""Taps written out one after the other; of larger windows the columns are."""
MOST_STEPS = 256
"""Of a sum; a longer one is no window."""
ROW_WORK = 1 << 15
"""Multiply-adds that repay the start of a thread's task."""


@dataclass(frozen=True)
class ChannelFilter:
    """y = epilogue(sum over taps of value), at rows of pixels of channels.

    Attributes:
        rows: the loops around the pixels of a row.
        pixels, channels: loop variables.
        size, count: extents of these.
    """

    rows: Axis
    pixels: str
    size: Expr
    channels: str
    count: int
    taps: Axis
    target: UpdateOp
    epilogue: list[StoreOp]

    @property
    def width(self) -> int | None:
        """Pixels of a row, None where the program finds how many."""
        return known(self.size)

    def tile(self, vector_bytes: int) -> tuple[int, int, int]:
        """Pixels, vectors and lanes of a tile."""
        lanes = vector_bytes // self.target.value.dtype.itemsize
        most = MOST_SUMS.get(vector_bytes, 7)
        width = self.width or FOUND_PIXELS
        pixels = max(n for n in range(1, min(MOST_PIXELS, most) + 1) if width % n == 0)
        vectors = 2 if 2 * pixels <= most and self.count % (2 * lanes) == 0 else 1
        return pixels, vectors, lanes


def channel_filter(func: FuncOp) -> ChannelFilter | None:
    """The convolution by channel that a function computes, None if it is none of that layout."""
    loops, body = perfect_loops(func)
    if len(loops) < 2 or (found := reduction_in(body)) is None:
        return None
    taps, update = found
    *rows, pixels, channels = loops
    count = known(channels.extent)
    sizes = [known(tap.extent) for tap in taps]
    if (
        pixels.extent.is_int(0)
        or not count
        or prod(n or MOST_STEPS + 1 for n in sizes) > MOST_STEPS
    ):
        return None
    if not update.value.dtype.is_floating_point or update.value.op != "mul":
        return None
    if not _lies_last(func, update.value, channels.var):
        return None
    if (epilogue := epilogue_of(body, update.buffer)) is None:
        return None
    axes = (Axis([f.var for f in group], [f.extent for f in group]) for group in (rows, taps))
    outer, window = axes
    return ChannelFilter(
        outer, pixels.var, pixels.extent, channels.var, count, window, update, epilogue
    )  # fmt: skip


def _lies_last(func: FuncOp, value: Expr, channels: str) -> bool:
    """Both factors read memory along the channels, and only there."""
    buffers = all_buffers(func)
    for factor in value.args:
        reads = loads(factor)
        if len(reads) != 1:
            return False
        (read,) = reads
        step = coefficient(flat_index(buffers[str(read.value)], read.args), channels)
        if step is None or not step.is_int(1):
            return False
        if factor.op == "select" and channels in factor.args[0].free:
            return False
    return True


def fits(form: ChannelFilter, vector_bytes: int) -> bool:
    """Whether the channels fill whole vectors."""
    lanes = vector_bytes // form.target.value.dtype.itemsize
    return form.count % lanes == 0


def filtered_channels(func: FuncOp, form: ChannelFilter, vector_bytes: int) -> list[Operation]:
    """The nest of a convolution by channel."""
    work = (
        (form.width or UNKNOWN_SIZE) * form.count * prod(known(e) or 1 for e in form.taps.extents)
    )
    return over_rows(form.rows, filtered_row(form, vector_bytes), work)


def filtered_row(form: ChannelFilter, vector_bytes: int) -> list[Operation]:
    """The runs of pixels of one row."""
    pixels, vectors, lanes = form.tile(vector_bytes)
    columns = vectors * lanes
    if form.width is None:
        return _found_runs(form, pixels, columns)
    runs = form.width // pixels

    def run(number: Expr, suffix: str) -> Operation:
        tile = _tile(form, number * pixels, suffix, pixels, columns)
        return ForOp(f"cb{suffix}", form.count // columns, tile)

    body: list[Operation] = [run(const(0), "f")]
    if runs > 2:
        body.append(ForOp("wb", runs - 2, [run(var("wb") + 1, "m")]))
    if runs > 1:
        body.append(run(const(runs - 1), "l"))
    return body


def _found_runs(form: ChannelFilter, pixels: int, columns: int) -> list[Operation]:
    """Those of a row of as many pixels as the program finds; of single ones where these are few."""

    def runs(pixels: int, suffix: str) -> Operation:
        start, first = var(f"first{suffix}"), var(f"wb{suffix}") * pixels
        named = LetOp(f"first{suffix}", binary("min", first, form.size - pixels))
        panels = form.count // columns
        inner: list[Operation] = [
            ForOp(f"cb{suffix}e", panels, _tile(form, start, f"{suffix}e", pixels, columns))
        ]
        if (inside := _sees_image(form, start, pixels)) is not None:
            tile = _tile(form, start, f"{suffix}i", pixels, columns, inside=True)
            inner = [IfOp(inside, [ForOp(f"cb{suffix}i", panels, tile)], inner)]
        return ForOp(f"wb{suffix}", (form.size + (pixels - 1)) // pixels, [named, *inner])

    return [IfOp(form.size >= pixels, [runs(pixels, "n")], [runs(1, "s")])]


def _sees_image(form: ChannelFilter, start: Expr, pixels: int) -> Expr | None:
    """What holds where no tap of a run leaves the image to the side; None if that is not known.
    A comparison of sums holds for all pixels and taps if it does for the first and last ones."""
    sides = [c for e in form.target.value.args for c in _sides(form, e)]
    corners: list[Expr] = []
    for c in sides:
        if c.op not in COMPARISONS or c.op in ("eq", "ne"):
            return None
        names = [form.pixels, *(n for n in form.taps.names if n in c.free)]
        if any(coefficient(sub(*c.args), n) is None for n in names):
            return None
        ends = [(start, start + (pixels - 1))]
        ends += [(const(0), form.taps.extents[form.taps.names.index(n)] - 1) for n in names[1:]]
        corners += [at(c, dict(zip(names, place, strict=True))) for place in product(*ends)]
    return all_of(corners)


def _sides(form: ChannelFilter, factor: Expr) -> list[Expr]:
    """The conditions on pixels under which a factor is read."""
    if factor.op != "select" or not factor.args[2].is_const or factor.args[2].value:
        return []
    return [c for c in conjuncts(factor.args[0]) if form.pixels in c.free]


def over_rows(rows: Axis, body: list[Operation], work: int) -> list[Operation]:
    """Loops around `body`, which is so many multiply-adds; the outermost is for threads if it is
    worth them."""
    for depth, (name, extent) in reversed(list(enumerate(rows.pairs))):
        turns = known(extent)
        several = turns is None or turns * work >= 2 * ROW_WORK
        grain = max(1, ROW_WORK // work) if depth == 0 and several else None
        body = [ForOp(name, extent, body, "serial" if grain is None else "parallel", grain=grain)]
        work *= turns or 1
    return body


def _tile(
    form: ChannelFilter, start: Expr, suffix: str, pixels: int, columns: int, inside: bool = False
) -> list[Operation]:
    """One tile: the run from a pixel on, the panel at `cb`; `inside`: no tap leaves the image to
    the side."""
    dtype, name = form.target.value.dtype, f"tile{suffix}"

    def here(e: Expr, stage: str) -> Expr:
        pixel = start + var(f"i{stage}{suffix}")
        channel = var(f"cb{suffix}") * columns + var(f"j{stage}{suffix}")
        return at(e, {form.pixels: pixel, form.channels: channel})

    def place(stage: str) -> list[Expr]:
        return [var(f"i{stage}{suffix}"), var(f"j{stage}{suffix}")]

    def over(stage: str, body: list[Operation]) -> Operation:
        inner = ForOp(f"j{stage}{suffix}", columns, body, "vector")
        return ForOp(f"i{stage}{suffix}", pixels, [inner], "unroll")

    total = load(name, place("2"), dtype)

    def summed(e: Expr) -> Expr:
        buffer = form.target.buffer
        return replace_loads(here(e, "2"), lambda n: total if n.value == buffer else None)

    value, rows = _without_rows(form, inside)
    step = UpdateOp(name, place("1"), "add", here(value, "1"))
    ends: list[Operation] = [
        StoreOp(s.buffer, [here(i, "2") for i in s.indices], summed(s.value)) for s in form.epilogue
    ] or [StoreOp(form.target.buffer, [here(i, "2") for i in form.target.indices], total)]
    return [
        AllocOp(make_buffer(name, dtype, [pixels, columns]), "reg"),
        over("0", [StoreOp(name, place("0"), const(0, dtype))]),
        *_over_taps(form, rows, [over("1", [step])]),
        over("2", ends),
    ]


def _without_rows(form: ChannelFilter, inside: bool) -> tuple[Expr, list[Expr]]:
    """What a tap adds where it sees a row of the image at all (and `inside` of that), and the
    conditions of that."""
    apart: list[Expr] = []
    factors = []
    for factor in form.target.value.args:
        if factor.op == "select" and factor.args[2].is_const and not factor.args[2].value:
            condition, read, zero = factor.args
            rows = [c for c in conjuncts(condition) if form.pixels not in c.free]
            apart += rows
            rest = [c for c in conjuncts(condition) if c not in rows and not inside]
            factor = select(all_of(rest), read, zero) if rest else read
        factors.append(factor)
    x, w = factors
    return x * w, apart


def _over_taps(form: ChannelFilter, rows: list[Expr], body: list[Operation]) -> list[Operation]:
    """The loops over taps, those of `rows` left out that see no row of the image."""
    sizes = [known(e) or 1 for e in form.taps.extents]
    for k in reversed(range(len(sizes))):
        if own := [c for c in rows if form.taps.names[k] in c.free]:
            body = [IfOp(all_of(own), body)]
            rows = [c for c in rows if c not in own]
        written_out = prod(sizes[k:]) <= MOST_TAPS
        kind = "unroll" if written_out else "serial"
        body = [ForOp(form.taps.names[k], sizes[k], body, kind, reduction=True)]
    return [IfOp(all_of(rows), body)] if rows else body
