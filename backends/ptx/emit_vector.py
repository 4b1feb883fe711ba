"""Whether a vector loop of a kernel can be vector loads and stores of one thread."""

from __future__ import annotations

from tensorscript.backends.llvm.emit_context import Context
from tensorscript.backends.llvm.emit_scope import Lane, affine, flat_index, multiple
from tensorscript.base.dtypes import bool_
from tensorscript.dialects.te.expr import Expr, add, var
from tensorscript.dialects.te.ops import ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import substitute, walk

_BYTES = 16
"""The most that a thread loads or stores at once."""
_TRAPS = ("floordiv", "mod", "truncdiv", "truncmod")


def can_be_vector(context: Context, op: ForOp, lane: Lane) -> bool:
    """True if the body is stores and updates alone, and every access is uniform or an aligned
    vector, of what is written an aligned vector.

    A `select` is welcome only if both sides hold no load and no division: a GPU thread has no
    masked loads.
    """
    start = context.resolve(op.start)
    replaced = {**context.scope.replaced, op.var: add(start, var(lane.name))}
    return all(
        isinstance(statement, StoreOp | UpdateOp) and _is_plain(context, statement, lane, replaced)
        for statement in op.block.ops
    )


def _is_plain(
    context: Context, op: StoreOp | UpdateOp, lane: Lane, replaced: dict[str, Expr]
) -> bool:
    value = substitute(op.value, replaced)
    indices = tuple(substitute(i, replaced) for i in op.indices)
    if not _is_aligned(context, op.buffer, indices, lane, replaced, store=True):
        return False
    return all(_node_is_plain(context, n, lane, replaced) for n in walk(value))


def _node_is_plain(context: Context, e: Expr, lane: Lane, replaced: dict[str, Expr]) -> bool:
    # NVPTX selects <4 x i8> arithmetic wrongly (LLVM 22 stops at an assertion).
    if e.dtype.itemsize == 1 and e.dtype is not bool_:
        return False
    if e.op == "load":
        return _is_aligned(context, str(e.value), e.args, lane, replaced, store=False)
    if e.op == "select":
        return not any(n.op == "load" or n.op in _TRAPS for side in e.args[1:] for n in walk(side))
    return True


def _is_aligned(
    context: Context,
    buffer: str,
    indices: tuple[Expr, ...],
    lane: Lane,
    replaced: dict[str, Expr],
    store: bool,
) -> bool:
    place = context.place(buffer)
    size = place.buffer.dtype.itemsize
    if size == 1 or (lane.width == 8 and size * lane.width > _BYTES):
        return False
    index = substitute(flat_index(place.buffer, indices, context.is_flat), replaced)
    found = affine(index, lane, context.scope)
    if found is None:
        return False
    base, step = found
    if step.is_int(0):
        return not store
    return step.is_int(1) and multiple(base, context.scope) % lane.width == 0
