"""What stages a kernel for the CPU may have: groups of computing ops that share dimensions.

A group has a number of *shared* outer dimensions: all its stages have those sizes first, and read
each other's results only at (i0, ..., i_{shared-1}, anything). What lies between stages is then a
row that stays in cache. Where a row would not, the last dimensions may be shared, too (a softmax
of 21 channels of images): what lies between stages is then a line across them.

A product takes epilogues of its own domain, or readers of its parts (`product_parts.py`) or of its
rows (`product_rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, mul, var
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    ContractOp,
    ReductionOp,
    ScanOp,
    ScatterOp,
    SortOp,
)
from tensorscript.dialects.tg.types import TensorType

from ..te.choices import are_many
from .bodies import node_count, reads_of, telling
from .product_parts import is_cut
from .product_rows import keeps_rows

ROW_LIMIT = 1 << 16
"""Elements of one row that stages may hand to each other (kept in the second-level cache)."""
LINE_LIMIT = 1 << 8
"""Elements of a line across the last dimensions: some vectors of such lines are handed over."""
LONG_ROW = 256
"""Elements from which on reading a row once more costs more than what two stages lose that short
rows are turned for."""
MANY_ROWS = 8
"""Rows that are enough for threads, which share nothing else of such a kernel."""
SERIAL_LIMIT = 1 << 12
"""A domain this small needs no threads, so stages may share nothing and still be one kernel."""

NODES_LIMIT = 2400
"""Nodes of all bodies of a kernel: code in one piece costs more than linear time to compile, and
what computes that much for an element may as well read it from memory."""

STAGES_LIMIT = 64
"""Stages of a kernel: each step of its schedule looks through all of them."""

KernelSource = ComputeOp | ReductionOp | ScanOp | SortOp | ScatterOp
Alone = ScanOp | SortOp | ScatterOp


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
        last = self.ops[-1]
        if isinstance(last, Alone):
            return last.name.removeprefix("tg.")
        if self.has_contraction:
            products = sum(isinstance(op, ContractOp) for op in self.ops)
            return "contraction" if products == 1 else "attention"
        if any(isinstance(op, ReductionOp) for op in self.ops):
            return "reduction" if len(self.ops) == 1 else "rows"
        return "pointwise"


def sizes_of(op: KernelSource) -> tuple[Expr, ...]:
    found = op.results[0].type
    assert isinstance(found, TensorType)
    return found.shape


def product(sizes: Sequence[Expr]) -> Expr:
    """How many elements these extents span."""
    total = const(1)
    for size in sizes:
        total = mul(total, size)
    return total


def weight_of(op: KernelSource) -> int:
    """Of the body, if there is one."""
    return 0 if isinstance(op, Alone) else node_count(op.body.data)


def _exceeds(size: Expr, limit: int) -> bool:
    """Known to be above `limit`; an unknown size is trusted to be a row."""
    return size.is_const and int(str(size)) > limit


def _below(size: Expr, limit: int) -> bool:
    """Known to be less than `limit`."""
    return size.is_const and int(str(size)) < limit


def _common_prefix(group: Group, op: ComputeOp | ReductionOp) -> int:
    """How many outer dimensions `op` can share with the group (0 if none)."""
    dims = list(range(min(group.shared, len(sizes_of(op)))))
    return _agreeing(group, op, dims)


def shared_at_the_end(group: Group, op: ComputeOp | ReductionOp) -> int:
    """How many last dimensions `op` can share with the group, 0 where it has another rank."""
    rank = len(sizes_of(op))
    if rank != len(group.dims):
        return 0
    return _agreeing(group, op, [rank - 1 - k for k in range(min(group.alike, rank))])


def _agreeing(group: Group, op: ComputeOp | ReductionOp, dims: Sequence[int]) -> int:
    """How many of these dimensions, from the first on, have the same sizes in `op`, which reads
    what the group's members make at its own place along them."""
    sizes = sizes_of(op)
    members = {result for member in group.ops for result in member.results}
    reads = [
        indices
        for number, value in enumerate(op.inputs)
        if value in members
        for indices in reads_of(op.body.data, number)
    ]
    for count, d in enumerate(dims):
        if sizes[d] is not group.dims[d] or not all(_reads_own(i, d, sizes[d]) for i in reads):
            return count
    return len(dims)


def _reads_own(indices: Sequence[Expr], d: int, size: Expr) -> bool:
    """Whether a place is the reader's own along a dimension."""
    if d >= len(indices):
        return False
    return indices[d] is var(f"i{d}") or (size.is_int(1) and indices[d].is_int(0))


def _lines_fit(group: Group, op: ComputeOp | ReductionOp, shared: int, last: int) -> bool:
    """What stages hand over at one place of the shared dimensions is a short line."""
    rank = len(group.dims)
    if last == 0 or shared + last >= rank:
        return False
    lines = []
    for member in (*group.ops, op):
        line_ = product(sizes_of(member)[shared : rank - last])
        if isinstance(member, ReductionOp):  # at each of its elements
            line_ = mul(line_, product(member.extents.data))
        lines.append(line_)
    return all(line_.is_const and not _exceeds(line_, LINE_LIMIT) for line_ in lines)


