"""Recognise the scans of a program: counting loops whose iterations are steps of one recurrence.

```
te.while j < m {
  te.let c: i64 = E(j)                 recurrence   x = min(E(j), x + 1)
  te.let d: i64 = t[i, j]         ->   carried      x, the element before the first: t[i, j]
  te.store t[i, j + 1] = min(c, d + 1)   stores       t[i, j + 1] = s, the step's result
  te.assign j = j + 1 }
```
An iteration is evaluated symbolically (King, "Symbolic execution and program testing", CACM 19(7),
1976): what it stores, asserts and assigns becomes expressions over the counter and what is carried,
a variable or the element that the iteration before stored. Integers alone: floats are never added
up in another order. Where iterations of a vector may touch one element, or a recurrence is none of
an associative operator (`linear_recurrence.py`), the loop is not recognised.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, const, var
from tensorscript.dialects.te.lists import BindOp
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    AssignOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.rewriting import loads, replaced, substitute, transform
from tensorscript.dialects.walks import walk_ops

from ..te.affine import coefficient, known
from ..te.names import Names
from ..te.rebuild import copy_all
from .counting import Counting, counting
from .if_convert import if_convert
from .iterations import is_slow
from .linear_recurrence import LinearRecurrence, linear_recurrence
from .scan_safety import Read, facts_apart, same

LEAST_LANES = 4
"""Fewer lanes than this are no faster than one after the other."""


@dataclass(frozen=True)
class Scan:
    """A counting loop whose iterations are steps of one recurrence.

    Attributes:
        recurrence: with a combiner and a value.
        first: the element that holds what is carried before the first iteration; None where a
            variable holds it.
        carried: that variable, or a name for one.
        result: a name for what a step makes of it.
        stores: what an iteration stores, by the counter and the result.
        facts: what must hold in each iteration for it to run in a vector.
    """

    counting: Counting
    recurrence: LinearRecurrence
    first: Expr | None
    carried: str
    result: str
    stores: tuple[StoreOp, ...]
    facts: tuple[Expr, ...]


class Memory:
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

    def facts(self, iteration: _Iteration) -> list[Expr] | None:
        """What must hold for what an iteration stores into to share no memory with all else."""
        stored = [s.buffer for s in iteration.stores]
        touched = dict.fromkeys([*stored, *(r.buffer for r in iteration.reads)])
        found = [self.apart(a, b) for a in stored for b in touched]
        return None if None in found else [fact for facts in found for fact in facts or ()]


def scan_of(loop: WhileOp, memory: Memory, names: Names) -> Scan | None:
    """The loop, which stays as it is, as a scan; None if it is not one."""
    found = counting(loop)
    if found is None or (found.limit.is_const and int(str(found.limit)) < LEAST_LANES):
        return None
    iteration = _iteration(found, names)
    if iteration is None:
        return None
    carried = _carried(iteration, names)
    if carried is None or carried.x.dtype is not int64:
        return None
    x, counter = str(carried.x.value), found.counter
    step = _steady(linear_recurrence(carried.next, carried.x), counter)
    if step is None:
        return None
    result = names.fresh(f"{x}_s")
    by_result = var(result, carried.x.dtype)
    stores = [_by_result(s, carried, step, by_result) for s in iteration.stores]
    buffers_apart = memory.facts(iteration)
    reads_apart = _reads_apart(iteration, carried.first, {counter, x})
    if buffers_apart is None or reads_apart is None:
        return None
    if not all(_lies_in_lanes(s, counter, x) for s in stores):
        return None
    facts = (*iteration.facts, *buffers_apart, *reads_apart)
    return Scan(found, step, carried.first, x, result, tuple(stores), facts)


def _iteration(found: Counting, names: Names) -> _Iteration | None:
    """One iteration of a loop that a scan may come of: each of its statements is simple, and it
    stores, but never twice into one buffer nor into two variables."""
    loop = found.loop
    body = copy_all(loop.block.ops, lambda e: e) if _is_plain(loop) else []
    body = if_convert(body[:-1], names.fresh)
    if not body or not all(isinstance(op, LetOp | AssignOp | StoreOp | AssertOp) for op in body):
        return None
    made = _Iteration(found.counter, body)
    fixed = found.limit.free.isdisjoint(made.values.keys() | {found.counter})
    return made if made.is_simple and fixed and made.stores and len(made.assigned) < 2 else None


def _is_plain(loop: WhileOp) -> bool:
    kinds = (LetOp, AssignOp, StoreOp, AssertOp, IfOp)
    return all(isinstance(op, kinds) for op in walk_ops(loop))


class _Iteration:
    """One iteration by the counter and by what is carried: no name that it binds is left.

    Attributes:
        values: what it binds and assigns.
        reads: what it reads, each with the number of stores before it.
        facts: what must hold for the rest to be right, its assertions among it.
        is_simple: whether it assigns no variable and stores into no buffer twice.
    """

    def __init__(self, counter: str, body: Sequence[Operation]) -> None:
        self.counter = counter
        self.values: dict[str, Expr] = {}
        self.assigned: dict[str, Expr] = {}
        self.stores: list[StoreOp] = []
        self.reads: list[Read] = []
        self.facts: list[Expr] = []
        self.is_simple = True
        self._changing = {op.var for op in body if isinstance(op, AssignOp)}
        for op in body:
            self._evaluate(op)

    def _evaluate(self, op: Operation) -> None:
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
        self.reads += [Read(self._bound(n), len(self.stores)) for n in loads(e)]
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
        if index.free.isdisjoint(self._changing):
            self.facts.append(index >= 0)
            return index
        return None


@dataclass(frozen=True)
class _Carried:
    """What an iteration hands to the next one.

    Attributes:
        x: the variable that holds it, or will.
        next: its value after an iteration, by `x`.
        first: the element that an iteration reads for `x`; None where it reads the variable.
    """

    x: Expr
    next: Expr
    first: Expr | None = None


def _carried(iteration: _Iteration, names: Names) -> _Carried | None:
    """The variable that the iteration assigns, or the first of its elements that the next reads."""
    if iteration.assigned:
        ((name, value),) = iteration.assigned.items()
        return _Carried(var(name, value.dtype), value)
    for store in iteration.stores:
        if (first := _element_before(iteration, store)) is not None:
            x = var(names.fresh("carried"), store.value.dtype)
            return _Carried(x, replaced(store.value, first, x), first)
    return None


def _element_before(iteration: _Iteration, store: StoreOp) -> Expr | None:
    """The element that the iteration before has stored so, if this one reads it."""
    after = {iteration.counter: var(iteration.counter) + 1}
    for n in (r.element for r in iteration.reads if r.buffer == store.buffer):
        places = zip(n.args, store.indices, strict=True)
        if all(same(substitute(i, after), k) for i, k in places):
            return n
    return None


def _steady(step: LinearRecurrence | None, counter: str) -> LinearRecurrence | None:
    """The recurrence with a value, and a step that is one number for the whole loop: a sum of what
    varies has none. What has no value is LLVM's to solve."""
    if step is None:
        return None
    varies = counter in step.step.free or bool(loads(step.step))
    if varies and not step.combiner:
        step, varies = LinearRecurrence("add", step.step, const(0)), False
    return None if varies or step.value is None or is_slow(step.value) else step


