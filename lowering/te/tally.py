"""tally: each element of a reduction goes to the one result that it counts for.

```
tally("i", "r", 512):
for i in 0 .. n {                                  alloc i_count[n + 1]; i_count[..] = 0
  alloc t[]; t[] = 0                               for r_o in 0 .. m // 512 { alloc i_place[512]
  for r in 0 .. m reduce {                   -->     for r_k { i_place[r_k] = select(x[r] in 0 .. n
    t[] add= select(x[r] == i, v(r), 0) }                                        , x[r], n) }
  y[i] = t[] }                                       for r_u { i_count[i_place[r_u]] += v(r) } }
                                                   for i { y[i] = i_count[i] }
```
Otherwise every result looks at all elements. `x` is an integer, or a float of which only whole
numbers are equal to one; more conditions may be asked of an element. Ones are counted by integers,
and sums of floats are float64: they are added one after the other.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_, float32, float64, int32, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, all_of, binary, call, cast, const, load, select, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads, replaced

from .affine import known
from .nest import Nest, detach, insert_before
from .rebuild import substituting

_EXACT = (int32, int64, float32, float64)
"""Dtypes of which the numbers of results are."""
MOST = 1 << 24
"""Results: as many whole numbers are float32."""


@dataclass(frozen=True)
class Tally:
    """The parts of a loop over results that each count elements.

    Attributes:
        reduction: the loop over elements.
        place: the number of the result that an element counts for.
        given: what else must hold of the element.
        value: what it counts.
        result: the store of what was counted.
        counted: the expression in it that is that.
    """

    reduction: ForOp
    place: Expr
    given: tuple[Expr, ...]
    value: Expr
    result: StoreOp
    counted: Expr


def check(nest: Nest, target: str, inner: str, chunk: int) -> str | None:
    if chunk < 1:
        return "a chunk has an element at least"
    if inner not in nest.loops:
        return f"there is no loop {inner}"
    found = tally_of(nest.loops[target])
    if found is None or found.reduction is not nest.loops[inner]:
        return f"the results of {target} are no counts of what elements of {inner} are equal to"
    return None


def tally_of(loop: ForOp) -> Tally | None:
    """The parts of a loop as a reduction is lowered to it; None where it is another."""
    ops = list(loop.block.ops)
    if [type(op) for op in ops] != [AllocOp, StoreOp, ForOp, StoreOp]:
        return None
    alloc, clear, reduction, result = ops
    assert isinstance(alloc, AllocOp) and isinstance(clear, StoreOp)
    assert isinstance(reduction, ForOp) and isinstance(result, StoreOp)
    update, name = reduction.block.first_op, alloc.buffer.name
    size = known(loop.extent)
    if not isinstance(update, UpdateOp) or update.next_op is not None or update.combiner != "add":
        return None
    if not size or size >= MOST or {loop.kind.data, reduction.kind.data} != {"serial"}:
        return None
    if alloc.buffer.shape or {clear.buffer, update.buffer} != {name} or clear.value.value != 0:
        return None
    starts = loop.start.is_int(0) and reduction.start.is_int(0)
    if not starts or loop.var in reduction.extent.free:
        return None
    parts = _parts(update.value, loop.var)
    counted = load(name, (), alloc.buffer.dtype)
    read = {str(n.value) for n in loads(update.value)}
    if parts is None or result.buffer in read or counted not in loads(result.value):
        return None
    return Tally(reduction, *parts, result, counted)


def _parts(value: Expr, name: str) -> tuple[Expr, tuple[Expr, ...], Expr] | None:
    """Place, other conditions, and what is counted; none of these knows the result's number."""
    if value.op == "select" and value.args[2].is_const and value.args[2].value == 0:
        condition, counts, _ = value.args
    elif value.op == "cast" and value.args[0].dtype is bool_:
        condition, counts = value.args[0], const(1, value.dtype)
    else:
        return None
    given = _conjuncts(condition)
    places = [_place(e, name) for e in given]
    rest = tuple(e for e, place in zip(given, places, strict=True) if place is None)
    found = [place for place in places if place is not None]
    if len(found) != 1 or any(name in e.free for e in (*found, counts, *rest)):
        return None
    return found[0], rest, counts


def _conjuncts(e: Expr) -> list[Expr]:
    if e.op == "and" and e.dtype is bool_:
        return [part for a in e.args for part in _conjuncts(a)]
    return [e]


def _place(e: Expr, name: str) -> Expr | None:
    """What a condition says is equal to a loop's variable."""
    if e.op != "eq" or e.args[0].dtype not in _EXACT:
        return None
    for one, other in (e.args, e.args[::-1]):
        number = other.args[0] if other.op == "cast" else other
        if number is var(name) and name not in one.free:
            return one
    return None


def apply(nest: Nest, target: str, inner: str, chunk: int) -> None:
    loop = nest.loops[target]
    found = tally_of(loop)
    assert found is not None  # check passed
    made = _written(nest, loop, found, chunk)
    for op in made:
        op.location = loop.location
    insert_before(loop, made)
    detach(loop)


def _written(nest: Nest, loop: ForOp, found: Tally, chunk: int) -> list[Operation]:
    name, inner = loop.var, found.reduction.var
    count, places = nest.fresh(f"{name}_count"), nest.fresh(f"{name}_place")
    dtype = found.counted.dtype
    ones = found.value.is_const and found.value.value == 1
    wide = int64 if ones else float64 if dtype.is_floating_point else dtype
    clear, outer = nest.fresh(f"{name}_z"), nest.fresh(f"{inner}_o")
    first, second = nest.fresh(f"{inner}_k"), nest.fresh(f"{inner}_u")
    start = var(outer) * chunk
    here = binary("min", const(chunk), found.reduction.extent - start)
    at_first, at_second = (substituting({inner: start + var(each)}) for each in (first, second))
    last = loop.extent
    number = select(_lies_within(found, last), cast(found.place, int32), cast(last, int32))
    place = cast(load(places, [var(second)], int32), int64)
    value = const(1, wide) if ones else cast(at_second(found.value), wide)
    turn = [
        AllocOp(Buffer(places, int32, (const(chunk),)), "stack"),
        ForOp(first, here, [StoreOp(places, [var(first)], at_first(number))]),
        ForOp(second, here, [UpdateOp(count, [place], "add", value)]),
    ]
    counted = cast(load(count, [var(name)], wide), dtype)
    result = replaced(found.result.value, found.counted, counted)
    return [
        AllocOp(Buffer(count, wide, (last + 1,)), "stack"),
        ForOp(clear, last + 1, [StoreOp(count, [var(clear)], const(0, wide))]),
        ForOp(outer, (found.reduction.extent + (chunk - 1)) // chunk, turn),
        ForOp(name, last, [StoreOp(found.result.buffer, found.result.indices, result)]),
    ]


def _lies_within(found: Tally, extent: Expr) -> Expr:
    """Whether an element counts for any result."""
    x = found.place
    tests = [*found.given, binary("ge", x, const(0, x.dtype)), x < cast(extent, x.dtype)]
    if x.dtype.is_floating_point:
        tests.append(call("floor", x).equals(x))
    return all_of(tests)
