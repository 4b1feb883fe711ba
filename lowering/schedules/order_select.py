"""Selections for the CPU: the first few of a line in sorted order, held in a small sorted buffer.

Most elements come behind the last one that is held: as integers (`order_keys.py`) a block of them
is compared with it at once. One that does not is inserted by a minimum and a maximum of vectors,
```
held[i] = max(held[i - 1], min(held[i], x))
```
and others, whose keys do not fit into integers, by moving up what comes after.

Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.1 (insertion).
"""

from __future__ import annotations

import math

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, select, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssignOp,
    ForOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)

from ..te.affine import known
from .order_buffers import copy_out
from .order_keys import Integers, elements_of
from .order_line import Line

MOST_IN_VECTORS = 32
"""The most that are held in vectors."""
BLOCK = 16
"""Elements that are compared at once."""


MOST_HELD = 128
"""The longest list that is held at all."""


def is_selected(line: Line) -> bool:
    """Whether the first few of a line are found sooner than all of it is sorted.

    Of elements in any order k (1 + log n / k) are inserted; a network has n log^2 n exchanges, of
    which a thousand of integers, a sixth of others, take as long as one insertion into vectors.
    """
    kept, size = known(line.kept), known(line.size)
    if kept is None or kept > MOST_HELD or size is None or kept in (0, size):
        return kept is not None and kept <= MOST_HELD and kept != size
    integers = isinstance(elements_of(line), Integers)
    each = 1.0 if integers and kept <= MOST_IN_VECTORS else max(1.0, kept / 8)
    inserted = each * kept * (1 + math.log(size / kept))
    exchanges = size * math.log2(size) ** 2 / (1000 if integers else 160)
    return inserted + size / 64 < exchanges


def selected(line: Line) -> list[Operation]:
    """The first few elements of a line, in order."""
    elements, kept = elements_of(line), int(line.kept)
    fits = kept <= MOST_IN_VECTORS and known(line.size) is not None
    if isinstance(elements, Integers) and fits and kept > 0:
        return _Held(line, elements, kept).build()
    return _Selection(line, kept).build()


_INSERTION = ("new", "made", "moved")


