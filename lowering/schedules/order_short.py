"""Sorts of the shortest lines: the lines are lanes, and their elements are sorted in registers.

```
for i in 0 .. m {                           for i in 0 .. m {
  for e in 0 .. 2 {                           let key0 = x[i, 0]; let key1 = x[i, 1]
    rank[] = 0                        -->     let first = min(key0, key1)
    for j in 0 .. 2 {..}                      let other = max(key0, key1)
    y[i, rank[]] = x[i, e] } }                y[i, 0] = first; y[i, 1] = other }
```
An element and its place are exchanged together and places break ties, so that no exchange needs to
know which others there were: the network is Batcher's (Knuth, "The Art of Computer Programming",
volume 3, 5.2.2, algorithm M).
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, const, var
from tensorscript.dialects.te.ops import LetOp, StoreOp
from tensorscript.dialects.te.rewriting import replaced

from ..te.affine import known
from .order_keys import Parts, elements_of
from .order_line import RANK, Line

SHORT, SHORT_APART = 8, 32
"""Elements of a line that registers hold; the latter of lines whose elements do not lie side by
side, which a vector along the line would have to fetch one by one."""


def is_short(line: Line) -> bool:
    size = known(line.size)
    is_dense = line.key.args[-1] is var(line.axis)
    most = SHORT if is_dense else SHORT_APART
    return size is not None and 0 < size <= most and known(line.kept) is not None


def sorted_short(line: Line) -> list[Operation]:
    """The statements that sort one line, without a loop."""
    made: list[Operation] = []

    def let(stem: str, value: Expr) -> Expr:
        name = f"{stem}_{len(made)}"
        made.append(LetOp(name, value))
        return var(name, value.dtype)

    elements, size = elements_of(line), known(line.size) or 0
    names = [c.name for c in elements.columns]

    def named(parts: Parts) -> Parts:
        return tuple(let(name, part) for name, part in zip(names, parts, strict=True))

    places = map(const, range(size))
    held = [named(elements.packed(line.key_at(place), place)) for place in places]
    for low, high in exchanges(size):
        held[low], held[high] = elements.exchanged(held[low], held[high], let)
    for place in range(known(line.kept) or 0):
        key, index = (let("found", of(held[place])) for of in (elements.key, elements.place))
        for s in line.stores:
            where = [replaced(i, RANK, const(place)) for i in s.indices]
            made.append(StoreOp(s.buffer, where, line.result(s.value, key, index)))
    return made


def exchanges(size: int) -> Iterator[tuple[int, int]]:
    """The pairs of places that a merge exchange network compares, in order."""
    first = 1 << max(0, (size - 1).bit_length() - 1)
    p = first
    while p:
        q, r, d = first, 0, p
        while True:
            yield from ((i, i + d) for i in range(size - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
