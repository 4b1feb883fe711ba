"""Sorts for the CPU: a kernel that states ranks becomes networks and merges, or picks a few.

```
for e in 0 .. n {                                key[0:n] = x[0:n]
  rank[] = 0                                     sort blocks of 2^k elements by a network
  for j in 0 .. n { rank[] += x[j] < x[e] } -->  while width < n { merge runs of `width`, twice }
  y[rank[]] = x[e]                               y[e] = key[e]
}
```
The order is whatever the ranks state: `before(j, e)` is taken from the kernel. Most lines are one
block (`order_network.py`), the shortest one of ranks. A later element never comes before an equal
earlier one, so that merging keeps the sort stable; its inner step has no branch to mispredict.
Where only the first few are wanted, they are held sorted in a small buffer and most elements fail
one comparison with the last of them.

Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.4 (merging) and 5.2.1 (insertion).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bool_, int32, int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, select, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssignOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.rewriting import transform

from ..te.affine import known
from ..te.lanes import vectorize_map
from ..te.rebuild import copy_all, substituting
from .order_line import RANK, Line, Ranking
from .order_network import Keys, Network

BLOCK = 32
"""Elements of a line that are ranked against each other at most."""
MOST_BLOCK = 1 << 18
"""Elements that a network sorts; its passes over more than a cache cost more than a merge."""
MOST_HELD = 128
"""The longest list that selection holds; insertion into it is linear."""
SCARCE = 4
"""Selection pays where the line has this many times more elements than are kept."""


def sorted_lines(func: FuncOp, ranking: Ranking, vector_bytes: int) -> list[Operation]:
    """The nest that sorts each line, or selects from it; merges are of single elements."""
    made = _sorted_line(ranking.line, vector_bytes)
    for loop in reversed(ranking.loops):
        if loop.var != ranking.line.axis:
            made = [ForOp(loop.var, loop.extent, made)]
    return made


def _sorted_line(line: Line, vector_bytes: int) -> list[Operation]:
    kept, size = known(line.kept), known(line.size)
    few = kept is not None and kept <= MOST_HELD
    if kept is not None and few and (size is None or size >= SCARCE * kept):
        return _Selection(line, kept).build()
    if size is not None and size <= BLOCK:
        return _Ranked(line).build()
    return _Merge(line, vector_bytes).build()


def _lanes_for(size: int | None, most: int) -> int:
    """The side of a square: a vector, shorter where a square would not be filled."""
    lanes = max(4, min(16, most))
    while size is not None and lanes > 4 and lanes * lanes // 2 >= size:
        lanes //= 2
    return lanes


def _block_for(size: int, square: int) -> int:
    """The elements of a block: a power of two that holds the line, or the longest one."""
    return min(MOST_BLOCK, max(square, 1 << (size - 1).bit_length()))


def _buffers(line: Line, size: Expr, index_dtype: DType) -> list[Operation]:
    """Keys, and indices where they are wanted, `a` and `b`."""
    made: list[Operation] = []
    for k in "ab":
        made.append(AllocOp(Buffer(f"key_{k}", line.dtype, (size,)), "stack"))
        if line.needs_index:
            made.append(AllocOp(Buffer(f"index_{k}", index_dtype, (size,)), "stack"))
    return made


def _fill(line: Line, index_dtype: DType) -> list[Operation]:
    """The keys and indices of a line's elements in `a`."""
    e = var("element")
    stores: list[Operation] = [StoreOp("key_a", [e], line.key_at(e))]
    if line.needs_index:
        stores.append(StoreOp("index_a", [e], cast(e, index_dtype)))
    return vectorize_map(ForOp("element", line.size, stores), BLOCK)


