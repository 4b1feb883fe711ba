"""Which threads of a GPU compute a row: a block, a warp, a part of one, or a column of threads.

| elements of a row | threads | rows of a block | meet in |
|---|---|---|---|
| up to 32 | the next power of two | 8 and more | shuffles |
| up to 256, or 1024 where there are many rows | a warp | up to 8 | shuffles |
| more, or an unknown number | a block of 256 | 1 | shuffles, then shared memory |
| from 8192 on, few rows | a block of 1024 | 1 | the same |
| across memory, few rows | 8, one of each warp | 32 | shared memory |

There are fewer rows in a block where shared memory or rows are few. A warp waits for no other, and
one block of eight rows keeps a multiprocessor as busy as eight of one, which barriers would stop
again and again. Where neighbouring rows, not elements, lie side by side in memory, the threads of a
warp have a row each.
"""

from __future__ import annotations

from collections.abc import Iterator

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, const, var
from tensorscript.dialects.te.warps import WARP

from ..te.affine import known
from .contraction_tile import divides

THREADS = 256
WARP_ROW = 256
"""Elements of a row that a warp takes faster than a block, whose barriers it saves."""
LONG_WARP_ROW = 1024
"""The same where the other warps have rows, too."""
MANY_ROWS = 1024
"""Rows that keep all multiprocessors busy, a warp each."""
MOST_THREADS = 1024
LONG_ROW, FEW_ROWS = 8192, 128
"""Elements of rows that as many threads as a block may have take, where most multiprocessors would
be idle otherwise."""
LEAST_ROW = 8
"""Elements of a row that several threads share."""


@dataclass(frozen=True)
class RowThreads:
    """Threads of a block: `lanes` of them for each of `rows` rows."""

    lanes: int = THREADS
    rows: int = 1

    @property
    def threads(self) -> int:
        return self.lanes * self.rows

    @property
    def in_warp(self) -> bool:
        """Whether a row's threads are of one warp, which wait for each other alone."""
        return self.lanes <= WARP

    @property
    def is_block(self) -> bool:
        """Whether a block has one row, which may have all of its shared memory."""
        return self.rows == 1 and not self.in_warp

    @property
    def meets(self) -> bool:
        """Whether shuffles bring together what the threads of a row have found."""
        return True

    @property
    def scope(self) -> str:
        """Of the barrier between stages of a row."""
        return "warp" if self.in_warp else "shared"

    @property
    def lane(self) -> Expr:
        """The number of a thread among those of its row."""
        return var("tx") if self.rows == 1 else var("tx") % self.lanes

    @property
    def slot(self) -> Expr:
        """The number of its row in the block."""
        return var("tx") // self.lanes

    def row(self) -> Expr:
        """The number of the row of all."""
        return var("bx") if self.rows == 1 else var("bx") * self.rows + self.slot

    def outside(self, count: Expr) -> list[Expr]:
        """The condition that the last block's threads have a row, if it is one."""
        return [] if divides(count, self.rows) else [self.row() < count]

    def leads(self) -> Expr:
        """Whether a thread is the first of its row."""
        return binary("eq", self.lane, 0)

    def shape(self, row: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Of a shared buffer that has a row for each of those of the block."""
        return row if self.rows == 1 else (const(self.rows), *row)

    def place(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where an element of the thread's row is in it."""
        return indices if self.rows == 1 else (self.slot, *indices)


@dataclass(frozen=True)
class ColumnThreads(RowThreads):
    """A warp's threads have a row each, which lie side by side; the warps share their elements."""

    lanes: int = THREADS // WARP
    rows: int = WARP

    @property
    def in_warp(self) -> bool:
        return False

    @property
    def meets(self) -> bool:
        return False

    @property
    def lane(self) -> Expr:
        return var("tx") // WARP

    @property
    def slot(self) -> Expr:
        return var("tx") % WARP

    def shape(self, row: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*row, const(self.rows))

    def place(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (*indices, self.slot)


def choices(longest: int | None, rows: Expr) -> Iterator[RowThreads]:
    """Threads for rows of that length, the best ones first; the last resort is always a block."""
    if longest is not None and longest <= _most(rows):
        lanes = min(WARP, max(2, _power(longest)))
        together = min(THREADS // lanes, max(WARP // lanes, _power(known(rows) or THREADS)))
        while together * lanes >= WARP:
            yield RowThreads(lanes, together)
            together //= 2
    long = longest is not None and longest >= LONG_ROW
    yield RowThreads(MOST_THREADS if long and (known(rows) or FEW_ROWS) < FEW_ROWS else THREADS)


def _power(number: int) -> int:
    """The least power of two that is not less."""
    return 1 << max(0, number - 1).bit_length()


def _most(rows: Expr) -> int:
    """Elements of a row that a warp takes."""
    count = known(rows)
    return LONG_WARP_ROW if count is None or count >= MANY_ROWS else WARP_ROW
