"""Fuse pointwise producers and views into their consumers by substitution.

```
%e = tg.pointwise %x <"exp(a0.f32[i0, i1])">              %s = tg.reduce %x "add"
%s = tg.reduce %e "add" <"a0.f32[i0, r0]"> over <"64">  -->      <"exp(a0.f32[i0, r0])"> over <"64">
```
A producer goes into all its consumers if that repeats little work: it has one consumer that reads
each element once, or its body is cheap. What is still read afterwards is kept (and may become a
stage of the same kernel, see `fuse_cpu`). Bodies are shared DAGs, so text is never duplicated.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.te.buffers import ExprAttr
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.tg.names import numbered
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    ContractOp,
    FuncOp,
    GatherOp,
    ReductionOp,
)

from ..te.choices import are_many
from .bodies import (
    compact_operands,
    expensive_count,
    is_computing,
    merged_body,
    node_count,
    reads_of,
)

CHEAP_NODES = 24
"""A body up to this size without expensive operations may be computed again in each consumer."""
CHEAP_READS = 3
MANY_READS = 16
"""Places from which on to turn a tensor once costs less than to gather each of them."""
BODY_LIMIT = 1200
"""Bodies never grow past this many nodes: straight-line code has superlinear compile cost."""


def _is_cheap(body: Expr) -> bool:
    return (
        node_count(body, CHEAP_NODES) <= CHEAP_NODES
        and expensive_count(body) == 0
        and len(loads(body)) <= CHEAP_READS
    )


def _reads_each_once(consumer: ComputeOp | ReductionOp, operand: int, rank: int) -> bool:
    """The consumer visits each element of the operand at most once (no broadcast, one index)."""
    reads = reads_of(consumer.body.data, operand)
    if len(reads) != 1:
        return False
    domain = {f"i{d}" for d in range(consumer.type.rank)}
    if isinstance(consumer, ReductionOp):
        domain |= {f"r{d}" for d in range(len(consumer.extents.data))}
    one_sized = {f"i{d}" for d, size in enumerate(consumer.type.shape) if size.is_int(1)}
    used = frozenset().union(*(index.free for index in reads[0])) if rank else frozenset[str]()
    return domain - one_sized <= used


def _suits_contraction(producer: ComputeOp, size: int, user: ContractOp, number: int) -> bool:
    """A product computes its factors many times, and reads each from one place; one that reads by
    windows looks for them along each dimension."""
    reads = loads(producer.expr)
    if size > CHEAP_NODES or isinstance(producer, GatherOp) or len(reads) > 1:
        return False
    merges = any(_walks(index) > 1 for read in reads for index in read.args)
    return not merges or not any(
        _walks(index) > 1 for at in reads_of(user.expr, number) for index in at
    )


def _walks(index: Expr) -> int:
    """How many loops an index goes along."""
    return len(numbered(index.free, "ir"))


def _turns(producer: ComputeOp) -> bool:
    """It copies what lies across its last dimension."""
    last, read = f"i{producer.type.rank - 1}", producer.expr
    if read.op != "load" or not read.args:
        return False
    return last not in read.args[-1].free and any(last in index.free for index in read.args)


def _may_inline(producer: ComputeOp) -> bool:
    users: list[tuple[Operation, int]] = []
    for use in producer.result.uses:
        if not is_computing(use.operation) or use.operation.parent is not producer.parent:
            return False
        users.append((use.operation, use.index))
    body, size = producer.expr, node_count(producer.expr, BODY_LIMIT)
    for user, index in users:
        if isinstance(user, ContractOp) and not _suits_contraction(producer, size, user, index):
            return False
        if isinstance(user, ComputeOp | ReductionOp) and (
            node_count(user.body.data, BODY_LIMIT) + size > BODY_LIMIT
        ):
            return False
    if are_many(body):
        return False
    if _turns(producer) and any(
        len(reads_of(user.body.data, index)) >= MANY_READS
        for user, index in users
        if isinstance(user, ComputeOp)
    ):
        return False
    if _is_cheap(body):
        return True
    if len({id(user) for user, _ in users}) != 1:
        return False
    user, index = users[0]
    assert isinstance(user, ComputeOp | ReductionOp)
    return _reads_each_once(user, index, producer.type.rank)


def inline_into(consumer: ComputeOp | ReductionOp, chosen: set[SSAValue]) -> Operation | None:
    """`consumer` with the chosen producers substituted; None if it reads none of them."""
    replaced: dict[int, Expr] = {}
    values: list[SSAValue] = []
    for number, value in enumerate(consumer.inputs):
        if value in chosen and isinstance(producer := value.owner, ComputeOp):
            replaced[number] = merged_body(producer, values, {})
    if not replaced:
        return None
    body = merged_body(consumer, values, replaced)
    inputs, body = compact_operands(values, body)
    clone = type(consumer).create(
        operands=inputs,
        result_types=[consumer.type],
        properties={**consumer.properties, "body": ExprAttr(body)},
    )
    clone.location = consumer.location
    return clone


def _run_on_block(block: Block) -> bool:
    changed = False
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                changed |= _run_on_block(inner)
        if not isinstance(op, ComputeOp | ReductionOp):
            continue
        chosen = {
            value
            for value in op.inputs
            if isinstance(producer := value.owner, ComputeOp) and _may_inline(producer)
        }
        if chosen and (clone := inline_into(op, chosen)) is not None:
            block.insert_op_before(clone, op)
            op.results[0].replace_all_uses_with(clone.results[0])
            block.erase_op(op)
            changed = True
    for op in reversed(list(block.ops)):
        if is_computing(op) and not op.results[0].uses:
            block.erase_op(op)
    return changed


def inline_producers(func: FuncOp) -> bool:
    """Run on a function and the regions in it; True if anything changed."""
    return _run_on_block(func.block)
