"""Recurrences of a program's loop as scans of vectors.

```
te.while j < m {                           te.if room {
  te.let c: i64 = E(j)                       te.var x: i64 = t[i, j]     te.var go: b1 = True
  te.let d: i64 = t[i, j]                    te.while go & room {
  te.store t[i, j + 1] = min(c, d + 1)         te.store fits[] = x <= LIMIT
  te.assign j = j + 1                          te.for v in 0 .. 8 vector {
}                                                te.update fits[] and= E(j + v) <= LIMIT }
                                     -->       te.assign go = fits[]
                                               te.if go {
                                                 te.for v in 0 .. 8 vector {
                                                   te.scan s: i64 of x min= E(j + v), step 1
                                                   te.store t[i, j + v + 1] = s }
                                                 te.assign j = j + 8 } } }
                                           te.while j < m { ... }       as before: what is left
```
`room`: eight iterations are left, and no assertion of theirs fails; assertions compare what grows
with the counter, so the first and the last iteration speak for all. Where a sum might leave the
dtype (`LIMIT`), or anything else is not as hoped, the loop goes on as it stood, from there. What is
carried is a variable, or the element that the iteration before stored. Integers alone: floats are
never added up in another order. Method: Blelloch, "Prefix sums and their applications", 1990; of
minima of sums in dynamic programming, Hillis and Steele (see `ScanOp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, load, var
from tensorscript.dialects.te.lists import BindOp
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    AssignOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    ScanOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.rewriting import loads, substitute, transform
from tensorscript.dialects.walks import walk_ops

from ..te.affine import coefficient, known
from ..te.rebuild import copy_all, substituting
from .counting import Counting, counting
from .if_convert import if_convert
from .iterations import Names, is_slow
from .linear_recurrence import Linear, linear
from .scan_safety import Read, facts_apart, same, throughout

_LANE_BYTES = 8
LEAST_LANES = 4
"""Fewer lanes than this are no faster than one after the other."""

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_MOST_STEP = 1 << 32
"""Steps that are known only when the loop runs, and greater, are left to the loop."""


@dataclass(frozen=True)
class _Scan:
    """A counting loop whose iterations are steps of one recurrence.

    Attributes:
        recurrence: with a combiner.
        first: the element that holds what is carried before the first iteration; None where a
            variable holds it.
        carried: that variable, or a name for one.
        stores: what an iteration stores, by the counter and the result `name`.
        facts: what must hold in each iteration for it to run in a vector.
    """

    found: Counting
    recurrence: Linear
    first: Expr | None
    carried: str
    name: str
    stores: tuple[StoreOp, ...]
    facts: tuple[Expr, ...]


def scan_recurrences(func: FuncOp, vector_bytes: int) -> None:
    """Rewrite the suitable loops of a host function in place."""
    lanes = vector_bytes // _LANE_BYTES
    loops = [op for op in walk_ops(func) if isinstance(op, WhileOp)]
    if lanes < LEAST_LANES or not loops:
        return
    names, memory = Names(func), _Memory(func)
    for loop in loops:
        if (found := _recognised(loop, memory, names)) is None:
            continue
        block = loop.parent
        assert block is not None
        for made in _in_vectors(found, lanes, names):
            made.location = loop.location
            block.insert_op_before(made, loop)


class _Memory:
    """Which buffers of a function share no memory: parameters and what it allocates, and the
    elements of lists if the lists are not one."""

    def __init__(self, func: FuncOp) -> None:
        ops = list(walk_ops(func))
        mutable = {op.var for op in ops if isinstance(op, VarOp)}
        self.own = {b.name for b in func.buffers}
        self.own |= {op.buffer.name for op in ops if isinstance(op, AllocOp)}
        binds = [op for op in ops if isinstance(op, BindOp)]
        self.lists = {b.buffer.name: b.handle for b in binds if b.handle.free.isdisjoint(mutable)}

    def apart(self, a: str, b: str) -> list[Expr] | None:
        """What must hold for two buffers to share no memory, or to be one; None if not known."""
        if a == b or a in self.own or b in self.own:
            return []
        one, other = self.lists.get(a), self.lists.get(b)
        if one is None or other is None or one is other:
            return None
        return [binary("ne", one, other)]


# --- is it one? ---------------------------------------------------------------------------------


def _recognised(loop: WhileOp, memory: _Memory, names: Names) -> _Scan | None:
    found = counting(loop)
    if found is None or (found.limit.is_const and int(str(found.limit)) < LEAST_LANES):
        return None
    body = copy_all(loop.block.ops, lambda e: e) if _is_plain(loop) else []
    body = if_convert(body[:-1], names.fresh)
    if not body or not all(isinstance(op, LetOp | AssignOp | StoreOp | AssertOp) for op in body):
        return None
    return _Body(found, body).scan(memory, names)


def _is_plain(loop: WhileOp) -> bool:
    kinds = (LetOp, AssignOp, StoreOp, AssertOp, IfOp)
    return all(isinstance(op, kinds) for op in walk_ops(loop))


class _Body:
    """One iteration by the counter and by what is carried: no name that it binds is left."""

    def __init__(self, found: Counting, body: Sequence[Operation]) -> None:
        self.found = found
        self.counter = found.counter
        self.values: dict[str, Expr] = {}
        self.stores: list[StoreOp] = []
        self.facts: list[Expr] = []
        self.changing = {op.var for op in body if isinstance(op, AssignOp)}
        self.read: list[Read] = []
        self.assigned: dict[str, Expr] = {}
        self.is_simple = True
        for op in body:
            self._follow(op)

    def _follow(self, op: Operation) -> None:
        match op:
            case LetOp():
                self.values[op.var] = self._of(op.value)
            case AssignOp():
                self.is_simple &= op.var not in self.assigned
                self.assigned[op.var] = self.values[op.var] = self._of(op.value)
            case StoreOp():
                indices, value = [self._of(i) for i in op.indices], self._of(op.value)
                self.is_simple &= all(s.buffer != op.buffer for s in self.stores)
                self.stores.append(StoreOp(op.buffer, indices, value))
            case AssertOp():
                self.facts.append(self._of(op.condition))

    def _of(self, e: Expr) -> Expr:
        self.read += [Read(self._bound(n), len(self.stores)) for n in loads(e)]
        return self._bound(e)

    def _bound(self, e: Expr) -> Expr:
        return transform(substitute(e, self.values), self._from_the_front)

    def _from_the_front(self, e: Expr) -> Expr | None:
        """The index that `select(i < 0, i + size, i)` is where none counts from behind."""
        if e.op != "select" or e.args[0].op != "lt" or e.dtype is not int64:
            return None
        index, zero = e.args[0].args
        if e.args[2] is not index or not zero.is_int(0) or loads(index):
            return None
        if index.free.isdisjoint(self.changing):
            self.facts.append(index >= 0)
            return index
        return None

    def scan(self, memory: _Memory, names: Names) -> _Scan | None:
        """The loop as a scan, if it is one."""
        touched = {s.buffer for s in self.stores} | {r.buffer for r in self.read}
        known = all(
            self._know_apart(memory, s.buffer, other) for s in self.stores for other in touched
        )
        fixed = self.found.limit.free.isdisjoint(self.values.keys() | {self.counter})
        if not (self.is_simple and known and fixed and self.stores) or len(self.assigned) > 1:
            return None
        if self.assigned:
            ((carried, value),) = self.assigned.items()
            return self._made(carried, None, value, names)
        for store in self.stores:
            if (first := self._element_before(store)) is not None:
                return self._made(names.fresh("carried"), first, store.value, names)
        return None

    def _know_apart(self, memory: _Memory, a: str, b: str) -> bool:
        """Whether two buffers share no memory, or a fact says so."""
        facts = memory.apart(a, b)
        self.facts += facts or []
        return facts is not None

    def _element_before(self, store: StoreOp) -> Expr | None:
        """The element that the iteration before has stored so, if this one reads it."""
        after = {self.counter: var(self.counter) + 1}
        for n in (r.element for r in self.read if r.buffer == store.buffer):
            places = zip(n.args, store.indices, strict=True)
            if all(same(substitute(i, after), k) for i, k in places):
                return n
        return None

    def _made(self, carried: str, first: Expr | None, value: Expr, names: Names) -> _Scan | None:
        x = var(carried, value.dtype)
        stores = self.stores
        if first is not None:
            stores = [_mapped(s, first, x) for s in stores]
            value = transform(value, lambda n: x if n is first else None)
        step = self._steady(linear(value, x)) if value.dtype is int64 else None
        if step is None:
            return None
        name = names.fresh(f"{carried}_s")
        stores = [_by_result(s, value, step, x, name) for s in stores]
        apart = self._apart({self.counter, carried}, first)
        if apart is None or any(not self._lies_in_lanes(s, carried) for s in stores):
            return None
        return _Scan(self.found, step, first, carried, name, tuple(stores), (*self.facts, *apart))

    def _steady(self, step: Linear | None) -> Linear | None:
        """The recurrence with a step that is one number for the whole loop: a sum of what varies
        has none. What has no value is LLVM's to solve."""
        if step is None:
            return None
        varies = self.counter in step.step.free or bool(loads(step.step))
        if varies and not step.combiner:
            step, varies = Linear("add", step.step, const(0)), False
        return None if varies or step.value is None or is_slow(step.value) else step

    def _lies_in_lanes(self, store: StoreOp, carried: str) -> bool:
        """What it stores is known by the result alone; the elements of iterations differ."""
        names = {n for e in (store.value, *store.indices) for n in e.free}
        slopes = [coefficient(i, self.counter) for i in store.indices]
        walks = [known(e) for e in slopes if e is not None]
        if carried in names or is_slow(store.value) or None in slopes or None in walks:
            return False
        return any(walks) and not any(loads(i) for i in store.indices)

    def _apart(self, varying: set[str], first: Expr | None) -> list[Expr] | None:
        found: list[Expr] = []
        for read in (r for r in self.read if r.element is not first):
            facts = facts_apart(read, self.stores, self.counter, varying)
            if facts is None:
                return None
            found += facts
        return found


