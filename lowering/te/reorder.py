"""reorder: permute the loops of a perfect nest.

```
reorder("j", "i"):
for i { for j { s } }   -->   for j { for i { s } }
```

The loops named (target first) take each other's places in this order; loops between them stay.
Conditions between the loops (of guarded splits) move to the innermost body. Legal where no
dependence would run backwards; updates with one combiner commute.
"""

from __future__ import annotations

from itertools import pairwise
from itertools import product as combinations

from tensorscript.dialects.te.expr import Expr, all_of
from tensorscript.dialects.te.ops import ForOp, IfOp

from .dependence import Access, accesses, loads_of, may_meet, private, relevant_pairs
from .nest import Nest, detach, only_child, take_body

_LIMIT = 4
"""Directions are enumerated for at most so many loops that carry something."""
_HEADER = ("var_name", "start_attr", "extent_attr", "kind", "reduction", "grain_attr")


def _band(nest: Nest, names: tuple[str, ...]) -> tuple[list[ForOp], list[Expr]] | str:
    """The perfect nest that spans the named loops, and the conditions between them."""
    depth = {name: len(nest.enclosing(nest.loops[name])) for name in names}
    top = nest.loops[min(names, key=depth.__getitem__)]
    band, conditions, missing = [top], list[Expr](), set(names) - {top.var}
    below = only_child(top.block)
    while missing:
        if isinstance(below, IfOp) and not below.else_body.block.ops:
            if loads_of(below.condition):
                return (
                    f"a condition that reads a buffer stands between the loops: {below.condition}"
                )
            conditions.append(below.condition)
            below = only_child(below.then_body.block)
        elif isinstance(below, ForOp):
            band.append(below)
            missing.discard(below.var)
            below = only_child(below.block)
        else:
            return f"{', '.join(names)} are not perfectly nested; distribute first"
    return band, conditions


def _new_order(band: list[ForOp], names: tuple[str, ...]) -> list[str]:
    wanted = iter(names)
    return [next(wanted) if loop.var in names else loop.var for loop in band]


def check(nest: Nest, target: str, *others: str) -> str | None:
    names = (target, *others)
    if len(set(names)) != len(names):
        return "a loop is named twice"
    for name in others:
        if name not in nest.loops:
            return f"there is no loop {name}"
    for name in names:
        if (kind := nest.loops[name].kind.data) not in ("serial", "unroll"):
            return f"loop {name} is {kind} already"
    found = _band(nest, names)
    if isinstance(found, str):
        return found
    band, _ = found
    order = _new_order(band, names)
    for loop in band:
        used = loop.start.free | loop.extent.free
        for other in band:
            if other.var in used and order.index(other.var) > order.index(loop.var):
                return f"the bounds of {loop.var} depend on {other.var}"
    return _reversed_dependence(nest, band, order)


def _reversed_dependence(nest: Nest, band: list[ForOp], order: list[str]) -> str | None:
    body = list(band[-1].block.ops)
    own = private(body)
    touched = [a for a in accesses(nest, band[0]) if a.buffer not in own]
    old = [loop.var for loop in band]
    for a, b in relevant_pairs(touched, touched):
        moving = [name for name in old if _may_differ(nest, a, b, band, name)]
        if len(moving) < 2 or [n for n in order if n in moving] == moving:
            continue
        if len(moving) > _LIMIT or _backwards(nest, a, b, band, moving, order):
            return f"accesses of {a.buffer} may meet in an order that the new nest reverses"
    return None


def _may_differ(nest: Nest, a: Access, b: Access, band: list[ForOp], name: str) -> bool:
    return any(may_meet(nest, a, b, band[0], {name: r}) for r in "<>")


def _backwards(
    nest: Nest, a: Access, b: Access, band: list[ForOp], moving: list[str], order: list[str]
) -> bool:
    """Whether some feasible direction, forward in the old order, runs backward in the new."""
    for signs in combinations("<=>", repeat=len(moving)):
        first = next((s for s in signs if s != "="), "=")
        relation = dict(zip(moving, signs, strict=True))
        after = next((relation[n] for n in order if relation.get(n, "=") != "="), "=")
        if first == "<" and after == ">" and may_meet(nest, a, b, band[0], relation):
            return True
    return False


def apply(nest: Nest, target: str, *others: str) -> None:
    names = (target, *others)
    found = _band(nest, names)
    assert not isinstance(found, str)  # check passed
    band, conditions = found
    headers = {loop.var: {k: loop.properties.get(k) for k in _HEADER} for loop in band}
    if conditions:
        _sink(band, conditions)
    for loop, name in zip(band, _new_order(band, names), strict=True):
        for key, value in headers[name].items():
            if value is None:
                loop.properties.pop(key, None)
            else:
                loop.properties[key] = value


def _sink(band: list[ForOp], conditions: list[Expr]) -> None:
    """Rebuild the nest without conditions between the loops; one te.if around the inner body."""
    body = take_body(band[-1])
    for loop in band[1:]:
        detach(loop)
    for outer, inner in pairwise(band):
        take_body(outer)
        outer.block.add_op(inner)
    guard = IfOp(all_of(conditions), body)
    guard.location = band[-1].location
    band[-1].block.add_op(guard)
