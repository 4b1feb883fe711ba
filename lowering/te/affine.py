"""Index expressions as affine functions of loop variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, add, const, mul
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssignOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
)
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.walks import walk_ops


def coefficient(e: Expr, name: str) -> Expr | None:
    """The coefficient of variable `name` in `e`, None where `e` is not affine in it."""
    if name not in e.free:
        return const(0)
    match e.op:
        case "var":
            return const(1)
        case "add" | "sub":
            left, right = (coefficient(a, name) for a in e.args)
            if left is None or right is None:
                return None
            return add(left, right if e.op == "add" else mul(const(-1), right))
        case "mul":
            for a, b in (e.args, e.args[::-1]):
                if name not in b.free and (inner := coefficient(a, name)) is not None:
                    return mul(inner, b)
    return None


def flat_index(buffer: Buffer, indices: Iterable[Expr]) -> Expr:
    """Position in elements of `buffer[indices]`."""
    total = const(0)
    for index, stride in zip(indices, buffer.effective_strides, strict=True):
        total = add(total, mul(index, stride))
    return total


def all_buffers(func: FuncOp) -> dict[str, Buffer]:
    """Every buffer of a function by name: parameters and allocations."""
    found = {b.name: b for b in func.buffers}
    for op in walk_ops(func):
        if isinstance(op, AllocOp):
            found[op.buffer.name] = op.buffer
    return found


def accesses(op: Operation) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    """(buffer, indices) of every access in a statement and the statements inside it."""
    for inner in op.walk():
        if isinstance(inner, StoreOp | UpdateOp):
            yield inner.buffer, inner.indices
        for e in expressions(inner):
            for read in loads(e):
                yield str(read.value), read.args


def expressions(op: Operation) -> tuple[Expr, ...]:
    """The value expressions of one statement (indices of its target included)."""
    match op:
        case StoreOp() | UpdateOp():
            return (op.value, *op.indices)
        case LetOp() | VarOp() | AssignOp():
            return (op.value,)
        case IfOp():
            return (op.condition,)
        case ForOp():
            return (op.start, op.extent)
    return ()


def known(e: Expr) -> int | None:
    """The integer that a constant expression of any integer dtype has, None for another."""
    return e.value if e.is_const and isinstance(e.value, int) else None


def elements(buffer: Buffer) -> int:
    """How many elements a buffer has, 0 where that is not known."""
    return prod(known(extent) or 0 for extent in buffer.shape)


def bytes_of(buffer: Buffer) -> int:
    """How many bytes a buffer has, 0 where that is not known."""
    return buffer.dtype.itemsize * elements(buffer)