def _mapped(store: StoreOp, old: Expr, new: Expr) -> StoreOp:
    """With another expression in the place of one."""

    def visit(e: Expr) -> Expr:
        return transform(e, lambda n: new if n is old else None)

    return StoreOp(store.buffer, [visit(i) for i in store.indices], visit(store.value))


def _by_result(store: StoreOp, value: Expr, step: Linear, x: Expr, name: str) -> StoreOp:
    """By the result of the iteration's step; a sum before it is the one after it less the value."""
    result = var(name, value.dtype)
    made = _mapped(store, value, result)
    if step.combiner != "add" or step.value is None:
        return made
    return _mapped(made, x, result - step.value)


# --- the rewrite --------------------------------------------------------------------------------


def _in_vectors(scan: _Scan, lanes: int, names: Names) -> list[Operation]:
    """Statements to stand before the loop; none if its assertions ask for more than two tests."""
    counter, limit = var(scan.found.counter), scan.found.limit
    facts = throughout(scan.facts, scan.found.counter, lanes)
    if facts is None:
        return []
    bounds = _bounds(scan.recurrence, lanes)
    room = all_of([counter < limit, limit - counter >= lanes, *facts.each])
    made: list[Operation] = []
    if scan.first is not None:
        made.append(VarOp(scan.carried, scan.first))
    if bounds.tests:
        made += _checked(scan, bounds, room, lanes, names)
    else:
        made.append(WhileOp(room, _vector(scan, lanes, names)))
    return [IfOp(all_of([room, *facts.once, *bounds.asked]), made)]