def _by_result(store: StoreOp, carried: _Carried, step: LinearRecurrence, result: Expr) -> StoreOp:
    """By the result of the iteration's step; a sum before it is the one after it less the value."""

    def rewritten(e: Expr) -> Expr:
        if carried.first is not None:
            e = replaced(e, carried.first, carried.x)
        e = replaced(e, carried.next, result)
        if step.combiner != "add" or step.value is None:
            return e
        return replaced(e, carried.x, result - step.value)

    return StoreOp(store.buffer, [rewritten(i) for i in store.indices], rewritten(store.value))


def _lies_in_lanes(store: StoreOp, counter: str, carried: str) -> bool:
    """What it stores is known by the result alone; the elements of iterations differ."""
    names = {n for e in (store.value, *store.indices) for n in e.free}
    slopes = [coefficient(i, counter) for i in store.indices]
    walks = [known(e) for e in slopes if e is not None]
    if carried in names or is_slow(store.value) or None in slopes or None in walks:
        return False
    return any(walks) and not any(loads(i) for i in store.indices)


def _reads_apart(iteration: _Iteration, first: Expr | None, varying: set[str]) -> list[Expr] | None:
    """What must hold for all but `first` to be read before the stores of a vector's iterations."""
    found: list[Expr] = []
    for read in (r for r in iteration.reads if r.element is not first):
        facts = facts_apart(read, iteration.stores, iteration.counter, varying)
        if facts is None:
            return None
        found += facts
    return found
