"""Fuse 0-dim tensors into the host code that reads them: a scalar, or one element being written.

```
%v = tg.view %x, %i <"a0.f32[a1]">
%w = tg.pointwise %v <"a0.f32[()] + (1.0).f32">          %s = tg.scalar %x, %i
%s = tg.scalar %w <"f64(a0.f32[()])">             -->         <"f64(a0.f32[a1] + (1.0).f32)">
```
What is read by one op only is computed where it is read, without a kernel and a buffer of one
element. It is not carried past the writing of an element, which might then need a copy of the
tensor it writes to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.te.buffers import ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, node
from tensorscript.dialects.te.rewriting import transform
from tensorscript.dialects.tg.names import operand_of
from tensorscript.dialects.tg.ops import ComputeOp, FuncOp, ScalarOp, ScatterOp

from .bodies import node_count

POINT_LIMIT = 256
"""Expressions grow no further than this many nodes."""


def is_point_write(op: Operation) -> bool:
    """A tg.scatter of one element: host code stores it."""
    return isinstance(op, ScatterOp) and not op.extents.data


def _expressions(op: ScalarOp | ScatterOp) -> list[Expr]:
    return [op.body.data, *(op.indices.data if isinstance(op, ScatterOp) else ())]


def _renamed(
    e: Expr, inputs: Sequence[SSAValue], values: list[SSAValue], chosen: Mapping[SSAValue, Expr]
) -> Expr:
    """`e` over the operands `values` (which grows), with the chosen inputs replaced."""

    def visit(n: Expr) -> Expr | None:
        number = operand_of(n)
        if number is None:
            return None
        value = inputs[number]
        if value in chosen:
            return chosen[value]
        if value not in values:
            values.append(value)
        return node(n.op, n.args, f"a{values.index(value)}", n.dtype)

    return transform(e, visit)


def _producer(
    value: SSAValue, consumer: Operation, since: int, place: Mapping[Operation, int]
) -> ComputeOp | None:
    """The op behind a 0-dim operand, if it may be computed where `consumer` stands."""
    op = value.owner
    if not isinstance(op, ComputeOp) or op.type.rank or op.parent is not consumer.parent:
        return None
    if any(use.operation is not consumer for use in op.result.uses) or place[op] < since:
        return None
    return op


def _run(block: Block) -> None:
    for op in block.ops:
        for region in op.regions:
            _run(region.block)
    since = -1
    place = {op: number for number, op in enumerate(block.ops)}
    for op in list(block.ops):
        if isinstance(op, ScalarOp) or is_point_write(op):
            assert isinstance(op, ScalarOp | ScatterOp)
            _inline_into(op, since, place)
        if is_point_write(op):
            since = place[op]


def _inline_into(op: ScalarOp | ScatterOp, since: int, place: dict[Operation, int]) -> None:
    """Take producers in, again and again, in place."""
    while True:
        found = {v: p for v in op.inputs if (p := _producer(v, op, since, place)) is not None}
        if not found or sum(map(node_count, _expressions(op))) > POINT_LIMIT:
            return
        values: list[SSAValue] = []
        chosen = {v: _renamed(p.expr, list(p.inputs), values, {}) for v, p in found.items()}
        fresh = [_renamed(e, list(op.inputs), values, chosen) for e in _expressions(op)]
        first = [op.base] if isinstance(op, ScatterOp) else []
        op.operands = [*first, *values]
        op.properties["body"] = ExprAttr(fresh[0])
        if isinstance(op, ScatterOp):
            op.properties["indices"] = ExprsAttr(tuple(fresh[1:]))
        for producer in found.values():
            if not producer.result.uses:
                producer.detach()
                producer.erase()


def inline_points(func: FuncOp) -> None:
    """Run on a function and the regions in it."""
    _run(func.block)
