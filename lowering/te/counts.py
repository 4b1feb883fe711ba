"""What a kernel has to do at least: multiply-adds of its products, and what it reads and writes.

Counted before loops are scheduled, so that padding and second copies are no work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from math import prod

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, FuncOp, UpdateOp

from .affine import accesses, known


@dataclass(frozen=True)
class Work:
    """Attributes:
    multiply_adds: of products that are summed up.
    traffic: bytes of the parameters that are read or written, each element once.
    """

    multiply_adds: int
    traffic: int


class _Unknown(Exception):
    """A size that only a call knows."""


def work_of(func: FuncOp) -> Work | None:
    """The work of a kernel; None where that depends on sizes that only a call knows."""
    count = _Count()
    try:
        count.block(iter(func.block.ops), {})
        traffic = 0
        for buffer in func.buffers:
            whole = prod(_size(size) for size in buffer.shape)
            reached = sum(count.elements.get(buffer.name, {}).values())
            traffic += buffer.dtype.itemsize * min(whole, reached)
    except _Unknown:
        return None
    return Work(count.multiply_adds, traffic)


@dataclass
class _Count:
    """Attributes:
    elements: by buffer, how many each of its accesses can reach.
    """

    multiply_adds: int = 0
    elements: dict[str, dict[tuple[Expr, ...], int]] = field(default_factory=dict)

    def block(self, statements: Iterator[Operation], loops: dict[str, int]) -> None:
        """Count statements inside of loops of these extents."""
        for op in statements:
            if not op.regions:
                self._statement(op, loops)
            inside = loops | ({op.var: _size(op.extent)} if isinstance(op, ForOp) else {})
            for region in op.regions:
                self.block(iter(region.block.ops), inside)

    def _statement(self, op: Operation, loops: dict[str, int]) -> None:
        if _adds_product(op):
            self.multiply_adds += prod(loops.values())
        for buffer, indices in accesses(op):
            moving = {name for index in indices for name in index.free}
            reached = prod(extent for name, extent in loops.items() if name in moving)
            self.elements.setdefault(buffer, {})[indices] = reached


def _adds_product(op: Operation) -> bool:
    """`t += x * y`, whatever is done to the product's dtype."""
    if not isinstance(op, UpdateOp) or op.combiner != "add":
        return False
    value: Expr = op.value
    while value.op == "cast":
        (value,) = value.args
    return value.op == "mul"


def _size(size: Expr) -> int:
    if (found := known(size)) is None:
        raise _Unknown
    return found
