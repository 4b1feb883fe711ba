"""Form kernels for the CPU: group computing ops that can share outer loops.

```
%m = tg.reduce %x "max"                          tg.kernel @k0 "rows" %x {
%e = tg.pointwise %x, %m <"exp(..)">               %m = tg.reduce .. ; %e = tg.pointwise ..
%s = tg.reduce %e "add"                     -->    %s = tg.reduce .. ; %y = tg.pointwise ..
%y = tg.pointwise %e, %s <"a0 / a1">               tg.yield %y
                                                 }
```
A group has a number of *shared* outer dimensions: all its stages have those sizes first, and read
each other's results only at (i0, ..., i_{shared-1}, anything). What lies between stages is then a
row that stays in cache. Where a row would not, the last dimensions may be shared, too (a softmax
of 21 channels of images): what lies between stages is then a line across them.

A product takes epilogues of its own domain, or readers of its parts (`product_parts.py`). An op
joins the group that made the latest of its operands, or the last group where that reads what it
reads, by the same rows. So the groups, executed in order of creation, never wait for a later one:
one pass, linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import ExprsAttr
from tensorscript.dialects.te.expr import Expr, const, mul, var
from tensorscript.dialects.tg.lists import SizeOp
from tensorscript.dialects.tg.ops import (
    AssertOp,
    ComputeOp,
    ContractOp,
    FuncOp,
    KernelOp,
    ReductionOp,
    ScanOp,
    ScatterOp,
    SortOp,
    YieldOp,
)
from tensorscript.dialects.tg.types import TensorType

from .bodies import node_count, reads_of, telling
from .inline_points import is_point_write
from .product_parts import is_cut

ROW_LIMIT = 1 << 16
"""Elements of one row that stages may hand to each other (kept in the second-level cache)."""
LINE_LIMIT = 1 << 8
"""Elements of a line across the last dimensions: some vectors of such lines are handed over."""
LONG_ROW = 256
"""Elements from which on reading a row once more costs more than what two stages lose that short
rows are turned for."""
MANY_ROWS = 64
"""Rows that are enough for threads; fewer are cut in themselves, as a reduction alone can be."""
SERIAL_LIMIT = 1 << 12
"""A domain this small needs no threads, so stages may share nothing and still be one kernel."""

NODES_LIMIT = 2400
"""Nodes of all bodies of a kernel: code in one piece costs more than linear time to compile, and
what computes that much for an element may as well read it from memory."""

STAGES_LIMIT = 64
"""Stages of a kernel: each step of its schedule looks through all of them."""

KernelSource = ComputeOp | ReductionOp | ScanOp | SortOp | ScatterOp
_Alone = ScanOp | SortOp | ScatterOp


@dataclass
class Group:
    """Ops that become one kernel.

    Attributes:
        dims: the sizes of the first stage's result.
        shared: how many first dimensions all stages share.
        alike: how many last ones they could share.
        shared_last: how many of these they do.
        nodes: of the bodies.
    """

    index: int
    ops: list[KernelSource] = field(default_factory=list)
    dims: tuple[Expr, ...] = ()
    shared: int = 0
    closed: bool = False
    nodes: int = 0
    alike: int = 0
    shared_last: int = 0

    @property
    def has_contraction(self) -> bool:
        return any(isinstance(op, ContractOp) for op in self.ops)

    @property
    def category(self) -> str:
        first = self.ops[0]
        if isinstance(first, _Alone):
            return first.name.removeprefix("tg.")
        if self.has_contraction:
            products = sum(isinstance(op, ContractOp) for op in self.ops)
            return "contraction" if products == 1 else "attention"
        if any(isinstance(op, ReductionOp) for op in self.ops):
            return "reduction" if len(self.ops) == 1 else "rows"
        return "pointwise"


def _dims(op: KernelSource) -> tuple[Expr, ...]:
    found = op.results[0].type
    assert isinstance(found, TensorType)
    return found.shape


def product(sizes: Sequence[Expr]) -> Expr:
    """How many elements these extents span."""
    total = const(1)
    for size in sizes:
        total = mul(total, size)
    return total


def _nodes(op: KernelSource) -> int:
    """Of the body, if there is one."""
    return 0 if isinstance(op, _Alone) else node_count(op.body.data)


def _exceeds(size: Expr, limit: int) -> bool:
    """Known to be above `limit`; an unknown size is trusted to be a row."""
    return size.is_const and int(str(size)) > limit


def _below(size: Expr, limit: int) -> bool:
    """Known to be less than `limit`."""
    return size.is_const and int(str(size)) < limit


def _common_prefix(group: Group, op: ComputeOp | ReductionOp) -> int:
    """How many outer dimensions `op` can share with the group (0 if none)."""
    dims = _dims(op)
    shared = 0
    while (
        shared < min(group.shared, len(dims)) and dims[shared] is group.dims[shared]
    ):  # fmt: skip
        shared += 1
    members = {result for member in group.ops for result in member.results}
    for number, value in enumerate(op.inputs):
        if value not in members:
            continue
        for indices in reads_of(op.body.data, number):
            agreeing = 0
            while agreeing < min(shared, len(indices)) and (
                indices[agreeing] is var(f"i{agreeing}")
                or (group.dims[agreeing].is_int(1) and indices[agreeing].is_int(0))
            ):
                agreeing += 1
            shared = min(shared, agreeing)
    return shared


def _common_suffix(group: Group, op: ComputeOp | ReductionOp) -> int:
    """How many last dimensions `op` can share with the group, 0 where it has another rank."""
    dims = _dims(op)
    rank = len(dims)
    if rank != len(group.dims):
        return 0
    found = 0
    while found < min(group.alike, rank) and dims[rank - 1 - found] is group.dims[rank - 1 - found]:
        found += 1
    members = {result for member in group.ops for result in member.results}
    for number, value in enumerate(op.inputs):
        for indices in reads_of(op.body.data, number) if value in members else ():
            agreeing = 0
            while agreeing < found and indices[rank - 1 - agreeing] is var(
                f"i{rank - 1 - agreeing}"
            ):
                agreeing += 1
            found = agreeing
    return found


def _lines_fit(group: Group, op: ComputeOp | ReductionOp, shared: int, last: int) -> bool:
    """What stages hand over at one place of the shared dimensions is a short line."""
    rank = len(group.dims)
    if last == 0 or shared + last >= rank:
        return False
    lines = [_dims(member)[shared : rank - last] for member in (*group.ops, op)]
    lines += [m.extents.data for m in (*group.ops, op) if isinstance(m, ReductionOp)]
    return all(line_.is_const and not _exceeds(line_, LINE_LIMIT) for line_ in map(product, lines))


def _rows_fit(group: Group, op: ComputeOp | ReductionOp, shared: int) -> bool:
    """What stages hand over inside one outer iteration stays small."""
    rows = [_dims(member)[shared:] for member in (*group.ops, op)]
    if isinstance(op, ReductionOp) and not _seeks_extreme(group, op):
        rows.append(op.extents.data)
    return not any(_exceeds(product(row), ROW_LIMIT) for row in rows)


def _seeks_extreme(group: Group, op: KernelSource) -> bool:
    """`op` looks for the place of an extreme that is found in the group: it reads a part of the
    line again (`te/narrow.py`), not all of it."""
    if not isinstance(op, ReductionOp) or op.combiner.data != "min" or op.expr.op != "select":
        return False
    if not any(place is var("r0") for place in op.expr.args[1:]):
        return False
    extremes = [
        member
        for member in group.ops
        if isinstance(member, ReductionOp) and member.combiner.data in ("min", "max")
    ]
    return any(
        member.extents == op.extents and set(member.inputs) <= set(op.inputs) for member in extremes
    )


def _has_room(group: Group, op: KernelSource) -> bool:
    """Whether a group takes more stages, and one with the nodes of `op`."""
    few = group.nodes + _nodes(op) <= NODES_LIMIT and len(group.ops) < STAGES_LIMIT
    return few and not group.closed


def _joins(group: Group, op: KernelSource) -> tuple[int, int] | None:
    """The numbers of first and last dimensions shared if `op` may become a stage of the group, else
    None."""
    if isinstance(op, _Alone | ContractOp) or not _has_room(group, op):
        return None
    shared = _common_prefix(group, op)
    if group.has_contraction:
        # Only an epilogue of the same domain: its tile is still in registers.
        full = len(group.dims)
        whole = shared == full == len(_dims(op)) and isinstance(op, ComputeOp)
        return (shared, 0) if whole else None
    if isinstance(op, ComputeOp) and all(isinstance(m, ComputeOp) for m in group.ops):
        whole = shared == len(group.dims) == len(_dims(op))
        return (shared, 0) if whole else None
    if not group.shared_last and _joins_rows(group, op, shared):
        return shared, 0
    last = _common_suffix(group, op)
    return (shared, last) if _lines_fit(group, op, shared, last) else None


def _joins_rows(group: Group, op: ComputeOp | ReductionOp, shared: int) -> bool:
    """Whether `op` may become a stage over what the group's first dimensions share."""
    work = [_row(member, 0) for member in (*group.ops, op)]
    if all(w.is_const and not _exceeds(w, SERIAL_LIMIT) for w in work):
        return True
    single = all(product(_dims(member)).is_int(1) for member in (*group.ops, op))
    if single and _seeks_extreme(group, op):
        return True
    return shared > 0 and _rows_fit(group, op, shared)