def _rows_fit(group: Group, op: ComputeOp | ReductionOp, shared: int) -> bool:
    """What stages hand over inside one outer iteration stays small."""
    rows = [sizes_of(member)[shared:] for member in (*group.ops, op)]
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
    if group.closed or any(map(_is_of_cases, (group.ops[0], op))):
        return False
    return group.nodes + weight_of(op) <= NODES_LIMIT and len(group.ops) < STAGES_LIMIT


def _is_of_cases(op: KernelSource) -> bool:
    """A map of many cases, which are done together in a kernel of their own
    (`schedules/cases.py`)."""
    return isinstance(op, ComputeOp) and are_many(op.expr)


def feeds_scan(group: Group, op: KernelSource) -> bool:
    """Whether the group is one map, all of which the scan `op` reads, element by element, and
    nothing else does: it is computed where it is read."""
    (first, *others) = group.ops
    if others or not isinstance(op, ScanOp) or not isinstance(first, ComputeOp):
        return False
    return first.result is op.input and first.result.has_one_use() and not _is_of_cases(first)


def joins(group: Group, op: KernelSource, on_cpu: bool) -> tuple[int, int] | None:
    """The numbers of first and of last dimensions shared if `op` may become a stage of the group,
    else None; other devices share no last ones, nor rows of products."""
    if isinstance(op, Alone | ContractOp) or not _has_room(group, op):
        return None
    shared = _common_prefix(group, op)
    if group.has_contraction:
        # An epilogue of the same domain: its tile is still in registers.
        full = len(group.dims)
        if shared == full == len(sizes_of(op)) and isinstance(op, ComputeOp):
            return shared, 0
        return (full - 1, 0) if on_cpu and _takes_rows(group, op, shared) else None
    if isinstance(op, ComputeOp) and all(isinstance(m, ComputeOp) for m in group.ops):
        whole = shared == len(group.dims) == len(sizes_of(op))
        return (shared, 0) if whole else None
    if not group.shared_last and _joins_rows(group, op, shared):
        return shared, 0
    common = shared_at_the_end(group, op) if on_cpu else 0
    return (shared, common) if _lines_fit(group, op, shared, common) else None


def _takes_rows(group: Group, op: ComputeOp | ReductionOp, shared: int) -> bool:
    """Whether `op` reads rows of the group's product that stay where they are multiplied."""
    product, rows = group.ops[0], len(group.dims) - 1
    if not isinstance(product, ContractOp) or not 0 < rows <= shared or telling(op.body.data):
        return False
    return _rows_fit(group, op, rows) and keeps_rows(product)


def _joins_rows(group: Group, op: ComputeOp | ReductionOp, shared: int) -> bool:
    """Whether `op` may become a stage over what the group's first dimensions share."""
    work = [_row(member, 0) for member in (*group.ops, op)]
    if all(w.is_const and not _exceeds(w, SERIAL_LIMIT) for w in work):
        return True
    single = all(product(sizes_of(member)).is_int(1) for member in (*group.ops, op))
    if single and _seeks_extreme(group, op):
        return True
    return shared > 0 and _rows_fit(group, op, shared)


def joins_parts(group: Group, op: KernelSource) -> int | None:
    """The same for what reads the group's product by parts of its columns; `is_cut` answers for
    all of its readers alike."""
    product = group.ops[0]
    if not isinstance(product, ContractOp) or not isinstance(op, ComputeOp):
        return None
    if product.result not in op.inputs or not is_cut(product, NODES_LIMIT):
        return None
    return len(group.dims) - 1


def siblings(group: Group, op: KernelSource) -> int | None:
    """The number of shared dimensions if `op` may join a group that it reads no result of, for what
    both read: pointwise ops over one domain, or stages over the same rows. Else None."""
    if isinstance(op, Alone | ContractOp) or group.has_contraction or not _has_room(group, op):
        return None
    if group.shared_last:
        return None
    known = {value for member in group.ops for value in member.operands}
    if not any(value in known for value in op.inputs):
        return None
    if isinstance(op, ComputeOp) and group.category == "pointwise":
        return group.shared if sizes_of(op) == group.dims else None
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
    if isinstance(member, Alone):
        return []
    return [
        indices
        for number, value in enumerate(member.inputs)
        if value in op.inputs
        for indices in reads_of(member.body.data, number)
    ]


def _row(op: KernelSource, shared: int) -> Expr:
    """Elements that a stage goes through for one of the shared places."""
    row = product(sizes_of(op)[shared:])
    return mul(row, product(op.extents.data)) if isinstance(op, ReductionOp) else row
