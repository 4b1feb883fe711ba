"""Turn what the pairs of a reduction read along it, so that pairs lie side by side.

```
%d = tg.reduce %x, %y "add"                       %t = tg.pointwise %y <"a0.f32[i1, i0]">
     <"abs(a0[i0, r0] - a1[i1, r0])">        -->  %d = tg.reduce %x, %t "add"
                                                       <"abs(a0[i0, r0] - a1[r0, i1])">
```
Distances of all pairs of rows are a reduction each, at whose end lanes are added up; of turned
rows, lanes are pairs and each adds up its own. Products are not turned: they choose what they pack.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from tensorscript.dialects.te.buffers import ExprAttr
from tensorscript.dialects.te.expr import Expr, load, node, var
from tensorscript.dialects.te.rewriting import transform
from tensorscript.dialects.tg.names import operand_number
from tensorscript.dialects.tg.ops import FuncOp, PointwiseOp, ReduceOp
from tensorscript.dialects.tg.types import TensorType, tensor
from tensorscript.dialects.walks import walk_ops

from ..te.affine import known
from .bodies import reads_of

LEAST_PAIRS, LEAST_DEPTH, LEAST_TIMES = 16, 16, 8
"""Pairs side by side, elements that each adds up (fewer go along lanes as they lie), and how often
all that is turned is read."""
FOUND_SIZE = 64
"""What sizes are taken for that the program finds."""


def turn_pairs(func: FuncOp) -> None:
    """Rewrite the reductions of a function in place."""
    for op in list(walk_ops(func)):
        if isinstance(op, ReduceOp):
            _turn(op)


def _turn(op: ReduceOp) -> None:
    if not op.type.rank or [known(e) or 0 for e in op.extents.data] < [LEAST_DEPTH]:
        return
    found = {k: place for k in range(len(op.inputs)) if (place := _across(op, k)) is not None}
    rest = (e for k in range(len(op.inputs)) if k not in found for at in _reads(op, k) for e in at)
    if not found or len(found) == len(op.inputs) or any(_pair(op) in e.free for e in rest):
        return
    block = op.parent
    assert block is not None
    inputs = list(op.inputs)
    for number, place in found.items():
        made = _turned(inputs[number], place)
        made.location = op.location
        block.insert_op_before(made, op)
        inputs[number] = made.result

    def visit(n: Expr) -> Expr | None:
        number = operand_number(str(n.value)) if n.op == "load" else None
        if number not in found:
            return None
        return node(n.op, _last(n.args, found[number]), n.value, n.dtype)

    body = transform(op.body.data, visit)
    clone = ReduceOp.create(
        operands=inputs,
        result_types=[op.type],
        properties={**op.properties, "body": ExprAttr(body)},
    )
    clone.location = op.location
    block.insert_op_before(clone, op)
    op.result.replace_all_uses_with(clone.result)
    block.erase_op(op)


def _pair(op: ReduceOp) -> str:
    """The name of what goes along pairs that lie side by side."""
    return f"i{op.type.rank - 1}"


def _reads(op: ReduceOp, number: int) -> list[tuple[Expr, ...]]:
    return reads_of(op.body.data, number)


def _across(op: ReduceOp, number: int) -> int | None:
    """The dimension of an operand that pairs side by side go along, where the reduction goes along
    the last one, and enough other pairs read the same."""
    reads, pair = _reads(op, number), var(_pair(op))
    places = {d for at in reads for d, e in enumerate(at) if _pair(op) in e.free}
    if len(op.extents.data) != 1 or len(places) != 1:
        return None
    (place,) = places
    if any(at[place] is not pair or at[-1] is not var("r0") for at in reads):
        return None
    used = frozenset[str]().union(*(e.free for at in reads for e in at))
    sizes = (known(size) for size in op.type.shape)
    *others, pairs = (FOUND_SIZE if size is None else size for size in sizes)
    times = prod(size for d, size in enumerate(others) if f"i{d}" not in used)
    return place if pairs >= LEAST_PAIRS and times >= LEAST_TIMES else None


def _last(indices: tuple[Expr, ...], place: int) -> tuple[Expr, ...]:
    return (*indices[:place], *indices[place + 1 :], indices[place])


def _turned(value: SSAValue, place: int) -> PointwiseOp:
    """A copy with one dimension put last."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    here = [var(f"i{d}") for d in range(type_.rank)]
    source = [*here[:place], here[-1], *here[place:-1]]
    body = load("a0", source, type_.dtype)
    return PointwiseOp([value], body, tensor(type_.dtype, _last(tuple(type_.shape), place)))
