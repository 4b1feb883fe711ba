"""What sorts and selections of a line have in common: its elements in buffers, and its results."""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp
from tensorscript.dialects.te.rewriting import replaced

from ..te.lanes import vectorize_map
from .order_keys import Elements, Parts
from .order_line import RANK, Line
from .order_tile import at

LANES = 32
"""Elements of a line that are read or written at a time."""


def buffers(elements: Elements, size: Expr, names: str) -> list[Operation]:
    return [
        AllocOp(Buffer(at(k, c), c.dtype, (size,)), "stack")
        for k in names
        for c in elements.columns
    ]


def parts_at(elements: Elements, buffer: str, place: Expr) -> Parts:
    """An element of a buffer."""
    return tuple(load(at(buffer, c), [place], c.dtype) for c in elements.columns)


def stores_of(elements: Elements, buffer: str, place: Expr, parts: Parts) -> list[Operation]:
    return [
        StoreOp(at(buffer, c), [place], p) for c, p in zip(elements.columns, parts, strict=True)
    ]


def copy_out(line: Line, key: Expr, index: Expr) -> list[Operation]:
    """Store the results of the first elements: key and index of the one at `place`."""
    e = var("place")
    stores: list[Operation] = []
    for s in line.stores:
        where = [replaced(i, RANK, e) for i in s.indices]
        stores.append(StoreOp(s.buffer, where, line.result(s.value, key, index)))
    return vectorize_map(ForOp("place", line.kept, stores), LANES)


def copy_sorted(line: Line, elements: Elements, buffer: str) -> list[Operation]:
    parts = parts_at(elements, buffer, var("place"))
    return copy_out(line, elements.key(parts), elements.place(parts))
