"""What the last iteration gave comes last in minima and maxima of integers.

```
while j < n {
  t[i, j + 1] = min(min(t[i, j] + 1, x[j]), y[j])  -->  min(min(x[j], y[j]), t[i, j] + 1)
  j = j + 1 }
```
An iteration waits for the one before only from there on: what comes earlier in the chain is done
side by side with other iterations. Integers alone, whose minima are associative.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, binary, var
from tensorscript.dialects.te.ops import AssignOp, FuncOp, LetOp, StoreOp, WhileOp
from tensorscript.dialects.te.rewriting import loads, substitute, transform, walk
from tensorscript.dialects.walks import walk_ops

from ..te.nest import detach
from ..te.rebuild import copy_statement
from .counting import counter_of

Element = tuple[str, tuple[Expr, ...]]


def carried_last(func: FuncOp) -> None:
    """Rewrite the counting loops of a host function in place."""
    for op in list(walk_ops(func)):
        if isinstance(op, WhileOp) and (counter := counter_of(op)):
            _Body(op, counter).rewrite()


class _Body:
    """The statements directly in a loop.

    Attributes:
        late: the names whose values wait for the iteration before.
    """

    def __init__(self, loop: WhileOp, counter: str) -> None:
        self.ops: list[Operation] = list(loop.block.ops)
        self.next = {counter: var(counter) + 1}
        self.late = {op.var for op in self.ops if isinstance(op, AssignOp)} - {counter}
        self.places: dict[str, Expr] = {}
        for op in self.ops:
            if isinstance(op, LetOp) and op.value.dtype.is_integral and not loads(op.value):
                self.places[op.var] = substitute(op.value, self.places)
        self.stored: set[Element] = {
            (op.buffer, tuple(substitute(i, self.places) for i in op.indices))
            for op in self.ops
            if isinstance(op, StoreOp)
        }

    def rewrite(self) -> None:
        for op in self.ops:
            if not isinstance(op, LetOp | AssignOp | StoreOp):
                continue
            if isinstance(op, LetOp) and self._is_late(op.value):
                self.late.add(op.var)
            if any(e.op in ("min", "max") for e in walk(op.value)):
                block = op.parent
                assert block is not None
                block.insert_op_before(copy_statement(op, self._reordered), op)
                detach(op)

    def _reordered(self, e: Expr) -> Expr:
        return transform(e, self._late_last)

    def _late_last(self, e: Expr) -> Expr | None:
        if e.op not in ("min", "max") or not e.dtype.is_integral:
            return None
        early, late = e.args if self._is_late(e.args[1]) else e.args[::-1]
        if self._is_late(early) or not self._is_late(late):
            return None
        if late.op == e.op and not self._is_late(late.args[0]):
            return binary(e.op, binary(e.op, early, late.args[0]), late.args[1])
        return binary(e.op, early, late)

    def _is_late(self, e: Expr) -> bool:
        return not e.free.isdisjoint(self.late) or any(map(self._is_carried, loads(e)))

    def _is_carried(self, load: Expr) -> bool:
        """The iteration before has stored it."""
        places = (substitute(substitute(i, self.places), self.next) for i in load.args)
        return (str(load.value), tuple(places)) in self.stored
