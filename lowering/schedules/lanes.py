"""Vector forms of loops: strip-mined maps, reductions with vector accumulators, outer lanes.

All three keep a main loop of whole vectors and one masked vector for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, load, mul, replace_loads, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
)
from tensorscript.dialects.tg.ops import identity

from ..te.affine import known
from ..te.rebuild import copy_all, copy_statement, substituting

MakeBody = Callable[[Expr, str], list[Operation]]
"""(position, name of the lane variable) -> statements of one lane."""


def _strips(
    name: str, extent: Expr, lanes: int, body: MakeBody, kind: str, grain: int | None
) -> list[Operation]:
    """Whole vectors, then the masked rest; `kind` is that of the loop over whole vectors."""
    out: list[Operation] = []
    size = known(extent)
    whole = extent // lanes
    if size is None or size >= lanes:
        lane = f"{name}_v"
        inner = ForOp(lane, lanes, body(var(f"{name}_o") * lanes + var(lane), lane), "vector")
        out.append(ForOp(f"{name}_o", whole, [inner], kind, grain=grain))
    if size is None or size % lanes:
        lane = f"{name}_w"
        at = whole * lanes + var(lane)
        out.append(ForOp(lane, lanes, [IfOp(at < extent, body(at, lane))], "vector"))
    return out


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

    return _strips(loop.var, loop.extent, lanes, body, kind, grain)


def vectorize_reduction(loop: ForOp, lanes: int) -> list[Operation]:
    """An innermost loop with updates of loop-invariant targets (and perhaps stores).

    ```
    for r in 0 .. n reduce { t[] += f(r) }  -->  acc[0:16] = 0  (registers)
                                                 for r_o .. { for r_v vector { acc[r_v] += f } }
                                                 masked rest
                                                 for r_z vector reduce { t[] += acc[r_z] }
    ```
    Partial sums in `lanes` accumulators are also more accurate than one running sum.
    """
    updates = [op for op in loop.block.ops if isinstance(op, UpdateOp)]
    names = {id(u): f"acc{k}_{loop.var}" for k, u in enumerate(updates)}
    before: list[Operation] = []
    after: list[Operation] = []
    for number, update in enumerate(updates):
        name, dtype = names[id(update)], update.value.dtype
        lane, last = var(f"{loop.var}_s{number}"), var(f"{loop.var}_z{number}")
        clear = StoreOp(name, [lane], identity(update.combiner, dtype))
        total = UpdateOp(update.buffer, update.indices, update.combiner, load(name, [last], dtype))
        before += [
            AllocOp(Buffer(name, dtype, (const(lanes),)), "reg"),
            ForOp(str(lane.value), lanes, [clear], "vector"),
        ]
        after.append(ForOp(str(last.value), lanes, [total], "vector", reduction=True))

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

    strips = _strips(loop.var, loop.extent, lanes, body, "serial", None)
    return [*before, *strips, *after]


def _widen(
    statements: Iterable[Operation],
    position: Expr,
    name: str,
    lane_name: str,
    lanes: int,
    private: dict[str, Buffer],
    guard: Expr | None,
    counter: list[int],
) -> list[Operation]:
    """Distribute a vector loop over statements; private scalars become one element a lane."""
    out: list[Operation] = []
    pending: list[Operation] = []

    def lane_loop(inner: list[Operation]) -> Operation:
        fresh = f"{lane_name}{counter[0]}"
        counter[0] += 1
        rewrite = substituting({lane_name: var(fresh)})
        body = copy_all(inner, rewrite)
        if guard is not None:
            body = [IfOp(rewrite(guard), body)]
        return ForOp(fresh, lanes, body, "vector")

    def flush() -> None:
        if pending:
            out.append(lane_loop(list(pending)))
            pending.clear()

    def widen_expr(e: Expr) -> Expr:
        here = substituting({name: position})(e)
        return _index_private(here, private, var(lane_name))

    for op in statements:
        match op:
            case AllocOp():
                wide = Buffer(op.buffer.name, op.buffer.dtype, (*op.buffer.shape, const(lanes)))
                private[op.buffer.name] = wide
                out.append(AllocOp(wide, "reg" if not op.buffer.shape else "stack"))
            case ForOp():
                flush()
                inside = _widen(
                    op.block.ops, position, name, lane_name, lanes, private, guard, counter
                )
                kind = op.kind.data
                made = ForOp(op.var, op.extent, inside, kind, op.start, op.is_reduction)
                made.location = op.location
                out.append(made)
            case StoreOp() | UpdateOp():
                made_access = copy_statement(op, widen_expr)
                assert isinstance(made_access, StoreOp | UpdateOp)
                pending.append(_widen_target(made_access, private, var(lane_name)))
            case LetOp() | IfOp():
                pending.append(copy_statement(op, widen_expr))
    flush()
    return out


def _index_private(e: Expr, private: dict[str, Buffer], lane: Expr) -> Expr:
    return replace_loads(
        e,
        lambda n: load(str(n.value), [*n.args, lane], n.dtype) if str(n.value) in private else None,
    )


def _widen_target(
    op: StoreOp | UpdateOp, private: dict[str, Buffer], lane: Expr
) -> StoreOp | UpdateOp:
    if op.buffer not in private:
        return op
    indices = [*op.indices, lane]
    if isinstance(op, StoreOp):
        return StoreOp(op.buffer, indices, op.value)
    return UpdateOp(op.buffer, indices, op.combiner, op.value)


def vectorize_outer(
    loop: ForOp, lanes: int, kind: str = "serial", grain: int | None = None
) -> list[Operation]:
    """A loop around reductions: each lane does one iteration.

    ```
    for i in 0 .. n {                    for i_o in 0 .. n // 16 {
      t[] = 0                              t[0:16] = 0            (registers)
      for r in 0 .. m { t[] += x[r, i] } -->  for r in 0 .. m { t[v] += x[r, i_o * 16 + v] }
      y[i] = t[]                           y[i_o * 16 + v] = t[v]
    }                                    }  (and a masked rest)
    ```
    """
    out: list[Operation] = []
    size = known(loop.extent)
    whole = loop.extent // lanes
    counter = [0]
    if size is None or size >= lanes:
        lane = f"{loop.var}_v"
        at = mul(var(f"{loop.var}_o"), const(lanes)) + var(lane)
        inner = _widen(loop.block.ops, at, loop.var, lane, lanes, {}, None, counter)
        out.append(ForOp(f"{loop.var}_o", whole, inner, kind, grain=grain))
    if size is None or size % lanes:
        lane = f"{loop.var}_w"
        at = whole * lanes + var(lane)
        guard = at < loop.extent
        out += _widen(loop.block.ops, at, loop.var, lane, lanes, {}, guard, counter)
    return out