def _copy_out(line: Line, keys: str, places: str, index_dtype: DType) -> list[Operation]:
    """Store the results of the first elements from the sorted keys and their indices."""
    e = var("place")
    key, index = load(keys, [e], line.dtype), cast(load(places, [e], index_dtype), int64)
    stores: list[Operation] = []
    for s in line.stores:
        where = [transform(i, lambda n: e if n is RANK else None) for i in s.indices]
        stores.append(StoreOp(s.buffer, where, line.result(s.value, key, index)))
    return vectorize_map(ForOp("place", line.kept, stores), BLOCK)


# --- all of a line ------------------------------------------------------------------------------


class _Ranked:
    """Writes the sort of a line of `BLOCK` elements at most: as lanes, each counts its rank."""

    def __init__(self, line: Line) -> None:
        self.line, self.n = line, line.size

    def build(self) -> list[Operation]:
        line = self.line
        j, lane = var("j"), var("lane")
        here, other = (load("key_a", [e], line.dtype) for e in (lane, j))
        before = line.precedes(other, here, j < lane)
        place = cast(load("ranks", [lane], int32), int64)
        stores: list[Operation] = [StoreOp("key_b", [place], here)]
        if line.needs_index:
            stores.append(StoreOp("index_b", [place], cast(lane, int32)))
        clear = StoreOp("ranks", [lane], const(0, int32))
        step = UpdateOp("ranks", [lane], "add", cast(before, int32))
        return [
            *_buffers(line, self.n, int32),
            *_fill(line, int32),
            AllocOp(Buffer("ranks", int32, (const(BLOCK),)), "reg"),
            self._lanes("0", [clear]),
            ForOp("j", self.n, [self._lanes("1", self._guarded([step]))], reduction=True),
            self._lanes("2", self._guarded(stores)),
            *_copy_out(line, "key_b", "index_b", int32),
        ]

    def _guarded(self, body: list[Operation]) -> list[Operation]:
        return [IfOp(var("lane") < self.n, body)]

    def _lanes(self, suffix: str, body: list[Operation]) -> Operation:
        own = f"lane{suffix}"
        return ForOp(own, BLOCK, copy_all(body, substituting({"lane": var(own)})), "vector")


