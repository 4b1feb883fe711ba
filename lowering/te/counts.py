"""What a kernel has to do at least: multiply-adds of its products, and what it reads and writes.

Counted before loops are scheduled, so that padding and second copies are no work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, FuncOp, UpdateOp

from .affine import known


@dataclass(frozen=True)
class Work:
    """Attributes:
    multiply_adds: of products that are summed up.
    traffic: bytes of the buffers that are read or written, each once.
    """

    multiply_adds: int
    traffic: int


def work_of(func: FuncOp) -> Work | None:
    """The work of a kernel; None where that depends on sizes that only a call knows."""
    multiply_adds = _multiply_adds(func.block.ops)
    sizes = [_bytes(buffer) for buffer in func.buffers]
    if multiply_adds is None or any(size is None for size in sizes):
        return None
    return Work(multiply_adds, sum(size for size in sizes if size is not None))


def _multiply_adds(statements: Iterable[Operation]) -> int | None:
    total = 0
    for op in statements:
        inner = [child for region in op.regions for child in region.block.ops]
        count = int(_adds_product(op)) if not inner else _multiply_adds(inner)
        if not count:
            if count is None:
                return None
            continue
        trips = known(op.extent) if isinstance(op, ForOp) else 1
        if trips is None:
            return None
        total += trips * count
    return total


def _adds_product(op: Operation) -> bool:
    """`t += x * y`, whatever is done to the product's dtype."""
    if not isinstance(op, UpdateOp) or op.combiner != "add":
        return False
    value: Expr = op.value
    while value.op == "cast":
        (value,) = value.args
    return value.op == "mul"


def _bytes(buffer: Buffer) -> int | None:
    sizes = [known(size) for size in buffer.shape]
    if any(size is None for size in sizes):
        return None
    return buffer.dtype.itemsize * prod(size for size in sizes if size is not None)