def _joins_parts(group: Group, op: KernelSource) -> int | None:
    """The same for what reads the group's product by parts of its columns; `is_cut` answers for
    all of its readers alike."""
    product = group.ops[0]
    if not isinstance(product, ContractOp) or not isinstance(op, ComputeOp):
        return None
    if product.result not in op.inputs or not is_cut(product, NODES_LIMIT):
        return None
    return len(group.dims) - 1


def _siblings(group: Group, op: KernelSource) -> int | None:
    """The number of shared dimensions if `op` may join a group that it reads no result of, for what
    both read: pointwise ops over one domain, or stages over the same rows. Else None."""
    if isinstance(op, _Alone | ContractOp) or group.has_contraction or not _has_room(group, op):
        return None
    if group.shared_last:
        return None
    known = {value for member in group.ops for value in member.operands}
    if not any(value in known for value in op.inputs):
        return None
    if isinstance(op, ComputeOp) and group.category == "pointwise":
        return group.shared if _dims(op) == group.dims else None
    shared = _common_prefix(group, op)
    if shared == 0 or not _rows_fit(group, op, shared):
        return None
    return shared if _share_rows(group, op, shared) else None


def _share_rows(group: Group, op: ComputeOp | ReductionOp, shared: int) -> bool:
    """Whether `op` and those members that read an operand of `op` read it by the same rows, of
    which there are many, and none is known to be short."""
    if _below(product(group.dims[:shared]), MANY_ROWS):
        return False
    own = tuple(var(f"i{k}") for k in range(shared))
    for member in (*group.ops, op):
        places = _common_reads(member, op)
        if any(indices[:shared] != own for indices in places):
            return False
        if places and _below(_row(member, shared), LONG_ROW):
            return False
    return True