class _Merge:
    """Writes the sort of a line by blocks and merges: `a` and `b` take turns, the result is in
    `b`."""

    def __init__(self, line: Line, vector_bytes: int) -> None:
        self.line, self.n = line, line.size
        self.indexed = line.needs_index
        size = known(self.n)
        self.lanes = _lanes_for(size, vector_bytes // line.dtype.itemsize)
        self.index_dtype = int64 if size is None or size >= 2**31 else int32

    def build(self) -> list[Operation]:
        line, size, square = self.line, known(self.n), self.lanes**2
        block = var("block") if size is None else const(_block_for(size, square))
        blocks = (self.n + (block - 1)) // block
        network = Network(
            line, Keys("key_b", "index_b"), Keys("key_a", "index_a"), self.lanes,
            self.index_dtype if self.indexed else None,
        )  # fmt: skip
        at = var("block_at")
        room = 2 * self.n + square if size is None else blocks * block
        out = _buffers(line, room, self.index_dtype)
        if size is None:
            grows = binary("and", block < self.n, block < MOST_BLOCK)
            doubled = AssignOp("block", block * 2)
            out += [VarOp("block", const(square)), WhileOp(grows, [doubled])]
        out += [
            *_fill(line, self.index_dtype),
            *self._pad(blocks * block - self.n),
            ForOp("block_at", blocks, network.sort_block(at * block, block)),
        ]
        if size is None or size > MOST_BLOCK:
            width = var("width")
            rounds = [
                *self._merges("b", "a", width),
                *self._merges("a", "b", width * 2),
                AssignOp("width", width * 4),
            ]
            out += [VarOp("width", block), WhileOp(width < self.n, rounds)]
        return [*out, *_copy_out(line, "key_b", "index_b", self.index_dtype)]

    def _pad(self, count: Expr) -> list[Operation]:
        """The rest of the last block comes last."""
        if known(count) == 0:
            return []
        place, last = self.n + var("pad"), var("last_key", self.line.dtype)
        stores: list[Operation] = [StoreOp("key_a", [place], last)]
        if self.indexed:
            stores.append(StoreOp("index_a", [place], cast(place, self.index_dtype)))
        loop = ForOp("pad", count, stores)
        return [LetOp("last_key", self.line.last), *vectorize_map(loop, BLOCK)]

    def _merges(self, source: str, target: str, width: Expr) -> list[Operation]:
        """Neighbouring runs of `source`, `width` long, merged into `target`."""
        names = _Names(target)
        low, middle, high = (var(names(n)) for n in ("low", "middle", "high"))
        left, right, out = (var(names(n)) for n in ("left", "right", "out"))
        step = self._step(source, target, names)
        rest = [
            *self._rest(source, target, names("rest_l"), left, out, middle - left),
            *self._rest(source, target, names("rest_r"), right, out + (middle - left),
                        high - right),
        ]  # fmt: skip
        body: list[Operation] = [
            LetOp(str(middle.value), binary("min", low + width, self.n)),
            LetOp(str(high.value), binary("min", middle + width, self.n)),
            VarOp(str(left.value), low),
            VarOp(str(right.value), middle),
            VarOp(str(out.value), low),
            WhileOp(binary("and", left < middle, right < high), step),
            *rest,
            AssignOp(str(low.value), high),
        ]
        return [VarOp(str(low.value), const(0)), WhileOp(low < self.n, body)]

    def _step(self, source: str, target: str, names: _Names) -> list[Operation]:
        """Move the element that comes first; both are read, so that nothing branches."""
        dtype = self.line.dtype
        left, right, out = (var(names(n)) for n in ("left", "right", "out"))
        key_l, key_r = (var(names(n), dtype) for n in ("key_l", "key_r"))
        takes = var(names("takes"), bool_)
        lets: list[Operation] = [
            LetOp(str(key_l.value), load(f"key_{source}", [left], dtype)),
            LetOp(str(key_r.value), load(f"key_{source}", [right], dtype)),
            LetOp(str(takes.value), self.line.precedes(key_r, key_l, const(0, bool_))),
        ]
        stores: list[Operation] = [StoreOp(f"key_{target}", [out], select(takes, key_r, key_l))]
        if self.indexed:
            at_l, at_r = (var(names(n), self.index_dtype) for n in ("at_l", "at_r"))
            lets.append(LetOp(str(at_l.value), load(f"index_{source}", [left], self.index_dtype)))
            lets.append(LetOp(str(at_r.value), load(f"index_{source}", [right], self.index_dtype)))
            stores.append(StoreOp(f"index_{target}", [out], select(takes, at_r, at_l)))
        taken = cast(takes, int64)
        return [
            *lets,
            *stores,
            AssignOp(str(left.value), left + (1 - taken)),
            AssignOp(str(right.value), right + taken),
            AssignOp(str(out.value), out + 1),
        ]

    def _rest(
        self, source: str, target: str, name: str, start: Expr, out: Expr, count: Expr
    ) -> list[Operation]:
        """What is left of one run when the other is used up."""
        at, dtype = var(name), self.line.dtype
        stores: list[Operation] = [
            StoreOp(f"key_{target}", [out + at], load(f"key_{source}", [start + at], dtype))
        ]
        if self.indexed:
            moved = load(f"index_{source}", [start + at], self.index_dtype)
            stores.append(StoreOp(f"index_{target}", [out + at], moved))
        return [ForOp(name, count, stores)]


@dataclass(frozen=True)
class _Names:
    """Names of one of the two merges of a round."""

    suffix: str

    def __call__(self, stem: str) -> str:
        return f"{stem}_{self.suffix}"


# --- the first few ------------------------------------------------------------------------------


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
            *_copy_out(line, "held_key", "held_index", int64),
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