class _Held:
    """Writes a selection whose elements are integers in the lanes of vectors."""

    def __init__(self, line: Line, elements: Integers, kept: int) -> None:
        self.line, self.elements, self.kept = line, elements, kept
        self.size = int(line.size)
        self.room = max(4, 1 << (kept - 1).bit_length())

    def build(self) -> list[Operation]:
        line, dtype = self.line, self.elements.dtype
        first = min(self.kept, self.size)
        blocks, block = (self.size - first) // BLOCK, var("block")
        end = first + blocks * BLOCK
        element = self.elements.key((self._held(var("place")),))
        place = self.elements.place((self._held(var("place")),))
        return [
            AllocOp(Buffer("held", dtype, (const(2 * self.room),)), "reg"),
            AllocOp(Buffer("next", dtype, (const(self.room),)), "reg"),
            *self._cleared(),
            ForOp("early", first, self._insert(var("early"), "early")),
            VarOp("last", self.elements.key((self._held(const(self.kept - 1)),))),
            ForOp("block", blocks, self._block(block * BLOCK + first)),
            ForOp("late", self.size - end, self._if_better(var("late") + end, "late")),
            *copy_out(line, element, place),
        ]

    def _held(self, place: Expr) -> Expr:
        """What is held at a place."""
        return load("held", [place + self.room], self.elements.dtype)

    def _cleared(self) -> list[Operation]:
        """What comes before all elements, and behind them what comes after all."""
        lane, (last,) = var("clear"), self.elements.last(const(0))
        least = const(-(2 ** (self.elements.dtype.bits - 1)), self.elements.dtype)
        stores: list[Operation] = [
            StoreOp("held", [lane], least), StoreOp("held", [lane + self.room], last)
        ]  # fmt: skip
        return [ForOp("clear", self.room, stores, "vector")]

    def _insert(self, e: Expr, suffix: str) -> list[Operation]:
        """The element in its place; others move up. Names of its own end with `suffix`."""
        dtype, new, made, moved = self.elements.dtype, *(f"{n}_{suffix}" for n in _INSERTION)
        (packed,) = self.elements.packed(self.line.key_at(e), e)
        before = load("held", [var(made) + (self.room - 1)], dtype)
        kept = binary("min", self._held(var(made)), var(new, dtype))
        put = StoreOp("next", [var(made)], binary("max", before, kept))
        back = StoreOp("held", [var(moved) + self.room], load("next", [var(moved)], dtype))
        return [
            LetOp(new, packed),
            ForOp(made, self.room, [put], "vector"),
            ForOp(moved, self.room, [back], "vector"),
        ]

    def _better(self, e: Expr) -> Expr:
        """Whether an element comes before the last one that is held."""
        last = var("last", self.line.dtype)
        return self.line.precedes(self.line.key_at(e), last, const(False, bool_))

    def _if_better(self, e: Expr, suffix: str) -> list[Operation]:
        last = AssignOp("last", self.elements.key((self._held(const(self.kept - 1)),)))
        return [IfOp(self._better(e), [*self._insert(e, suffix), last])]

    def _block(self, start: Expr) -> list[Operation]:
        some = UpdateOp("some", (), "or", self._better(start + var("near")))
        return [
            AllocOp(Buffer("some", bool_, ()), "reg"),
            StoreOp("some", (), const(False, bool_)),
            ForOp("near", BLOCK, [some], "vector", reduction=True),
            IfOp(
                load("some", (), bool_),
                [ForOp("element", BLOCK, self._if_better(start + var("element"), "block"))],
            ),
        ]


class _Selection:
    """Writes the selection of the first `kept` elements of a line."""

    def __init__(self, line: Line, kept: int) -> None:
        self.line, self.kept = line, kept

    def build(self) -> list[Operation]:
        line, dtype = self.line, self.line.dtype
        e, key, held = var("element"), var("key", dtype), var("held")
        last = load("held_key", [const(self.kept - 1)], dtype)
        never = const(0, bool_)
        better = select(held < self.kept, const(1, bool_), line.precedes(key, last, never))
        clear = ForOp("clear", self.kept, [StoreOp("held_key", [var("clear")], const(0, dtype))])
        line_loop = ForOp(
            "element",
            line.size,
            [LetOp("key", line.key_at(e)), IfOp(better, self._insert(e, key, held))],
        )
        return [
            AllocOp(Buffer("held_key", dtype, (const(self.kept),)), "stack"),
            AllocOp(Buffer("held_index", int64, (const(self.kept),)), "stack"),
            clear,
            VarOp("held", const(0)),
            line_loop,
            *copy_out(
                line,
                *(
                    load(b, [var("place")], t)
                    for b, t in (("held_key", dtype), ("held_index", int64))
                ),
            ),
        ]

    def _insert(self, e: Expr, key: Expr, held: Expr) -> list[Operation]:
        """Move up what comes after the new element, from the last place down."""
        line, dtype = self.line, self.line.dtype
        slot = var("slot")
        previous = load("held_key", [slot - 1], dtype)
        comes_before = line.precedes(key, previous, const(0, bool_))
        shift: list[Operation] = [
            StoreOp("held_key", [slot], previous),
            StoreOp("held_index", [slot], load("held_index", [slot - 1], int64)),
            AssignOp("slot", slot - 1),
        ]
        return [
            VarOp("slot", binary("min", held, const(self.kept - 1))),
            WhileOp(select(slot > 0, comes_before, const(0, bool_)), shift),
            StoreOp("held_key", [slot], key),
            StoreOp("held_index", [slot], e),
            AssignOp("held", binary("min", held + 1, const(self.kept))),
        ]
