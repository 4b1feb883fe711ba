"""Vector forms of loops: strip-mined maps and reductions with vector accumulators.

Both have a loop of whole vectors and one masked vector for the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, LetOp, StoreOp, UpdateOp
from tensorscript.dialects.tg.ops import identity

from .affine import known
from .nest import copy_op
from .rebuild import copy_all, copy_statement, substituting

REST_LANES = 16
"""Of a rest whose length the program finds: most of a wide vector would be masked."""

MakeBody = Callable[[Expr, str], list[Operation]]
"""(position, name of the lane variable) -> statements of one lane."""


def strips(
    loop: ForOp, lanes: int, body: MakeBody, kind: str = "serial", grain: int | None = None
) -> list[Operation]:
    """Whole vectors, then the masked rest; `kind` is that of the loop over whole vectors, which
    is a reduction if `loop` is one."""
    out: list[Operation] = []
    name, start, extent, reduces = loop.var, loop.start, loop.extent, loop.is_reduction
    size = known(extent)
    whole = extent // lanes
    if size is None or size >= lanes:
        lane = f"{name}_v"
        at = start + (var(f"{name}_o") * lanes + var(lane))
        inner = ForOp(lane, lanes, body(at, lane), "vector")
        out.append(ForOp(f"{name}_o", whole, [inner], kind, reduction=reduces, grain=grain))
    if size is None or size % lanes:
        lane = f"{name}_w"
        at = whole * lanes + var(lane)
        several = size is None and lanes > REST_LANES
        if several:
            at = whole * lanes + var(f"{name}_wo") * REST_LANES + var(lane)
        rest = body(start + at, lane)
        rest = _renamed(rest) if out else rest
        masked = ForOp(lane, REST_LANES if several else lanes, [IfOp(at < extent, rest)], "vector")
        if several:
            left = (extent % lanes + (REST_LANES - 1)) // REST_LANES
            masked = ForOp(f"{name}_wo", left, [masked], reduction=reduces)
        out.append(masked)
    return out


def _renamed(statements: list[Operation]) -> list[Operation]:
    """The statements with other names where they bind some: names are unique in a function."""
    names = {op.var: f"{op.var}_w" for op in statements if isinstance(op, LetOp)}
    return [copy_op(op, names) for op in statements] if names else statements


def vectorize_map(
    loop: ForOp, lanes: int, kind: str = "serial", grain: int | None = None
) -> list[Operation]:
    """An innermost loop whose iterations are independent.

    ```
    for i in 0 .. n { S(i) }  -->  for i_o in 0 .. n // 16 { for i_v in 0 .. 16 vector { S } }
                                   for i_w in 0 .. 16 vector { if n // 16 * 16 + i_w < n { S } }
    ```
    """

    def body(position: Expr, lane: str) -> list[Operation]:
        return copy_all(loop.block.ops, substituting({loop.var: position}))

    return strips(loop, lanes, body, kind, grain)


def vectorize_reduction(loop: ForOp, lanes: int, kept: int | None = None) -> list[Operation]:
    """An innermost loop with updates of loop-invariant targets (and perhaps stores).

    ```
    for r in 0 .. n reduce { t[] += f(r) }  -->  acc[0:16] = 0  (registers)
                                                 for r_o reduce { for r_v vector { acc[r_v] += f } }
                                                 masked rest
                                                 for r_z vector reduce { t[] += acc[r_z] }
    ```
    Partial sums in `lanes` accumulators are also more accurate than one running sum.

    Args:
        kept: leave partial results in as many lanes; the targets have them as a last dimension, and
            are stored instead of updated.
    """
    updates = [op for op in loop.block.ops if isinstance(op, UpdateOp)]
    names = {id(u): f"acc{k}_{loop.var}" for k, u in enumerate(updates)}
    before: list[Operation] = []
    after: list[Operation] = []
    for number, update in enumerate(updates):
        name, dtype = names[id(update)], update.value.dtype
        lane, last = var(f"{loop.var}_s{number}"), var(f"{loop.var}_z{number}")
        clear = StoreOp(name, [lane], identity(update.combiner, dtype))
        before += [
            AllocOp(Buffer(name, dtype, (const(lanes),)), "reg"),
            ForOp(str(lane.value), lanes, [clear], "vector"),
        ]
        if kept is None:
            value = load(name, [last], dtype)
            total = UpdateOp(update.buffer, update.indices, update.combiner, value)
            after.append(ForOp(str(last.value), lanes, [total], "vector", reduction=True))
        else:
            value = load(name, [last], dtype)
            for first in range(kept, lanes, kept):
                value = binary(update.combiner, value, load(name, [last + first], dtype))
            part = StoreOp(update.buffer, [*update.indices, last], value)
            after.append(ForOp(str(last.value), kept, [part], "vector"))

    def body(position: Expr, lane: str) -> list[Operation]:
        rewrite = substituting({loop.var: position})
        out: list[Operation] = []
        for op in loop.block.ops:
            if isinstance(op, UpdateOp):
                value = rewrite(op.value)
                out.append(UpdateOp(names[id(op)], [var(lane)], op.combiner, value))
            else:
                out.append(copy_statement(op, rewrite))
        return out

    return [*before, *strips(loop, lanes, body), *after]
