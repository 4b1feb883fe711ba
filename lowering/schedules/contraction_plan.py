"""How a product is cut into tasks, and who packs its factors.

A task is a block of rows times a run of column panels. Of packing each factor there are three ways:

| packing | a factor is | costs |
|---|---|---|
| none | read as it lies | nothing, if its rows do not push each other out of the cache |
| task | packed by each task, a block of the depth at a time | once per task that reads a part |
| before | packed before the tasks, by all threads | once; what another thread packed is far away |

Costs are in cycles per step of the depth, as measured for float32 on a Zen 4 core: they need not be
exact, for they only choose between ways that differ by much, and other dtypes and cores change all
of them alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr

from ..te.affine import coefficient, flat_index, known
from .contraction_shape import SUM_DTYPES, Axis, Product, made_of
from .contraction_tile import (
    FAR_BYTES,
    MOST_FAR_ROWS,
    Blocking,
    Tile,
    block_for,
    streamed_block_for,
)

Packing = Literal["none", "task", "before"]

LEAST_WORK = 1 << 15
"""Products below this many multiply-adds do not repay packing."""

LEAST_PLAIN_WORK = 1 << 13
"""The same where nothing is packed, for rows that share what they read."""


SUMS_BYTES = 5 << 17
"""Of the sums that a task goes over in each depth block: they stay in the second cache."""


@dataclass(frozen=True)
class Costs:
    """Of a way to multiply.

    Attributes:
        pack: an element.
        pack_rows: an element of the rows; it is turned, and lines of as many rows are waited for.
        leaving: of an element of the rows that is packed before the tasks, beside that, for it
            leaves the near caches.
        read: an element once more.
        far: an element that comes from beyond the second cache.
        share: of an element that another thread has packed.
        multiply: for an element of the output.
    """

    pack: float = 0.4
    pack_rows: float = 0.8
    leaving: float = 0.4
    read: float = 0.05
    far: float = 2.0
    share: float = 1.0
    multiply: float = 1 / 16


MOST_BLOCKS, LEAST_PANELS = 32, 4
"""Of rows, and the panels of each: the sums of a low block stay in the second cache over all
columns, so that its rows are not packed again for the next run of these."""
AWAY, READ_AWAY = 12 << 20, 1.0
"""Bytes of the rows that leave the last cache, too, if they are packed before the tasks, and what
it then costs to read an element of them: more than turning it again."""
SCATTERED = 0.02
"""Of an element of a column panel that is read as it lies, for each row panel."""
FAR_APART = 1 << 11, 0.05
"""The same where rows lie so many bytes apart, for each is in a page of its own."""
BARRIER = 5000
"""Of threads that wait for each other, in all."""
UNEVEN, SEVERAL_TASKS = 0.25, 16
"""How much of what blocks differ by remains, for every thread has several of them; of more tasks
than so many less does."""
ELEMENT = 4
"""Bytes of an element, as in all of these costs."""

LINE, L1_SETS, L2_SETS = 64, 64, 2048
"""Of the caches: bytes of a line, and the sets of them; each set has 8 lines."""
FETCHING = 8
"""Multiply-adds that hide the fetching of a line."""
MOST_WAYS = 7
MOST_ROW_WAYS = 5
"""Of a set of the first cache, for rows that are read as they lie beside packed columns."""
FEW_PANELS = 2
"""Row panels that read a factor so few times that it need not stay in a cache."""


def worth_blocking(product: Product, fixed: frozenset[str], buffers: dict[str, Buffer]) -> bool:
    """The product is large enough, and square enough, to repay packing; one with few rows is if its
    other factor is a constant, which is packed once (`prepack.py`), or lies along the columns, so
    that the rows share what is read of it."""
    sizes = [product.rows.size, product.columns.size, product.depth.size]
    rows, columns, depth = (int(str(s)) if s.is_const else 64 for s in sizes)
    work = rows * columns * depth
    if columns < 8 or work < LEAST_PLAIN_WORK:
        return False
    if rows >= 4 or made_of(product.y, fixed):
        return work >= LEAST_WORK
    lie = Lie.of(product.y, buffers, product.columns, product.depth)
    return rows > 1 and lie is not None and lie.along == lie.itemsize


@dataclass(frozen=True)
class Plan:
    """How a product is cut, and packed.

    Attributes:
        blocks: of rows; None where the program finds the number of rows.
        chunks: runs of column panels.
    """

    blocks: int | None
    chunks: int
    x: Packing
    y: Packing


@dataclass(frozen=True)
class Sizes:
    """What a plan depends on: rows, columns and depth (all known), and the most row panels of a
    block.

    Attributes:
        tasks: at least so many, 1 without threads.
        sum_bytes: of an element of the sums that are kept from one block of the depth to the next.
        plain: the factors that may be read as they lie.
        scattered: what that costs of columns, for each row panel.
        free: those whose packing before the tasks costs nothing, for it is done elsewhere.
        whole: those that cannot be packed in parts.
        costs: of packing, reading and multiplying.
    """

    rows: int
    columns: int
    depth: int
    tile: Tile
    most_panels: int
    tasks: int
    sum_bytes: int = 0
    plain: frozenset[str] = frozenset()
    scattered: float = SCATTERED
    free: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    costs: Costs = Costs()

    @property
    def row_panels(self) -> int:
        return -(-self.rows // self.tile.rows)

    @property
    def column_panels(self) -> int:
        return -(-self.columns // self.tile.columns)


def best_plan(sizes: Sizes) -> Plan:
    """The cheapest plan."""
    return min(_plans(sizes), key=lambda found: found[0])[1]


def _plans(sizes: Sizes) -> Iterator[tuple[float, Plan]]:
    least = -(-sizes.row_panels // sizes.most_panels)
    most = max(least, min(sizes.row_panels, sizes.tasks))
    if sizes.tasks > 1:
        most = max(most, min(MOST_BLOCKS, sizes.row_panels // LEAST_PANELS))
    for block in _counts(least, most):
        for chunk in _counts(_least_chunks(sizes, block), min(sizes.column_panels, sizes.tasks)):
            if block * chunk >= min(sizes.tasks, most * sizes.column_panels):
                yield _cost(sizes, block, chunk)


def _least_chunks(sizes: Sizes, blocks: int) -> int:
    """Runs of columns, so that the sums of a task stay cached."""
    rows = -(-sizes.row_panels // blocks) * sizes.tile.rows
    sums = rows * sizes.columns * sizes.sum_bytes
    return min(sizes.column_panels, max(1, -(-sums // SUMS_BYTES)))


def _counts(least: int, most: int) -> list[int]:
    """`least`, `most`, and the powers of two between."""
    powers = [1 << e for e in range(most.bit_length()) if least < 1 << e < most]
    return sorted({least, *powers, max(least, most)})


def _cost(sizes: Sizes, block: int, chunk: int) -> tuple[float, Plan]:
    """Of so many blocks of rows and chunks of columns, with the plan."""
    x_cost, x = _packing("x", sizes, chunk, block)
    y_cost, y = _packing("y", sizes, block, chunk)
    work = sizes.costs.multiply * sizes.rows * sizes.columns
    cost = x_cost + y_cost + work * _idle(sizes, block, chunk) + _waiting(sizes, block)
    return cost, Plan(block, chunk, x, y)


def _idle(sizes: Sizes, blocks: int, chunks: int) -> float:
    """The share of the work that threads wait in addition, for tasks differ by a panel or are not
    a whole number for each."""
    if sizes.tasks == 1:
        return 0.0
    uneven = sum(
        -(-size // parts) * parts / size - 1
        for size, parts in ((sizes.row_panels, blocks), (sizes.column_panels, chunks))
    )
    tasks = blocks * chunks
    return UNEVEN * min(1, SEVERAL_TASKS / tasks) * uneven + -(-tasks // 4) * 4 / tasks - 1


def _packing(factor: str, sizes: Sizes, readers: int, parts: int) -> tuple[float, Packing]:
    """What a factor costs that `readers` tasks read each part of, and how it is packed; what other
    threads have packed is the less of it, the more `parts` the first half of the tasks leaves."""
    count = sizes.rows if factor == "x" else sizes.columns
    again = sizes.costs.read * readers * count
    if factor in sizes.free:
        return again, "before"
    if factor in sizes.plain:
        scattered = sizes.scattered * sizes.row_panels if factor == "y" else 0.0
        plain = again + scattered * count
        if plain <= sizes.costs.pack * count or factor == "x":
            return plain, "none"
    crossing = 0.0
    if sizes.tasks > 1:
        crossing = (
            sizes.costs.share * count / (parts if factor == "y" else 1) + BARRIER / sizes.depth
        )
    costs = sizes.costs
    pack, leaving = (costs.pack_rows, costs.leaving) if factor == "x" else (costs.pack, 0.0)
    if factor == "x" and sizes.rows * sizes.depth * ELEMENT >= AWAY:
        leaving += READ_AWAY * readers
    before, by_task = (pack + leaving) * count + crossing + again, pack * count * readers
    if factor in sizes.whole or before < by_task:
        return before, "before"
    return by_task, "task"


def _waiting(sizes: Sizes, blocks: int) -> float:
    """For columns from beyond the second cache: what a block of rows multiplies an element with
    may take less time than that."""
    if sizes.columns * sizes.depth * ELEMENT < FAR_BYTES:
        return 0.0
    rows = -(-sizes.row_panels // blocks) * sizes.tile.rows
    return max(0.0, sizes.costs.far - sizes.costs.multiply * rows) * blocks * sizes.columns


def lines(width: int, dtype: DType) -> range:
    """The first elements of the lines of so many."""
    return range(0, width, LINE // dtype.itemsize)


def hides_fetching(tile: Tile, dtype: DType) -> bool:
    """Tiles of few rows do too little with a line for that."""
    return tile.rows * (LINE // dtype.itemsize) >= FETCHING * tile.lanes


def _crowds(step: int, count: int, sets: int) -> int:
    """The most lines in one set of a cache, of `count` of them `step` bytes apart."""
    lines = {k * step // LINE for k in range(count)}
    found: dict[int, int] = {}
    for line in lines:
        found[line % sets] = found.get(line % sets, 0) + 1
    return max(found.values(), default=0)


@dataclass(frozen=True)
class Lie:
    """How a factor lies in memory: bytes from one row or column to the next, and of the depth (0
    where the program finds how many)."""

    along: int
    depth: int
    itemsize: int

    @classmethod
    def of(cls, factor: Expr, buffers: dict[str, Buffer], along: Axis, depth: Axis) -> Lie | None:
        """None where it is no plain memory, or not even. A side of one has no loop, and no step."""
        if factor.op != "load" or not depth.names:
            return None
        position = flat_index(buffers[str(factor.value)], factor.args)
        if not along.is_even(position) or not depth.is_even(position):
            return None
        last = (along.names[-1] if along.names else "", depth.names[-1])
        steps = [coefficient(position, name) for name in last]
        numbers = [None if step is None else known(step) for step in steps]
        side, down = numbers
        if side is None or side < 0 or (down is not None and down < 0) or None in steps:
            return None
        size = factor.dtype.itemsize
        return cls(side * size, (down or 0) * size, size)

    def serves_rows(self, tile: Tile) -> bool:
        """Whether the rows of a tile stay in the first cache while the depth goes over a line."""
        if self.depth == self.itemsize:
            return _crowds(self.along, tile.rows, L1_SETS) <= MOST_ROW_WAYS
        return self.along == self.itemsize

    def serves_columns(self, depth: int, panels: int) -> bool:
        """Whether a column panel stays in the second cache until all row panels have read it."""
        few = panels <= FEW_PANELS
        return (
            bool(self.depth)
            and self.along == self.itemsize
            and (few or _crowds(self.depth, depth, L2_SETS) < MOST_WAYS)
        )


def scattered_cost(p: Product, buffers: dict[str, Buffer]) -> float:
    """What an element of a column panel that is read as it lies costs for each row panel."""
    lie = Lie.of(p.y, buffers, p.columns, p.depth)
    step, cost = FAR_APART
    return cost if lie is not None and lie.depth >= step else SCATTERED


def plain_factors(
    p: Product, buffers: dict[str, Buffer], tile: Tile, depth: int, row_panels: int
) -> frozenset[str]:
    """The factors that can be read as they lie, in blocks of `depth` steps. The last panel of a
    side that does not divide is moved back to its end, so a side has a whole panel at least."""
    found = set()
    x = Lie.of(p.x, buffers, p.rows, p.depth)
    y = Lie.of(p.y, buffers, p.columns, p.depth)
    if x is not None and x.serves_rows(tile):
        found.add("x")
    whole_panel = (known(p.columns.size) or 0) >= tile.columns
    if y is not None and whole_panel and y.serves_columns(depth, row_panels):
        found.add("y")
    return frozenset(found)


def is_far(p: Product, dtype: DType) -> bool:
    """The second factor, packed or not, does not stay in the second cache."""
    return (known(p.columns.size) or 0) * (known(p.depth.size) or 0) * dtype.itemsize >= FAR_BYTES


def is_streamed(p: Product, dtype: DType) -> bool:
    """Few rows read what is far, so that they wait for it."""
    rows = known(p.rows.size)
    return rows is not None and rows <= MOST_FAR_ROWS and is_far(p, dtype)


def blocking_for(
    product: Product,
    buffers: dict[str, Buffer],
    vector_bytes: int,
    first_cache: int,
    packed: bool = False,
) -> Blocking:
    """The blocking of a product for vectors of so many bytes (64 for AVX-512) and a first cache of
    so many, of which the second factor may be `packed` when the program is compiled."""
    dtype = SUM_DTYPES[product.target.value.dtype]
    sizes = product.rows.size, product.columns.size, product.depth.size
    far = not packed and is_far(product, dtype)
    streamed = not packed and is_streamed(product, dtype)
    if streamed and (found := _streamed(product, buffers, dtype, vector_bytes)) is not None:
        return found
    return block_for(dtype, vector_bytes, *sizes, far, first_cache)


def _streamed(
    p: Product, buffers: dict[str, Buffer], dtype: DType, vector_bytes: int
) -> Blocking | None:
    """The blocking of a product of few rows that streams its columns; None where these are packed,
    for they lie across, or lines of few row panels would push each other out of the cache."""
    rows, lie = known(p.rows.size), Lie.of(p.y, buffers, p.columns, p.depth)
    if rows is None or lie is None:
        return None
    found = streamed_block_for(dtype, vector_bytes, rows, p.columns.size)
    panels = -(-rows // found.rows)
    return found if lie.serves_columns(found.depth, panels) else None
