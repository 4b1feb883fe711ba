"""Products of narrow numbers, several steps of the depth at once.

```
tile[i, j] += xp[i, 2 k] * yp[k, j, 0] + xp[i, 2 k + 1] * yp[k, j, 1]
```
CPUs multiply 32 bits of each factor, number by number, into one 32-bit sum, in one instruction of
every lane (`backends/llvm/emit_groups.py`): pairs of bfloat16, pairs of 16-bit integers, quads of
bytes. The columns are packed so that the numbers of a group lie side by side; rows are copied as
they are, for a group of theirs is one 32-bit number for all lanes.

Of the bytes of a quad one factor has a sign and the other has none. Where both or none have one, x
is packed with its highest bit turned over, which moves it by 128, and the sums start at what that
moves them by, for a column of y:

```
sum of x * y = sum of (x + 128) * y - 128 * sum of y        both with a sign
sum of x * y = sum of (x - 128) * y + 128 * sum of y        both without
```
Sums wrap around at 32 bits, so this is exact. Without that instruction bytes are widened to pairs.

Rows may be the windows of an image whose channels lie last: a depth of several loops. They are then
copied tap by tap, all channels of a pixel or, beyond the border, what the factor has there.

The nest is otherwise that of `contraction.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bfloat16, float32, int8, int16, int32, uint8
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, make_buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, select, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, IfOp, LetOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, replaced, substitute, walk

from ..te.affine import all_buffers, coefficient, flat_index, known
from ..te.lanes import vectorize_map
from .contraction import BlockedProduct
from .contraction_group_columns import GroupPacker
from .contraction_shape import SUM_DTYPES, Axis, Product, Spots, made_of, memory_of, product_of
from .contraction_tile import Blocking, ceil_div

_PAIRS = {bfloat16: bfloat16, **dict.fromkeys((int8, uint8, int16), int16)}
_QUADS = {int8: int8, uint8: uint8}
PACKED: dict[int, dict[DType, DType]] = {2: _PAIRS, 4: _QUADS}
"""Numbers of a group to the dtype of a factor to that which is packed."""
SUMS: dict[DType, DType] = {bfloat16: float32, **dict.fromkeys((int16, int8, uint8), int32)}
"""Packed dtype to that of the sums."""
PAD = 64
"""Bytes between rows of a panel: rows a power of two apart meet in one set of the cache."""
LEAST_ROWS_BY_SQUARES, LEAST_ROWS_ACROSS = 8, 256
"""Packing columns that lie across memory repays for so many rows: by squares of groups, or, where
numbers are converted on the way, an element at a time."""
TOP_BIT = 128


@dataclass(frozen=True)
class GroupedProduct:
    """A product of narrow factors.

    Attributes:
        count: steps of the depth that one instruction takes.
        x, y: the factors as they are packed.
        start: of the sums, times the sum of a column of y.
        across: memory runs along the depth in y, not along the columns.
        windows: the rows of x are windows of an image; y is of constants.
    """

    product: Product
    count: int
    x: Expr
    y: Expr
    start: int
    across: bool
    windows: bool = False

    @property
    def by_squares(self) -> bool:
        """Groups of y are packed as they lie together in memory."""
        return self.across and self.y.op == "load"

    @property
    def instruction(self) -> DType:
        """What the machine has to multiply groups of: bytes are `uint8`, for one factor is."""
        return uint8 if self.x.dtype is not self.y.dtype else self.x.dtype


def _packed(factor: Expr, sums: DType, count: int) -> Expr | None:
    """The narrow number that a factor is the conversion of."""
    inner = _unconverted(factor)
    packed = PACKED[count].get(inner.dtype)
    return None if packed is None or SUMS[packed] is not sums else cast(inner, packed)


def _unconverted(factor: Expr) -> Expr:
    """What a factor is made of, or a zero beyond the border of an image, before its conversion."""
    if factor.op == "cast":
        return factor.args[0]
    if factor.op == "select" and factor.args[1].op == "cast":
        guard, inside, border = factor.args
        (inner,) = inside.args
        if border.is_const and border.value == 0:
            return select(guard, inner, const(0, inner.dtype))
    return factor


def _of_two_signs(x: Expr, y: Expr) -> tuple[Expr, int]:
    """x with the sign that bytes y do not have, and where sums start, in sums of columns of y."""
    if x.dtype is not y.dtype:
        return x, 0
    moved = binary("xor", cast(x, uint8), const(TOP_BIT, uint8))
    return (moved, -TOP_BIT) if x.dtype is int8 else (cast(moved, int8), TOP_BIT)


def grouped_product(func: FuncOp, count: int, any_signs: bool = False) -> GroupedProduct | None:
    """The product that a function computes, in groups of `count` (2 or 4) steps of the depth; None
    if it has another form."""
    product = product_of(func)
    return None if product is None else as_groups(product, count, all_buffers(func), any_signs)


def as_groups(
    p: Product, count: int, buffers: Mapping[str, Buffer], any_signs: bool = False
) -> GroupedProduct | None:
    """A product of known depth in groups; None if no instruction takes so many of its factors.

    Args:
        any_signs: both bytes of a product may have a sign, or neither; else it is one of them.
    """
    sums = SUM_DTYPES[p.target.value.dtype]
    x, y = _packed(p.x, sums, count), _packed(p.y, sums, count)
    if x is None or y is None or known(p.depth.size) is None:
        return None
    start = 0
    if count == 4 and not any_signs:
        x, start = _of_two_signs(x, y)
    elif x.dtype is not y.dtype and not any_signs:
        return None
    windows = len(p.depth.names) > 1
    if windows:
        return _of_windows(GroupedProduct(p, count, x, y, start, True, True), buffers)
    (depth,) = p.depth.names
    steps = []
    for e, axis in ((p.x, p.rows), (p.y, p.columns)):
        if (at := memory_of(e)) is None:
            return None
        position = flat_index(buffers[str(at.value)], at.args)
        steps.append(coefficient(position, depth))
        if not axis.is_even(position):
            return None
    if any(step is None for step in steps) or not steps[0].is_int(1):  # type: ignore[union-attr] # see any
        return None
    across = steps[1].is_int(1)  # type: ignore[union-attr] # see any
    return GroupedProduct(p, count, x, y, start, across)


def _of_windows(form: GroupedProduct, buffers: Mapping[str, Buffer]) -> GroupedProduct | None:
    """The product, if the channels of a window's pixels follow one another, all there or none."""
    channel, read = form.product.depth.names[-1], loads(form.x)
    if len(read) != 1 or len(form.product.columns.names) != 1 or form.product.batch.names:
        return None
    step = coefficient(flat_index(buffers[str(read[0].value)], read[0].args), channel)
    guards = [n.args[0] for n in walk(form.x) if n.op == "select"]
    whole = len(guards) <= 1 and not any(channel in guard.free for guard in guards)
    even = step is not None and step.is_int(1)
    return form if even and whole and memory_of(form.y) is not None else None


