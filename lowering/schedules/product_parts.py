"""Products of few rows whose readers take the columns by equal parts, as the gates of an LSTM.

```
for each panel of columns of a part (parallel):
    for each panel of rows, and each block of the depth:
        for each few parts:
            tile[MR][parts here * columns] in registers = X outer yp[k, :]     over the depth block
            parts[MR][all parts * columns] = (or +=) tile
    for each row of the panel: the readers, of these columns
```
A task has the same columns of every part, so that what reads the product runs where the product
is: there is one barrier, not two, and the columns of Y are packed in the order in which they are
read. The form is made by `lowering/tg/product_parts.py`. X is read as it lies where its rows
suit that (`contraction_plan.py`), else packed before the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    IfOp,
    PrefetchOp,
    StoreOp,
    UpdateOp,
)
from tensorscript.dialects.te.rewriting import loads, replace_loads, substitute

from ..te.affine import all_buffers, coefficient, known
from .contraction_columns import ColumnPacker
from .contraction_pack import RowPacker
from .contraction_plan import hides_fetching, lines, plain_factors
from .contraction_shape import LEAST_ROWS, Axis, Product, Spots, perfect_loops, product_in_row
from .contraction_tile import (
    DEPTH_BLOCK,
    LEAST_SUMS,
    TASKS,
    Tile,
    ceil_div,
    divides,
    repays_threads,
    tile_for,
)

EVEN_TASKS = 4
"""Panels are whole turns of so many threads, where that costs nothing."""


Reader = tuple[str, StoreOp]


@dataclass(frozen=True)
class ProductInParts:
    """A product and what reads it.

    Attributes:
        product: its columns are those of all parts; its epilogue is empty.
        count: of parts.
        width: columns of a part.
        readers: the column variable and the store of each.
        kept: temporaries of readers, a row of one part each.
    """

    product: Product
    count: int
    width: int
    readers: tuple[Reader, ...]
    kept: tuple[AllocOp, ...]


def product_in_parts(func: FuncOp) -> ProductInParts | None:
    """The form that a logical function has, None if it has another."""
    loops, body = perfect_loops(func)
    if len(body) < 3 or not isinstance(summed := body[0], AllocOp):
        return None
    rows = Axis([loop.var for loop in loops], [loop.extent for loop in loops])
    product = product_in_row(rows, body[1])
    if product is None or product.epilogue or product.target.buffer != summed.buffer.name:
        return None
    if known(rows.size) is None:
        return None
    readers = [_reader(op) for op in body[2:] if not isinstance(op, AllocOp)]
    kept = tuple(op for op in body[2:] if isinstance(op, AllocOp))
    found = [reader for reader in readers if reader is not None]
    widths = {width for width, _ in found}
    if len(found) < len(readers) or len(widths) != 1:
        return None
    width, whole = widths.pop(), known(product.columns.size) or 1
    pairs = tuple(pair for _, pair in found)
    if whole % width or not _read_here(pairs, product.target.buffer, width):
        return None
    return ProductInParts(product, whole // width, width, pairs, kept)


def has_few_rows(form: ProductInParts) -> bool:
    """Whether one panel of columns for all rows is a way to cut the work: of more rows each task
    has some (`product_rows.py`)."""
    return (known(form.product.rows.size) or LEAST_ROWS) < LEAST_ROWS


def _reader(op: Operation) -> tuple[int, Reader] | None:
    """How many columns a loop has, and what it stores for each."""
    inside = list(op.block.ops) if isinstance(op, ForOp) and not op.is_reduction else []
    if len(inside) != 1 or not isinstance(inside[0], StoreOp):
        return None
    assert isinstance(op, ForOp)
    width = known(op.extent)
    return None if width is None else (width, (op.var, inside[0]))


def _read_here(readers: tuple[Reader, ...], summed: str, width: int) -> bool:
    """Readers read the product whole parts away from their column, and each other in it."""
    written: dict[str, Reader] = {}
    for name, store in readers:
        for n in loads(store.value):
            if n.value == summed:
                start = known(substitute(n.args[-1], {name: const(0)}))
                step = coefficient(n.args[-1], name)
                if start is None or start % width or step is not const(1):
                    return False
            elif (made := written.get(str(n.value))) is not None:
                here = tuple(substitute(e, {made[0]: var(name)}) for e in made[1].indices)
                if here != n.args:
                    return False
        written[store.buffer] = name, store
    return True


@dataclass(frozen=True)
class PartsBlocking:
    """How such a product is blocked.

    Attributes:
        rows: of the register tile.
        columns: of a part in a tile.
        together: parts in a tile.
        lanes: of its vectors.
        depth: most steps of the depth between two visits of a tile.
    """

    rows: int
    columns: int
    together: int
    lanes: int
    depth: int


def parts_blocking(form: ProductInParts, vector_bytes: int) -> PartsBlocking:
    """The blocking for vectors of so many bytes."""
    tile = tile_for(form.product.target.value.dtype, vector_bytes, form.product.rows.size)
    cut = min(_cuts(form, tile), key=lambda c: (_cost(form, tile, *c), -c[0]))
    return PartsBlocking(tile.rows, *cut, tile.lanes, DEPTH_BLOCK)


def _cuts(form: ProductInParts, tile: Tile) -> Iterator[tuple[int, int]]:
    """(columns, together) that divide the parts and are no more than the tile's columns."""
    for together in range(1, form.count + 1):
        for columns in range(tile.lanes, tile.columns // together + 1, tile.lanes):
            if form.count % together == 0 and form.width % columns == 0:
                yield columns, together


def _cost(form: ProductInParts, tile: Tile, columns: int, together: int) -> float:
    """Cycles for each multiply-add of a vector, with those that threads wait."""
    vectors = columns * together // tile.lanes
    sums = tile.rows * vectors
    panels = form.width // columns
    waiting = -(-panels // EVEN_TASKS) * EVEN_TASKS / panels if _is_shared(form.product) else 1.0
    return waiting * max(1.0, (vectors + tile.rows) / sums, LEAST_SUMS / sums)


def _is_shared(product: Product) -> bool:
    return repays_threads(product.rows.size, product.columns.size, product.depth.size)


class _Parts:
    """Writes the nest of one product in parts."""

    def __init__(self, func: FuncOp, form: ProductInParts, blocking: PartsBlocking) -> None:
        self.form, self.p, self.blocking = form, form.product, blocking
        self.dtype = self.p.target.value.dtype
        self.columns, self.together = blocking.columns, blocking.together
        self.tile = Tile(blocking.rows, self.columns * self.together, blocking.lanes)
        self.buffers = all_buffers(func)
        self.m, self.k = self.p.rows.size, self.p.depth.size
        self.panels_m = ceil_div(self.m, self.tile.rows)
        self.panels = form.width // self.columns
        self.turns = form.count // self.together
        blocks = -(-(known(self.k) or 1) // blocking.depth)
        self.depth = ceil_div(self.k, blocks)
        self.depth_blocks = ceil_div(self.k, self.depth)
        self.x = RowPacker(
            self.p.x, self.p.rows, self.p.depth, self.buffers, self.dtype, self.tile.rows,
            self.tile.lanes,
        )  # fmt: skip
        self.y = ColumnPacker(
            self.p.y, self.p.columns, self.p.depth, self.buffers, self.dtype, self.tile
        )
        plain = plain_factors(
            self.p, self.buffers, self.tile, known(self.depth) or 0, known(self.panels_m) or 0
        )
        self.x_plain = "x" in plain
        slots = self.panels * self.turns
        self.yp = make_buffer("yp", self.dtype, [const(slots), self.k, self.tile.columns])
        self.xp = make_buffer("xp", self.dtype, [self.panels_m, self.k, self.x.width])
        self.parts = make_buffer("parts", self.dtype, [self.tile.rows, form.count * self.columns])

    def build(self) -> list[Operation]:
        before: list[Operation] = [AllocOp(self.yp, "stack"), self._pack_y()]
        if not self.x_plain:
            first = var("ip") * self.tile.rows
            panel = self.x.panel("xp", var("ip"), first, const(0), self.k)
            before += [AllocOp(self.xp, "stack"), ForOp("ip", self.panels_m, panel)]
        tiles = ForOp("gq", self.turns, self._micro_kernel())
        panel = [
            AllocOp(self.parts, "stack"),
            ForOp("kb", self.depth_blocks, [tiles]),
            self._read(),
        ]
        task = [ForOp("iq", self.panels_m, panel)]
        if _is_shared(self.p):
            grain = -(-self.panels // TASKS)
            return [*before, ForOp("jq", self.panels, task, "parallel", grain=grain)]
        return [*before, ForOp("jq", self.panels, task)]

    def _pack_y(self) -> Operation:
        part = var("jp") % self.turns * self.together + var("jg")
        place = var("jp") // self.turns * self.columns + var("jv")
        value = cast(self.y.value(part * self.form.width + place, var("kp")), self.dtype)
        lane = var("jg") * self.columns + var("jv")
        store = StoreOp("yp", [var("jp"), var("kp"), lane], value)
        lanes = ForOp("jv", self.columns, [store], "vector")
        steps = ForOp("kp", self.k, [ForOp("jg", self.together, [lanes], "unroll")])
        return ForOp("jp", self.panels * self.turns, [steps])

    def _over_tile(self, suffix: str, body: list[Operation]) -> Operation:
        columns = ForOp("j" + suffix, self.tile.columns, body, "vector")
        return ForOp("i" + suffix, self.tile.rows, [columns], "unroll")

    @property
    def _first_row(self) -> Expr:
        """Of a panel; the last one is moved back where X is read as it lies."""
        first = var("iq") * self.tile.rows
        if not self.x_plain or divides(self.m, self.tile.rows):
            return first
        return binary("min", first, self.m - self.tile.rows)

    def _micro_kernel(self) -> list[Operation]:
        tile = make_buffer("tile", self.dtype, [self.tile.rows, self.tile.columns])
        clear = StoreOp("tile", [var("i0t"), var("j0t")], const(0, self.dtype))
        k, slot = var("kb") * self.depth + var("kt"), var("jq") * self.turns + var("gq")
        if self.x_plain:
            a = self.x.value(self._first_row + var("i2t"), k)
        else:
            a = load("xp", [var("iq"), k, var("i2t")], self.dtype)
        b = load("yp", [slot, k, var("j2t")], self.dtype)
        step = UpdateOp("tile", [var("i2t"), var("j2t")], "add", a * b)
        steps = binary("min", self.depth, self.k - var("kb") * self.depth)
        body = [self._over_tile("2t", [step]), *self._fetch_next(slot + 1, k)]
        return [
            AllocOp(tile, "reg"),
            self._over_tile("0t", [clear]),
            ForOp("kt", steps, body, reduction=True),
            *self._keep(),
        ]

    def _fetch_next(self, slot: Expr, k: Expr) -> list[Operation]:
        """The next panel of columns comes into the second cache, row by row."""
        if not hides_fetching(self.tile, self.dtype):
            return []
        columns = lines(self.tile.columns, self.dtype)
        return [PrefetchOp(load("yp", [slot, k, const(j)], self.dtype)) for j in columns]

    def _keep(self) -> list[Operation]:
        """The tile becomes sums of its parts, or is added to them."""
        if self.depth_blocks.is_int(1):
            return [self._sums("1t", False)]
        first = binary("eq", var("kb"), 0)
        return [IfOp(first, [self._sums("1t", False)], [self._sums("3t", True)])]

    def _sums(self, suffix: str, more: bool) -> Operation:
        row, column = var("i" + suffix), var("j" + suffix)
        place = [row, var("gq") * self.tile.columns + column]
        total = load("tile", [row, column], self.dtype)
        if more:
            total = load("parts", place, self.dtype) + total
        return self._over_tile(suffix, [StoreOp("parts", place, total)])

    def _read(self) -> Operation:
        """The readers of the panel's columns, row by row."""
        row = self._first_row + var("ie")
        two = self.columns % (2 * self.tile.lanes) == 0
        strip = self.tile.lanes * (2 if two else 1)
        place = var("je") * strip + var("jv")
        stores = [self._reader(name, store, row, place) for name, store in self.form.readers]
        strips = ForOp("jv", strip, stores, "vector")
        kept = [AllocOp(op.buffer, op.scope.data) for op in self.form.kept]
        rows: list[Operation] = [*kept, ForOp("je", self.columns // strip, [strips])]
        if not divides(self.m, self.tile.rows):
            new = row >= var("iq") * self.tile.rows if self.x_plain else row < self.m
            rows = [IfOp(new, rows)]
        return ForOp("ie", self.tile.rows, rows)

    def _reader(self, name: str, store: StoreOp, row: Expr, column: Expr) -> StoreOp:
        """A reader at a row, and a column of the panel."""

        def through(n: Expr) -> Expr | None:
            if n.value != self.p.target.buffer:
                return None
            start = known(substitute(n.args[-1], {name: const(0)})) or 0
            first = start // self.form.width * self.columns
            return load("parts", [var("ie"), column + first], n.dtype)

        across = Axis([name], [const(self.form.width)])
        place = var("jq") * self.columns + column
        buffers = self.buffers | {"parts": self.parts}
        spots = Spots(buffers, ((self.p.rows, row), (across, place)))
        value = spots.expression(replace_loads(store.value, through))
        return StoreOp(store.buffer, spots.indices(store.buffer, store.indices), value)


def blocked_parts(func: FuncOp, form: ProductInParts, blocking: PartsBlocking) -> list[Operation]:
    """The nest of a product in parts."""
    dtype = form.product.target.value.dtype
    product = replace(form.product, x=cast(form.product.x, dtype), y=cast(form.product.y, dtype))
    return _Parts(func, replace(form, product=product), blocking).build()
