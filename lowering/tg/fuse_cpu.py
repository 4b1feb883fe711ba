"""Form kernels for the CPU: group computing ops that can share outer loops.

```
%m = tg.reduce %x "max"                          tg.kernel @k0 "rows" %x {
%e = tg.pointwise %x, %m <"exp(..)">               %m = tg.reduce .. ; %e = tg.pointwise ..
%s = tg.reduce %e "add"                     -->    %s = tg.reduce .. ; %y = tg.pointwise ..
%y = tg.pointwise %e, %s <"a0 / a1">               tg.yield %y
                                                 }
```
Which ops a group takes says `groups.py`. An op joins the group that made the latest of its
operands, or the last group where that reads what it reads, by the same rows. So the groups,
executed in order of creation, never wait for a later one: one pass, linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.te.buffers import ExprsAttr
from tensorscript.dialects.tg.lists import SizeOp
from tensorscript.dialects.tg.ops import AssertOp, FuncOp, KernelOp, YieldOp
from tensorscript.dialects.tg.types import TensorType

from .bodies import telling
from .groups import (
    Alone,
    Group,
    KernelSource,
    feeds_scan,
    joins,
    joins_parts,
    shared_at_the_end,
    siblings,
    sizes_of,
    weight_of,
)
from .inline_points import is_point_write


class _Fuser:
    """Assigns each op of one block to a group."""

    def __init__(self, on_cpu: bool) -> None:
        self.on_cpu = on_cpu
        self.groups: list[Group] = []
        self.order: list[Group | Operation] = []
        self.made_in: dict[SSAValue, int] = {}
        self.sizes: dict[str, int] = {}
        self.asserted = -1
        """Place in `order` of the last assertion, which may be about places that are found."""

    def position(self, value: SSAValue) -> int:
        """Place in `order` of what defines the value; -1 for what comes from outside the block."""
        return self.made_in.get(value, -1)

    def _new_group(self, op: KernelSource) -> Group:
        dims = sizes_of(op)
        rank, alone = len(dims), isinstance(op, Alone)
        group = Group(len(self.order), [op], dims, rank, alone, weight_of(op), rank)
        self.order.append(group)
        return group

    def add(self, op: Operation, reads: Iterable[SSAValue]) -> None:
        """Place an op that, with everything in its regions, reads some values."""
        where = max(map(self.position, reads), default=-1)
        where = max([where, *(self.sizes.get(name, -1) for name in _sizes(op))])
        if not isinstance(op, KernelSource) or is_point_write(op):
            self.order.append(op)
            place = len(self.order) - 1
            if any(isinstance(inner, AssertOp) for inner in (op, *_stages(op))):
                self.asserted = place
        else:
            place = self._place(op, max(where, self.asserted) if _finds_places(op) else where)
        for result in op.results:
            self.made_in[result] = place
        if isinstance(op, SizeOp):
            self.sizes[op.symbol] = place

    def _place(self, op: KernelSource, where: int) -> int:
        latest = self.order[where] if where >= 0 else None
        if isinstance(latest, Group) and (both := self._shared(latest, op)) is not None:
            return self._add_to(latest, op, *both)
        last = self.order[-1] if self.order else None
        if not isinstance(last, Group) or where >= last.index:
            return self._new_group(op).index
        if (shared := siblings(last, op)) is not None:
            return self._add_to(last, op, shared)
        return self._new_group(op).index

    def _shared(self, group: Group, op: KernelSource) -> tuple[int, int] | None:
        """The numbers of first and last dimensions shared if `op` may become a stage of the group,
        else None."""
        if feeds_scan(group, op):
            return group.shared, 0
        joined = joins(group, op, self.on_cpu)
        if joined is not None or not self.on_cpu:
            return joined
        parts = joins_parts(group, op)
        return None if parts is None else (parts, 0)

    def _add_to(self, group: Group, op: KernelSource, shared: int, last: int = 0) -> int:
        group.alike = 0 if isinstance(op, Alone) else shared_at_the_end(group, op)
        group.shared, group.shared_last = shared, last
        group.closed |= isinstance(op, Alone)
        group.ops.append(op)
        group.nodes += weight_of(op)
        return group.index


def _finds_places(op: KernelSource) -> bool:
    """Whether it reads at places that elements of tensors tell: an assertion before it may be what
    keeps them inside, so that the op must not move to a kernel before that."""
    return not isinstance(op, Alone) and bool(telling(op.body.data))


def _stages(op: Operation) -> list[Operation]:
    """Those of a kernel that is one already."""
    return list(op.block.ops) if isinstance(op, KernelOp) else []


def _sizes(op: Operation) -> set[str]:
    """Names in the shapes of what an op computes; in its expressions stand no others."""
    types = [result.type for result in op.results]
    found = {n for t in types if isinstance(t, TensorType) for size in t.shape for n in size.free}
    extents = getattr(op, "extents", None)
    if isinstance(extents, ExprsAttr):
        found |= {n for e in extents.data for n in e.free}
    return found


def make_kernel(group: Group, name: str) -> KernelOp:
    """Move the ops of a group into a kernel, which is still to be put into their block."""
    return kernel_of(group.ops, name, group.category, group.shared, group.shared_last)


def kernel_of(
    ops: Sequence[Operation], name: str, category: str, shared: int = 0, shared_last: int = 0
) -> KernelOp:
    """Move ops of one block into a kernel, which is still to be put there."""
    inputs: dict[SSAValue, None] = {}
    inside = {result for op in ops for result in op.results}
    members = set(map(id, ops))
    for op in ops:
        for value in op.operands:
            if value not in inside:
                inputs[value] = None
    escaping = [
        result
        for op in ops
        for result in op.results
        if any(id(use.operation) not in members for use in result.uses)
    ]
    source = ops[0].parent
    assert source is not None
    block = Block(arg_types=[v.type for v in inputs])
    for member in ops:
        source.detach_op(member)
        block.add_op(member)
    types = [r.type for r in escaping]
    kernel = KernelOp(name, category, shared, list(inputs), types, block, shared_last)
    inner = dict(zip(inputs, block.args, strict=True))
    for member in ops:  # by their operands: a weight may have uses in every other kernel
        member.operands = [inner.get(value, value) for value in member.operands]
    for old, new in zip(escaping, kernel.outputs, strict=True):
        old.replace_uses_with_if(new, lambda use: id(use.operation) not in members)
    block.add_op(YieldOp(escaping))
    kernel.location = ops[-1].location
    return kernel


def _fuse_block(block: Block, counter: list[int], on_cpu: bool) -> set[SSAValue]:
    """Group the ops of a block; gives the values from outside that it reads."""
    fuser = _Fuser(on_cpu)
    read: set[SSAValue] = set()
    made: set[SSAValue] = set(block.args)
    for op in list(block.ops):
        if isinstance(op, KernelOp):
            reads = {value for inner in op.walk() for value in inner.operands}
        else:
            reads = set(op.operands) | _fuse_regions(op, counter, on_cpu)
        fuser.add(op, reads)
        read |= reads
        made.update(op.results)
    for item in fuser.order:
        if isinstance(item, Group):
            kernel = make_kernel(item, f"k{counter[0]}")
            counter[0] += 1
            block.add_op(kernel)
        else:
            item.detach()
            block.add_op(item)
    return read - made


def _fuse_regions(op: Operation, counter: list[int], on_cpu: bool) -> set[SSAValue]:
    """Group the ops inside an op; gives the values from outside that they read.

    A region is taken off meanwhile: for every op that is put into a block, xDSL asks all ops around
    the block whether they are it.
    """
    read: set[SSAValue] = set()
    regions = [op.detach_region(region) for region in list(op.regions)]
    for region in regions:
        for block in region.blocks:
            read |= _fuse_block(block, counter, on_cpu)
        op.add_region(region)
    return read


def fuse_cpu(func: FuncOp, on_cpu: bool = True) -> bool:
    """Group the ops of a function (and of the regions in it) into tg.kernel ops.

    Args:
        on_cpu: a product takes readers of its parts and rows, and stages share last dimensions.
    """
    _fuse_block(func.block, [0], on_cpu)
    return True