def worth_grouping(form: GroupedProduct, fixed: frozenset[str]) -> bool:
    """Packing the columns is quick, done once for constants, or repaid by many rows."""
    if form.windows:
        return made_of(form.product.y, fixed)
    rows = known(form.product.rows.size)
    least = LEAST_ROWS_BY_SQUARES if form.by_squares else LEAST_ROWS_ACROSS
    many = rows is not None and rows >= least
    return many or not form.across or made_of(form.product.y, fixed)


def _chosen(e: Expr, guard: Expr, side: int) -> Expr:
    """An expression where a condition holds (1), or where it does not (2)."""
    return replaced(e, guard, guard.args[side])


class GroupsProduct(BlockedProduct):
    """Writes the blocked nest of one product of groups, of known depth."""

    packs_batches = False

    def __init__(
        self, func: FuncOp, form: GroupedProduct, blocking: Blocking, dtype: DType, whole: bool
    ) -> None:
        # A block has as many instructions as one of numbers that are as wide as the sums.
        # Windows are copied whole.
        most = known(form.product.depth.size) or 0
        steps = most if form.windows else blocking.depth * form.count
        blocking = replace(blocking, depth=steps)
        self.form = form
        super().__init__(func, form.product, blocking, dtype, whole)
        tile = self.tile
        panels, depth, _ = self.xp.shape
        pad = PAD // form.x.dtype.itemsize
        stride = ceil_div(depth, pad) * pad + pad
        self.xp = make_buffer("xp", form.x.dtype, [panels, tile.rows, stride])
        kept, depth, _ = self.yp.shape
        groups = ceil_div(depth, self.step) * (self.step // self.count)
        self.yp = make_buffer("yp", form.y.dtype, [kept, groups, tile.columns, self.count])
        self.starts = make_buffer("starts", dtype, [kept, tile.columns])

    def _plain(self) -> frozenset[str]:
        return frozenset()

    def _at(self, e: Expr, axis: Axis, index: Expr, k: Expr) -> Expr:
        return Spots(self.buffers, ((axis, index), (self.p.depth, k))).expression(e)

    @property
    def count(self) -> int:
        """Numbers of a group."""
        return self.form.count

    @property
    def step(self) -> int:
        """Numbers of the depth that a tile takes at a time."""
        return self.count

    @property
    def is_padded(self) -> bool:
        """The last step has fewer numbers; 0 are the others."""
        return (known(self.k) or 0) % self.step != 0

    @property
    def turns(self) -> Expr:
        """Steps of a tile over a block of the depth."""
        return ceil_div(self.depth_extent(), self.step)

    @property
    def most_turns(self) -> Expr:
        return ceil_div(self.depth_block, self.step)

    # --- columns

    def pack_all_y(self) -> Operation:
        packer, panel = self.group_packer, var("jp")
        if self.form.across:
            squares = self.pack_panel(panel, panel, const(0), self.k)
            return self.shared_packing("jp", self.panels_n, squares, self.n, 2)
        groups = packer.padded(self.k)
        return self.by_strips(
            groups, lambda start, end: [packer.groups(("yp", panel, panel, const(0)), start, end)]
        )

    def pack_panel(self, panel: Expr, slot: Expr, first: Expr, depth: Expr) -> list[Operation]:
        return self.group_packer.panel("yp", slot, panel, first, depth)

    @property
    def group_packer(self) -> GroupPacker:
        """Of the columns."""
        p, form = self.p, self.form
        return GroupPacker(
            form.y, p.columns, p.depth, self.buffers, self.tile, self.count, form.by_squares,
            self.step,
        )  # fmt: skip

    def y_for_all(self) -> list[Operation]:
        packing = super().y_for_all()
        if not self.form.start:
            return packing
        panel = var("js")
        sums = self.shared_packing(
            "js", self.panels_n, self._column_sums(panel, panel, const(0), self.k), self.n, 2
        )
        return [*packing, AllocOp(self.starts, "stack"), sums]

    def y_for_task(self) -> list[Operation]:
        starts = [AllocOp(self.starts, "stack")] if self.form.start else []
        return [*super().y_for_task(), *starts]

    def y_for_tiles(self) -> list[Operation]:
        packing = super().y_for_tiles()
        if not self.form.start:
            return packing
        block = self.first_k, self.depth_extent()
        return [*packing, *self._column_sums(var("jq"), const(0), *block)]

    def _column_sums(self, panel: Expr, slot: Expr, first: Expr, depth: Expr) -> list[Operation]:
        """Fill `starts[slot]` from `depth` steps of a column panel from `first` on."""
        columns = self.tile.columns
        value = self.group_packer.value(panel * columns + var("jw"), first + var("ks"))
        add = UpdateOp("total", [var("jw")], "add", cast(value, self.dtype))
        total = load("total", [var("jx")], self.dtype) * const(self.form.start, self.dtype)
        clear = StoreOp("total", [var("ju")], const(0, self.dtype))
        return [
            AllocOp(make_buffer("total", self.dtype, [columns]), "reg"),
            ForOp("ju", columns, [clear], "vector"),
            ForOp("ks", depth, [ForOp("jw", columns, [add], "vector")], reduction=True),
            ForOp("jx", columns, [StoreOp("starts", [slot, var("jx")], total)], "vector"),
        ]

    def first_sum(self, column: Expr) -> Expr:
        """What is packed for all tasks has the sums of whole columns, which the first block of the
        depth takes."""
        none = super().first_sum(column)
        if not self.form.start:
            return none
        start = load("starts", [self.y_slot, column], self.dtype)
        if self.single or self.plan.y != "before":
            return start
        return select(binary("eq", var("kb"), 0), start, none)

    @property
    def first_group(self) -> Expr:
        """Of a block of the depth, in what is packed of the columns."""
        return self.first_k // self.count if self.plan.y == "before" else const(0)

    def packed_column(self, slot: Expr, column: Expr, number: int = 0) -> Expr:
        """One number of a group."""
        place = [slot, self.first_group + var("kt"), column, const(number)]
        return load("yp", place, self.form.y.dtype)

    # --- rows

    def pack_all_x(self) -> Operation:
        rows = self._copy_rows(var("ip"), var("ip"), const(0), self.k)
        return self.shared_packing("ip", self.panels_m, [rows], self.m, 4)

    def pack_x(self) -> Operation:
        panel, extent = self.first_panel + var("ip"), self.depth_extent()
        rows = self._copy_rows(panel, var("ip"), self.first_k, extent)
        return ForOp("ip", self.panels_here(), [rows])

    def _copy_rows(self, panel: Expr, slot: Expr, first: Expr, depth: Expr) -> Operation:
        """A panel of rows; beyond the last row it is copied again, and not stored."""
        if self.form.windows:
            return self._copy_windows(panel, slot)
        row = binary("min", panel * self.tile.rows + var("iw"), self.m - 1)
        k = first + var("kw")
        value = self._at(self.form.x, self.p.rows, row, k)
        if self.is_padded:
            depth = ceil_div(depth, self.step) * self.step
            value = select(k < self.k, value, const(0, value.dtype))
        copy = ForOp("kw", depth, [StoreOp("xp", [slot, var("iw"), var("kw")], value)])
        lanes = self.count * self.tile.lanes
        return ForOp("iw", self.tile.rows, vectorize_map(copy, lanes))

    def _copy_windows(self, panel: Expr, slot: Expr) -> Operation:
        """The same where each row is a window: the pixels of its taps, one after the other."""
        *taps, channel = zip(self.p.depth.names, self.p.depth.extents, strict=True)
        row = binary("min", panel * self.tile.rows + var("iw"), self.m - 1)
        digits = self.p.rows.unflatten(row)
        lets = [LetOp(f"{name}_w", digit) for name, digit in digits.items()]
        values = {name: var(f"{name}_w") for name in digits} | {channel[0]: var("kw")}
        tap = const(0)
        for number, (name, extent) in enumerate(taps):
            values[name] = var(f"kt{number}")
            tap = tap * extent + values[name]

        def copied(e: Expr) -> list[Operation]:
            at_channel = [slot, var("iw"), tap * channel[1] + var("kw")]
            store = StoreOp("xp", at_channel, substitute(e, values))
            return vectorize_map(ForOp("kw", channel[1], [store]), self.count * self.tile.lanes)

        guards = [n for n in walk(self.form.x) if n.op == "select"]
        pixel = copied(self.form.x)
        if guards:
            (guard,) = guards
            inside, border = (_chosen(self.form.x, guard, k) for k in (1, 2))
            there = substitute(guard.args[0], values)
            pixel = [IfOp(there, copied(inside), copied(border))]
        for number, (_, extent) in reversed(list(enumerate(taps))):
            pixel = [ForOp(f"kt{number}", extent, pixel)]
        body: list[Operation] = [*lets, *pixel]
        rest = -(known(self.k) or 0) % self.step
        if rest:
            last = [slot, var("iw"), self.k + var("kz")]
            body.append(ForOp("kz", rest, [StoreOp("xp", last, const(0, self.form.x.dtype))]))
        return ForOp("iw", self.tile.rows, body)

    # --- tiles

    def _fetch_rows(self) -> list[Operation]:
        """Each row of a panel lies on its own: a processor fetches its next line by itself."""
        return []

    def steps(self) -> tuple[Expr, Expr]:
        start = self.first_k if self.plan.x == "before" else const(0)
        total: Expr | None = None
        for u in range(self.count):
            k = start + var("kt") * self.count + u
            a = load("xp", [self.x_slot, var("i2t"), k], self.form.x.dtype)
            b = self.packed_column(self.y_slot, var("j2t"), u)
            term = cast(a, self.dtype) * cast(b, self.dtype)
            total = term if total is None else total + term
        assert total is not None
        return self.turns, total


def blocked_groups(
    kind: type[GroupsProduct],
    func: FuncOp,
    form: GroupedProduct,
    blocking: Blocking,
    whole: bool = False,
) -> list[Operation]:
    """The blocked nest of a product of groups.

    Args:
        kind: what writes it, for vectors or for a matrix unit.
        whole: pack all columns before, even where every panel is used by one task only.
    """
    sums = SUM_DTYPES[form.product.target.value.dtype]
    return kind(func, form, blocking, sums, whole).build()