def _vector(scan: _Scan, lanes: int, names: Names) -> list[Operation]:
    """The next iterations as lanes."""
    counter, step = scan.found.counter, scan.recurrence
    lane, here = _lane(scan, names)
    assert step.value is not None
    value = substitute(step.value, here)
    one = ScanOp(scan.name, scan.carried, step.combiner, value, step.step)
    body = [one, *copy_all(scan.stores, substituting(here))]
    return [ForOp(lane, lanes, body, "vector"), AssignOp(counter, var(counter) + lanes)]


def _checked(scan: _Scan, bounds: _Bounds, room: Expr, lanes: int, names: Names) -> list[Operation]:
    """Vectors as long as what goes into them is within bounds."""
    fits, go = Buffer(names.fresh("fits"), bool_, ()), names.fresh("go")
    lane, here = _lane(scan, names)
    assert scan.recurrence.value is not None
    value = substitute(scan.recurrence.value, here)
    carried = var(scan.carried, value.dtype)
    test = UpdateOp(fits.name, (), "and", bounds.hold(value))
    turn: list[Operation] = [
        StoreOp(fits.name, (), bounds.hold(carried)),
        ForOp(lane, lanes, [test], "vector"),
        AssignOp(go, load(fits.name, (), bool_)),
        IfOp(var(go, bool_), _vector(scan, lanes, names)),
    ]
    whole = WhileOp(all_of([var(go, bool_), room]), turn)
    return [AllocOp(fits, "stack"), VarOp(go, const(True, bool_)), whole]


def _lane(scan: _Scan, names: Names) -> tuple[str, dict[str, Expr]]:
    """A name for a lane, and the counter in it."""
    counter = scan.found.counter
    lane = names.fresh(f"{counter}_v")
    return lane, {counter: var(counter) + var(lane)}


@dataclass(frozen=True)
class _Bounds:
    """What keeps the sums of a value and the steps of a vector within the dtype.

    Attributes:
        tests: comparisons and the numbers that each value has to compare so with.
        asked: what must hold of the step for these numbers to be right.
    """

    tests: tuple[tuple[str, Expr], ...]
    asked: tuple[Expr, ...] = ()

    def hold(self, value: Expr) -> Expr:
        return all_of(binary(op, value, number) for op, number in self.tests)


def _bounds(step: Linear, lanes: int) -> _Bounds:
    by = step.step
    if by.is_int(0):
        return _Bounds(())
    most = ("le", const(_HIGHEST) - binary("max", by, const(0)) * lanes)
    least = ("ge", const(_LOWEST) - binary("min", by, const(0)) * lanes)
    if by.is_const and abs(int(str(by))) <= _MOST_STEP:
        return _Bounds((most if int(str(by)) > 0 else least,))
    return _Bounds((most, least), (by <= _MOST_STEP, by >= -_MOST_STEP))
