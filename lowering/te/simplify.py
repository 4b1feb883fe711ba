"""simplify: expressions under their loops' ranges, and structure that became trivial.

```
for i in 0 .. 1 { if i < N + 1 { y[i] = x[i * 4 // 4] } }   -->   y[0] = x[0]
```

Loops of no iterations vanish and serial loops of one are substituted; constant conditions are
decided, directly nested conditions merged, and a condition that does not depend on the serial loop
around it moves out of it. One walk, outer before inner, so that every body sees final ranges.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, all_of
from tensorscript.dialects.te.ops import ForOp, FuncOp, IfOp
from tensorscript.dialects.te.ranges import Interval, inside_loop
from tensorscript.dialects.te.simplify import Simplifier

from .dependence import loads_of
from .nest import Nest, detach, function_ranges, insert_before, only_child, substitute_in


class _Pass:
    def __init__(self, func: FuncOp) -> None:
        self.mutable = Nest(func).mutable
        self._block(func.block, function_ranges(func), ())

    def _block(self, block: Block, ranges: Mapping[str, Interval], facts: tuple[Expr, ...]) -> None:
        simplify = Simplifier(ranges, facts)
        work = list(block.ops)[::-1]
        while work:
            op = work.pop()
            self._expressions(op, simplify)
            fresh: list[Operation] | None = None
            if isinstance(op, ForOp):
                fresh = self._loop(op, ranges, facts)
            elif isinstance(op, IfOp):
                fresh = self._condition(op, ranges, facts)
            else:
                for region in op.regions:
                    self._block(region.block, ranges, ())
            if fresh is not None:
                work.extend(reversed(fresh))

    def _expressions(self, op: Operation, simplify: Simplifier) -> None:
        for key, attribute in op.properties.items():
            if isinstance(attribute, ExprAttr):
                e = simplify(attribute.data)
                if e is not attribute.data:
                    op.properties[key] = ExprAttr(e)
            elif isinstance(attribute, ExprsAttr):
                items = tuple(map(simplify, attribute.data))
                if any(a is not b for a, b in zip(items, attribute.data, strict=True)):
                    op.properties[key] = ExprsAttr(items)

    def _loop(
        self, op: ForOp, ranges: Mapping[str, Interval], facts: tuple[Expr, ...]
    ) -> list[Operation] | None:
        """Statements that take the loop's place and are still to be looked at; None keeps it."""
        if op.extent.is_const and int(str(op.extent)) <= 0:
            detach(op)
            return []
        if op.extent.is_int(1) and op.kind.data in ("serial", "unroll"):
            return self._replace(op, list(op.block.ops), {op.var: op.start})
        child = only_child(op.block)
        if isinstance(child, IfOp) and op.kind.data == "serial" and self._invariant(child, op):
            return self._hoist(op, child)
        inner = inside_loop(op.var, op.start, op.extent, ranges, op.chunk)
        self._block(op.block, inner, facts)
        if op.block.first_op is None:
            detach(op)
            return []
        return None

    def _replace(
        self, op: Operation, body: list[Operation], values: Mapping[str, Expr]
    ) -> list[Operation]:
        for child in body:
            detach(child)
        insert_before(op, body)
        if values:
            substitute_in(body, values)
        detach(op)
        return body

    def _invariant(self, condition: IfOp, loop: ForOp) -> bool:
        e = condition.condition
        if condition.else_body.block.ops or loop.var in e.free:
            return False
        return not loads_of(e) and not e.free & self.mutable

    def _hoist(self, loop: ForOp, condition: IfOp) -> list[Operation]:
        """`for { if (c) { s } }` becomes `if (c) { for { s } }`."""
        insert_before(loop, [outer := IfOp(condition.condition)])
        outer.location = condition.location
        body = list(condition.then_body.block.ops)
        detach(condition)
        for child in body:
            detach(child)
            loop.block.add_op(child)
        detach(loop)
        outer.then_body.block.add_op(loop)
        return [outer]

    def _condition(
        self, op: IfOp, ranges: Mapping[str, Interval], facts: tuple[Expr, ...]
    ) -> list[Operation] | None:
        then, other = op.then_body.block, op.else_body.block
        if op.condition.is_const:
            taken = then if op.condition.value else other
            return self._replace(op, list(taken.ops), {})
        child = only_child(then)
        if isinstance(child, IfOp) and not other.ops and not child.else_body.block.ops:
            op.properties["condition_attr"] = ExprAttr(all_of([op.condition, child.condition]))
            body = list(child.then_body.block.ops)
            detach(child)
            for inner in body:
                detach(inner)
                then.add_op(inner)
            return [op]
        stable = not loads_of(op.condition) and not op.condition.free & self.mutable
        self._block(then, ranges, (*facts, op.condition) if stable else facts)
        self._block(other, ranges, facts)
        if then.first_op is None and other.first_op is None:
            detach(op)
            return []
        return None


def simplify_function(func: FuncOp) -> FuncOp:
    """Simplify `func` in place; expressions keep their values, statements their effects."""
    _Pass(func)
    return func
