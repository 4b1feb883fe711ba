"""split: one loop becomes two, the inner of a fixed extent.

```
split("i", 8, "guard"):
for i in 0 .. N { s(i) }
    -->
for i_o in 0 .. (N + 7) // 8 { for i_i in 0 .. 8 { if i_o * 8 + i_i < N { s(i_o * 8 + i_i) } } }
```

| tail | |
|---|---|
| exact | the extent must be a multiple |
| guard | as above; no guard where the extent is a multiple |
| loop | `i_o` runs over whole blocks, the rest goes to a loop `i_t` behind it |
| rest | as "loop", but `i_t` runs over a block, too, and is guarded: a vector loop for the rest |
| short | the inner loop of the last block ends where the loop does |

Order is kept, so a split is always legal.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, add, binary, const, mul, sub, var
from tensorscript.dialects.te.ops import ForOp, IfOp
from tensorscript.dialects.te.simplify import simplify

from .affine import known
from .nest import (
    Nest,
    copy_fresh,
    detach,
    insert_after,
    insert_before,
    loop_like,
    substitute_in,
    take_body,
)

TAILS = ("exact", "guard", "loop", "rest", "short")


def check(nest: Nest, target: str, factor: int, tail: str = "exact") -> str | None:
    loop = nest.loops[target]
    if tail not in TAILS:
        return f"the tail is one of {', '.join(TAILS)}"
    if factor < 1:
        return "the factor is a positive integer"
    if loop.kind.data != "serial":
        return f"loop {target} is {loop.kind.data} already"
    if tail == "exact" and not _divides(nest, loop, factor):
        return f"the extent {loop.extent} is not known to be a multiple of {factor}"
    if tail == "loop" and loop.extent.is_const and int(str(loop.extent)) < factor:
        return f"the extent {loop.extent} is less than {factor}"
    return None


def _divides(nest: Nest, loop: ForOp, factor: int) -> bool:
    if loop.extent.is_const:
        return int(str(loop.extent)) % factor == 0
    return simplify(binary("mod", loop.extent, factor), nest.ranges(loop)).is_int(0)


def apply(nest: Nest, target: str, factor: int, tail: str = "exact") -> None:
    loop = nest.loops[target]
    whole = _divides(nest, loop, factor)
    if tail == "rest":
        _split_off_rest(nest, loop, factor)
        return
    ranges = nest.ranges(loop)
    outer, inner = nest.fresh(f"{target}_o"), nest.fresh(f"{target}_i")
    round_up = tail in ("guard", "short") and not whole
    covered = add(loop.extent, factor - 1) if round_up else loop.extent
    count = simplify(binary("floordiv", covered, factor), ranges)
    body = take_body(loop)
    if tail == "loop" and not whole:
        _add_tail(nest, loop, body, factor, mul(count, factor))
    place = add(mul(var(outer), factor), var(inner))
    substitute_in(body, {target: add(loop.start, place)})
    length = const(factor)
    if tail == "short" and not whole:
        length = binary("min", length, sub(loop.extent, mul(var(outer), factor)))
    elif round_up:
        body = [_guarded(loop, binary("lt", place, loop.extent), body)]
    main = loop_like(loop, outer, count, [loop_like(loop, inner, length, body)])
    insert_before(loop, [main])
    detach(loop)


def _guarded(loop: ForOp, condition: Expr, body: list[Operation]) -> Operation:
    guard = IfOp(condition, body)
    guard.location = loop.location
    return guard


def _add_tail(
    nest: Nest, loop: ForOp, body: list[Operation], factor: int, done: Expr
) -> None:  # fmt: skip
    name = nest.fresh(f"{loop.var}_t")
    rest = copy_fresh(nest, body, "_t")
    substitute_in(rest, {loop.var: add(add(loop.start, done), var(name))})
    left = simplify(binary("mod", loop.extent, factor), nest.ranges(loop))
    insert_after(loop, [loop_like(loop, name, left, rest)])


def _split_off_rest(nest: Nest, loop: ForOp, factor: int) -> None:
    """Whole blocks where there are any, then one guarded block for the rest if there is one."""
    size = known(loop.extent)
    blocks = binary("floordiv", loop.extent, factor)
    body = take_body(loop)
    made: list[Operation] = []
    rest: list[Operation] = []
    if size is None or size % factor:
        name = nest.fresh(f"{loop.var}_t")
        place = add(mul(blocks, factor), var(name))
        rest = body if size is not None and size < factor else copy_fresh(nest, body, "_t")
        substitute_in(rest, {loop.var: add(loop.start, place)})
        guard = _guarded(loop, binary("lt", place, loop.extent), rest)
        made.append(loop_like(loop, name, factor, [guard]))
    if rest is not body:
        outer, inner = nest.fresh(f"{loop.var}_o"), nest.fresh(f"{loop.var}_i")
        place = add(mul(var(outer), factor), var(inner))
        substitute_in(body, {loop.var: add(loop.start, place)})
        made.insert(0, loop_like(loop, outer, blocks, [loop_like(loop, inner, factor, body)]))
    insert_before(loop, made)
    detach(loop)
