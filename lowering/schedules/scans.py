"""Rewrite the scans of a program (`scan_shape.py`) to scans of vectors.

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
dtype (`LIMIT`), or anything else is not as hoped, the loop goes on as it stood, from there.
Method: Blelloch, "Prefix sums and their applications", 1990; of minima of sums in dynamic
programming, Hillis and Steele (see `ScanOp`).
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, load, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssignOp,
    ForOp,
    FuncOp,
    IfOp,
    ScanOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.walks import walk_ops

from ..te.names import Names
from ..te.rebuild import copy_all, substituting
from .linear_recurrence import LinearRecurrence
from .scan_safety import throughout
from .scan_shape import LEAST_LANES, Memory, Scan, scan_of

_LANE_BYTES = 8
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_MOST_STEP = 1 << 32
"""Steps that are known only when the loop runs, and greater, are left to the loop."""


def scan_recurrences(func: FuncOp, vector_bytes: int) -> None:
    """Rewrite the suitable loops of a host function in place."""
    lanes = vector_bytes // _LANE_BYTES
    loops = [op for op in walk_ops(func) if isinstance(op, WhileOp)]
    if lanes < LEAST_LANES or not loops:
        return
    names, memory = Names(func), Memory(func)
    for loop in loops:
        if (found := scan_of(loop, memory, names)) is None:
            continue
        block = loop.parent
        assert block is not None
        for made in _in_vectors(found, lanes, names):
            made.location = loop.location
            block.insert_op_before(made, loop)


def _in_vectors(scan: Scan, lanes: int, names: Names) -> list[Operation]:
    """Statements to stand before the loop; none if its assertions ask for more than two tests."""
    counter, limit = var(scan.counting.counter), scan.counting.limit
    facts = throughout(scan.facts, scan.counting.counter, lanes)
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


def _vector(scan: Scan, lanes: int, names: Names) -> list[Operation]:
    """The next iterations as lanes."""
    counter, step = scan.counting.counter, scan.recurrence
    lane, here = _lane(scan, names)
    assert step.value is not None
    value = substitute(step.value, here)
    one = ScanOp(scan.result, scan.carried, step.combiner, value, step.step)
    body = [one, *copy_all(scan.stores, substituting(here))]
    return [ForOp(lane, lanes, body, "vector"), AssignOp(counter, var(counter) + lanes)]


def _checked(scan: Scan, bounds: _Bounds, room: Expr, lanes: int, names: Names) -> list[Operation]:
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


def _lane(scan: Scan, names: Names) -> tuple[str, dict[str, Expr]]:
    """A name for a lane, and the counter in it."""
    counter = scan.counting.counter
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


def _bounds(step: LinearRecurrence, lanes: int) -> _Bounds:
    by = step.step
    if by.is_int(0):
        return _Bounds(())
    most = ("le", const(_HIGHEST) - binary("max", by, const(0)) * lanes)
    least = ("ge", const(_LOWEST) - binary("min", by, const(0)) * lanes)
    if by.is_const and abs(int(str(by))) <= _MOST_STEP:
        return _Bounds((most if int(str(by)) > 0 else least,))
    return _Bounds((most, least), (by <= _MOST_STEP, by >= -_MOST_STEP))
