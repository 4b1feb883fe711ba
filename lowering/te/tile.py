"""tile: split two perfectly nested loops and bring the inner parts together.

```
tile("i", "j", 4, 16, "guard"):
for i { for j { s } }   -->   for i_o { for j_o { for i_i in 0 .. 4 { for j_i in 0 .. 16 { s } } } }
```

Tails: "exact" or "guard", as in split. Legal where both splits and the reorder are.
"""

from __future__ import annotations

from . import reorder, split
from .nest import Nest


def check(
    nest: Nest, target: str, inner: str, first: int, second: int, tail: str = "exact"
) -> str | None:
    if inner not in nest.loops:
        return f"there is no loop {inner}"
    if tail == "loop":
        return "a tile has exact or guarded tails"
    for name, factor in ((target, first), (inner, second)):
        if reason := split.check(nest, name, factor, tail):
            return reason
    if nest.loops[inner] not in (outer_first := nest.loops[target].block.ops):
        return f"{inner} is not directly inside {target}"
    if len(outer_first) != 1:
        return f"{target} and {inner} are not perfectly nested; distribute first"
    # Tiles may run in an order that mixes both loops: what a swap may do, a tile may.
    return reorder.check(nest, inner, target)


def apply(
    nest: Nest, target: str, inner: str, first: int, second: int, tail: str = "exact"
) -> None:
    before = set(nest.loops)
    split.apply(nest, target, first, tail)
    nest.changed()
    outer_o, outer_i = _made(nest, before)
    before |= set(nest.loops)
    split.apply(nest, inner, second, tail)
    nest.changed()
    inner_o, inner_i = _made(nest, before)
    reorder.apply(nest, outer_o, inner_o, outer_i, inner_i)


def _made(nest: Nest, before: set[str]) -> list[str]:
    """The new loops, outer before inner."""
    return [name for name in nest.loops if name not in before]