def _common_reads(member: KernelSource, op: ComputeOp | ReductionOp) -> list[tuple[Expr, ...]]:
    """Where a member of a group reads operands of `op`."""
    if isinstance(member, _Alone):
        return []
    return [
        indices
        for number, value in enumerate(member.inputs)
        if value in op.inputs
        for indices in reads_of(member.body.data, number)
    ]


def _row(op: KernelSource, shared: int) -> Expr:
    """Elements that a stage goes through for one of the shared places."""
    row = product(_dims(op)[shared:])
    return mul(row, product(op.extents.data)) if isinstance(op, ReductionOp) else row


class _Fuser:
    """Assigns each op of one block to a group."""

    def __init__(self, by_parts: bool) -> None:
        self.by_parts = by_parts
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
        dims = _dims(op)
        rank, alone = len(dims), isinstance(op, _Alone)
        group = Group(len(self.order), [op], dims, rank, alone, _nodes(op), rank)
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
        if (shared := _siblings(last, op)) is not None:
            return self._add_to(last, op, shared)
        return self._new_group(op).index

    def _shared(self, group: Group, op: KernelSource) -> tuple[int, int] | None:
        """The numbers of first and last dimensions shared if `op` may become a stage of the group,
        else None."""
        if (joined := _joins(group, op)) is not None or not self.by_parts:
            return joined
        parts = _joins_parts(group, op)
        return None if parts is None else (parts, 0)

    def _add_to(self, group: Group, op: KernelSource, shared: int, last: int = 0) -> int:
        group.alike = 0 if isinstance(op, _Alone) else _common_suffix(group, op)
        group.shared, group.shared_last = shared, last
        group.ops.append(op)
        group.nodes += _nodes(op)
        return group.index


def _finds_places(op: KernelSource) -> bool:
    """Whether it reads at places that elements of tensors tell: an assertion before it may be what
    keeps them inside, so that the op must not move to a kernel before that."""
    return not isinstance(op, _Alone) and bool(telling(op.body.data))


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


def _fuse_block(block: Block, counter: list[int], by_parts: bool) -> set[SSAValue]:
    """Group the ops of a block; gives the values from outside that it reads."""
    fuser = _Fuser(by_parts)
    read: set[SSAValue] = set()
    made: set[SSAValue] = set(block.args)
    for op in list(block.ops):
        if isinstance(op, KernelOp):
            reads = {value for inner in op.walk() for value in inner.operands}
        else:
            reads = set(op.operands) | _fuse_regions(op, counter, by_parts)
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


def _fuse_regions(op: Operation, counter: list[int], by_parts: bool) -> set[SSAValue]:
    """Group the ops inside an op; gives the values from outside that they read.

    A region is taken off meanwhile: for every op that is put into a block, xDSL asks all ops around
    the block whether they are it.
    """
    read: set[SSAValue] = set()
    regions = [op.detach_region(region) for region in list(op.regions)]
    for region in regions:
        for block in region.blocks:
            read |= _fuse_block(block, counter, by_parts)
        op.add_region(region)
    return read


def fuse_cpu(func: FuncOp, by_parts: bool = True) -> bool:
    """Group the ops of a function (and of the regions in it) into tg.kernel ops.

    Args:
        by_parts: a product takes readers of its parts, too.
    """
    _fuse_block(func.block, [0], by_parts)
    return True
