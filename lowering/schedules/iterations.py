"""Iterations of a program's loop as the lanes of a vector.

```
te.var n: i64 = 0                              te.alloc stack n_a: i64[]
te.while i < size {                            te.store n_a[] = 0
  te.var z: f64 = f64(i)                       te.for i_o in 0 .. (max(size, 0) + 15) // 16 serial {
  te.while z < 4.0 {                             te.for i_v in 0 .. 16 vector {
    te.assign z = z * z + c              -->       te.if i_o * 16 + i_v < size {
  }                                                  te.var z: f64 = f64(i_o * 16 + i_v)
  te.assign n = select(z < 5.0, n + 1, n)            te.while z < 4.0 { ... }
  te.assign i = i + 1                                te.update n_a[] add= select(z < 5.0, 1, 0)
}                                                } } }
                                               te.assign n = n + n_a[]
```
This pays where a loop inside waits for its own last result. The count must be known when the loop
starts, and what an iteration leaves behind may only be sums and extremes of integers. Conditions
inside differ from lane to lane: the emitter runs both sides under masks and an inner loop until its
last lane is done. Each lane computes exactly what the iteration would have. The model is that of
Pharr and Mark, "ispc: A SPMD compiler for high-performance CPU programming", InPar 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Block, Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, var
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
from tensorscript.dialects.te.rewriting import loads, substitute, walk
from tensorscript.dialects.tg.ops import identity

from ..te.names import Names
from ..te.nest import expressions
from ..te.rebuild import copy_all, substituting
from .if_convert import INTEGER_DIVISIONS, if_convert
from .recurrence import recurrence

REGISTERS = 2
"""Vectors of 64-bit lanes side by side: a recurrence waits for its latency, two overlap."""

_LANE_BYTES = 8


@dataclass(frozen=True)
class _Carried:
    """`name = combine(name, value)` once an iteration."""

    name: str
    combiner: str
    value: Expr


@dataclass(frozen=True)
class _Loop:
    """A counting loop with independent iterations.

    Attributes:
        body: its statements without those that update the counter and the carried scalars.
    """

    loop: WhileOp
    counter: str
    trip: Expr
    body: list[Operation]
    carried: list[_Carried]


def vectorize_iterations(func: FuncOp, vector_bytes: int) -> bool:
    """Rewrite the innermost suitable loops of a host function in place; True if there was one."""
    names = Names(func)
    lanes = REGISTERS * vector_bytes // _LANE_BYTES
    return _inside(func.block, lambda found: _vectorized(found, lanes, names), names)


def _inside(block: Block, rewrite: Callable[[_Loop], list[Operation]], names: Names) -> bool:
    changed = False
    for op in list(block.ops):
        for region in op.regions:
            changed |= _inside(region.block, rewrite, names)
        if not isinstance(op, WhileOp) or (found := _independent(op, names)) is None:
            continue
        for made in rewrite(found):
            made.location = op.location
            block.insert_op_before(made, op)
        op.detach()
        op.erase()
        changed = True
    return changed


# --- is it one? ---------------------------------------------------------------------------------


def _independent(op: WhileOp, names: Names) -> _Loop | None:
    """The loop, if it counts to a number fixed beforehand and its iterations do not meet."""
    counter, trip = _bounds(op)
    *rest, last = op.block.ops or (op,)
    if not counter or not _counts(last, counter) or not _plain(rest):
        return None
    body = if_convert(copy_all(rest, lambda e: e), names.fresh)
    own = {s.var for s in _all(body) if isinstance(s, LetOp | VarOp)}
    assigned = {s.var for s in _all(body) if isinstance(s, AssignOp)} - own
    if counter in assigned or not trip.free.isdisjoint(assigned | own):
        return None
    carried = []
    for name in sorted(assigned):
        if (found := _carried(name, body)) is None:
            return None
        carried += found
    if any(not c.value.free.isdisjoint(assigned) for c in carried):
        return None
    return _Loop(op, counter, trip, body, carried)


def _bounds(op: WhileOp) -> tuple[str, Expr]:
    """Counter and limit of `while counter < limit`."""
    condition = op.condition
    if condition.op != "lt" or condition.args[0].op != "var" or loads(condition):
        return "", condition
    return str(condition.args[0].value), condition.args[1]


def _counts(op: Operation, counter: str) -> bool:
    return isinstance(op, AssignOp) and op.var == counter and op.value is var(counter) + 1


def _all(statements: list[Operation]) -> Iterator[Operation]:
    for op in statements:
        yield from op.walk()


def _plain(statements: list[Operation]) -> bool:
    """An inner loop, and only arithmetic that lanes do well.

    A loop without one inside is LLVM's to unroll or to solve.
    """
    for op in _all(statements):
        if not isinstance(op, LetOp | VarOp | AssignOp | IfOp | WhileOp):
            return False
        if any(loads(e) or is_slow(e) for e in expressions(op)):
            return False
    return any(isinstance(op, WhileOp) for op in _all(statements))


def is_slow(e: Expr) -> bool:
    """A division that vectors have no instruction for: of integers, not by a power of two."""
    return any(
        n.op in INTEGER_DIVISIONS
        and not n.dtype.is_floating_point
        and not (n.args[1].is_const and _is_power_of_two(int(str(n.args[1].value))))
        for n in walk(e)
    )


def _is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


def _carried(name: str, body: list[Operation]) -> list[_Carried] | None:
    """What an iteration adds to `name`; removes the statements that do it from `body`.

    None if its value is used for anything else, or more than one statement assigns it, or what is
    added changes before the iteration ends, which is when the lanes add it.
    """
    chain: dict[str, Expr] = {}
    mine: list[Operation] = []
    for op in body:
        reads = {name, *chain}
        used = any(not reads.isdisjoint(e.free) for o in op.walk() for e in expressions(o))
        writes = any(isinstance(o, AssignOp) and o.var == name for o in op.walk())
        if not (used or writes):
            continue
        if isinstance(op, LetOp):
            chain[op.var] = substitute(op.value, chain)
        elif not isinstance(op, AssignOp) or op.var != name or name in chain:
            return None
        else:
            chain[name] = substitute(op.value, chain)
        mine.append(op)
    if name not in chain or not isinstance(mine[-1], AssignOp):
        return None
    value = chain[name]
    step = recurrence(value, var(name, value.dtype))
    later = _all(body[body.index(mine[0]) :])
    changing = {op.var for op in later if isinstance(op, AssignOp)} - {name}
    if step is None or not value.free.isdisjoint(changing):
        return None
    for op in mine:
        body.remove(op)
    return [] if step.value is None else [_Carried(name, step.combiner, step.value)]


# --- the rewrite --------------------------------------------------------------------------------


def _vectorized(found: _Loop, lanes: int, names: Names) -> list[Operation]:
    block, lane = names.fresh(f"{found.counter}_o"), names.fresh(f"{found.counter}_v")
    at = var(block) * lanes + var(lane)
    rewrite = substituting({found.counter: at})
    body = copy_all(found.body, rewrite)
    before: list[Operation] = []
    after: list[Operation] = []
    for c in found.carried:
        own, dtype = names.fresh(f"{c.name}_a"), c.value.dtype
        before.append(AllocOp(Buffer(own, dtype, ()), "stack"))
        before.append(StoreOp(own, (), identity(c.combiner, dtype)))
        body.append(UpdateOp(own, (), c.combiner, rewrite(c.value)))
        total = binary(c.combiner, var(c.name, dtype), load(own, (), dtype))
        after.append(AssignOp(c.name, total))
    blocks = (binary("max", found.trip, const(0)) + (lanes - 1)) // lanes
    guarded = IfOp(at < found.trip, body)
    return [*before, ForOp(block, blocks, [ForOp(lane, lanes, [guarded], "vector")]), *after]
