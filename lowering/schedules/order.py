"""Sorts for the CPU: a kernel that states ranks becomes networks and merges, or picks a few.

```
for e in 0 .. n {                                key[0:n] = x[0:n]
  rank[] = 0                                     sort blocks of 2^k elements by a network
  for j in 0 .. n { rank[] += x[j] < x[e] } -->  while width < n { merge runs of `width`, twice }
  y[rank[]] = x[e]                               y[e] = key[e]
}
```
The order is whatever the ranks state: `before(j, e)` is taken from the kernel. Most lines are one
block (`order_network.py`); the shortest are sorted in registers, many beside each other
(`order_short.py`). A later element never comes before an equal earlier one, so that merging keeps
the sort stable; its inner step has no branch to mispredict.
Where only the first few are wanted, they are held sorted in a small buffer and most elements fail
one comparison with the last of them.

Source: Knuth, "The Art of Computer Programming", volume 3, 5.2.4 (merging) and 5.2.1 (insertion).
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select, var
from tensorscript.dialects.te.ops import (
    AssignOp,
    ForOp,
    FuncOp,
    LetOp,
    VarOp,
    WhileOp,
)

from ..te.affine import known
from ..te.lanes import vectorize_map
from .order_buffers import buffers, copy_sorted, parts_at, stores_of
from .order_keys import Elements, elements_of
from .order_line import Line, Ranking
from .order_network import Network
from .order_select import is_selected, selected
from .order_short import is_short, sorted_short
from .order_shortened import Shortened, shortened
from .order_tile import Exchanges, Tile

BLOCK = 32
"""Elements that are read or written at a time."""
MOST_BLOCK = 1 << 20
"""Elements that a network sorts; its passes over more than a cache cost more than a merge."""


def sorted_lines(func: FuncOp, ranking: Ranking, vector_bytes: int) -> list[Operation]:
    """The nest that sorts each line, or selects from it; merges are of single elements."""
    made = _sorted_line(ranking.line, vector_bytes)
    for loop in reversed(ranking.loops):
        if loop.var != ranking.line.axis:
            made = [ForOp(loop.var, loop.extent, made)]
    return made


def _sorted_line(line: Line, vector_bytes: int) -> list[Operation]:
    if is_short(line):
        return sorted_short(line)
    if is_selected(line):
        return selected(line)
    return _Merge(line, vector_bytes).build()


def _tile_for(elements: Elements, size: int | None, vector_bytes: int) -> Tile:
    """Whole vectors, half of the registers full of them, or as few as hold the line."""
    widest = max(c.dtype.itemsize for c in elements.columns)
    lanes = max(4, min(16, vector_bytes // widest))
    rows = (16 if vector_bytes == 64 else 8) // len(elements.columns)
    while size is not None and rows > 2 and lanes * rows // 2 >= size:
        rows //= 2
    return Tile(Exchanges(elements, lanes), rows, MEMORY)


def _block_for(size: int, tile: int) -> int:
    """The elements of a block: a power of two that holds the line, or the longest one."""
    return min(MOST_BLOCK, max(tile, 1 << (size - 1).bit_length()))


MEMORY, OTHER = "a", "b"
"""Where the elements of a line lie; merges of blocks take turns between the two."""


def _fill(line: Line, elements: Elements, count: Expr) -> list[Operation]:
    """The first elements of a line in `a`."""
    if known(count) == 0:
        return []
    e = var("element")
    stores = stores_of(elements, MEMORY, e, elements.packed(line.key_at(e), e))
    return vectorize_map(ForOp("element", count, stores), BLOCK)


# --- all of a line ------------------------------------------------------------------------------


class _Merge:
    """Writes the sort of a line by blocks and merges: two buffers take turns, the result is in
    the first."""

    def __init__(self, line: Line, vector_bytes: int) -> None:
        self.line, self.n = line, line.size
        self.elements: Elements = shortened(line) or elements_of(line)
        self.tile = _tile_for(self.elements, known(self.n), vector_bytes)

    def build(self) -> list[Operation]:
        line, size, tile = self.line, known(self.n), self.tile.size
        block = var("block") if size is None else const(_block_for(size, tile))
        blocks = (self.n + (block - 1)) // block
        room = 2 * self.n + tile if size is None else blocks * block
        merges = size is None or size > MOST_BLOCK
        short = self.elements if isinstance(self.elements, Shortened) else None
        out = buffers(self.elements, room, MEMORY + OTHER if merges or short else MEMORY)
        if size is None:
            grows = binary("and", block < self.n, block < MOST_BLOCK)
            doubled = AssignOp("block", block * 2)
            out += [VarOp("block", const(tile)), WhileOp(grows, [doubled])]
        start = var("block_at") * block
        filled = binary("min", block, self.n - start)
        if short:
            out += short.prepare()
        out += [
            *self.tile.registers(),
            *self._filled(blocks * block),
            ForOp("block_at", blocks, Network(self.tile).sort_block(start, block, filled)),
        ]
        if merges:
            out += self._merged(block)
        if short:
            out += short.settle(MEMORY, self._merged(const(1)))
        return [*out, *copy_sorted(line, self.elements, MEMORY)]

    def _merged(self, run: Expr) -> list[Operation]:
        """Sorted runs of a length merged until there is one."""
        width = var("width")
        rounds = [
            *self._merges(MEMORY, OTHER, width),
            *self._merges(OTHER, MEMORY, width * 2),
            AssignOp("width", width * 4),
        ]
        return [VarOp("width", run), WhileOp(width < self.n, rounds)]

    def _filled(self, room: Expr) -> list[Operation]:
        """The elements in order; the rest of the room comes last. Where an element less than a
        vector is left, it is written as one together with what follows."""
        whole = self.n // BLOCK * BLOCK if self.n.is_const and room.is_const else self.n
        place = whole + var("rest")
        element = self.elements.packed(self.line.key_at(place), place)
        last = self.elements.last(place)
        if whole is not self.n:
            last = tuple(select(place < self.n, a, b) for a, b in zip(element, last, strict=True))
        stores = stores_of(self.elements, MEMORY, place, last)
        made = _fill(self.line, self.elements, whole)
        if known(room - whole) != 0:
            made += vectorize_map(ForOp("rest", room - whole, stores), BLOCK)
        return made

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
        elements = self.elements
        left, right, out = (var(names(n)) for n in ("left", "right", "out"))
        lets: list[Operation] = []

        def let(name: str, value: Expr) -> Expr:
            lets.append(LetOp(names(name), value))
            return var(names(name), value.dtype)

        sides = [
            tuple(let(f"{c.name}_{side}", p) for c, p in zip(elements.columns, parts, strict=True))
            for side, parts in (
                ("l", parts_at(elements, source, left)), ("r", parts_at(elements, source, right))
            )
        ]  # fmt: skip
        takes = let("takes", elements.precedes(sides[1], sides[0]))
        chosen = tuple(select(takes, r, l_) for l_, r in zip(*sides, strict=True))
        taken = cast(takes, int64)
        return [
            *lets,
            *stores_of(elements, target, out, chosen),
            AssignOp(str(left.value), left + (1 - taken)),
            AssignOp(str(right.value), right + taken),
            AssignOp(str(out.value), out + 1),
        ]

    def _rest(
        self, source: str, target: str, name: str, start: Expr, out: Expr, count: Expr
    ) -> list[Operation]:
        """What is left of one run when the other is used up."""
        moved = parts_at(self.elements, source, start + var(name))
        return [ForOp(name, count, stores_of(self.elements, target, out + var(name), moved))]


@dataclass(frozen=True)
class _Names:
    """Names of one of the two merges of a round."""

    suffix: str

    def __call__(self, stem: str) -> str:
        return f"{stem}_{self.suffix}"
