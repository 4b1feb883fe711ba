"""te.for of the kinds serial, unroll and vector, and te.while."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, add, const, var
from tensorscript.dialects.te.ops import ForOp, WhileOp

from .emit_ahead import Ahead, ahead_of
from .emit_alloc import release
from .emit_context import Context
from .emit_expr import evaluate, evaluate_scalar
from .emit_places import any_lane, point
from .emit_scope import Bound, Lane, Place, nonneg, upper
from .emit_transpose import emit_across
from .emit_types import Value, vector_of


def scoped_block(context: Context, statements: Sequence[Operation]) -> None:
    """A loop body: what it allocates from the runtime is freed at its end."""
    mark = len(context.live)
    context.block(statements)
    made = context.live[mark:]
    del context.live[mark:]
    release(context, made)


def emit_serial(context: Context, op: ForOp) -> None:
    start, extent = context.resolve(op.start), context.resolve(op.extent)
    first = evaluate_scalar(context, start, f"the start of {op.var}")
    count = evaluate_scalar(context, extent, f"the extent of {op.var}")
    end = count if first == "0" else context.code.let(f"add nsw i64 {first}, {count}")
    at_least_once = extent.is_const and int(str(extent.value)) > 0
    counted_loop(context, op, first, end, at_least_once)


def counted_loop(
    context: Context, op: ForOp, first: str, end: str, at_least_once: bool = False
) -> None:
    """The body of `op` for its variable from `first` up to `end` (operands)."""
    code = context.code
    body, latch, done = code.name("loop"), code.name("next"), code.name("done")
    outside, context.ahead = context.ahead, _ahead(context, op)
    before = code.block
    if at_least_once:
        code.end(f"br label %{body}")
    else:
        code.branch(code.let(f"icmp slt i64 {first}, {end}"), body, done)
    code.start(body)
    step = f"%{code.name(op.var)}"
    current = code.let(f"phi i64 [ {first}, %{before} ], [ {step}, %{latch} ]", op.var)
    bind_loop(context, op, current)
    scoped_block(context, list(op.block.ops))
    code.start(latch)
    code.do(f"{step} = add nsw i64 {current}, 1")
    again = code.let(f"icmp slt i64 {step}, {end}")
    code.end(
        f"br i1 {again}, label %{body}, label %{done}, !llvm.loop {code.module.loop_metadata()}"
    )
    code.start(done)
    context.ahead = outside


def _ahead(context: Context, op: ForOp) -> Ahead | None:
    """What is computed before an innermost loop over scalars."""
    if not context.finds_sizes or context.vector is not None:
        return None

    def pointed(place: Place, index: Expr) -> str:
        offset = evaluate_scalar(context, index, f"what {op.var} goes on from")
        return point(context, place, place.pointer, offset)

    return ahead_of(context.scope, op, context.is_flat, context.resolve, pointed)


def bind_loop(context: Context, op: ForOp, current: str) -> None:
    """Make `current` the loop variable, with what the loop's range tells about it."""
    scope = context.scope
    start, extent = context.resolve(op.start), context.resolve(op.extent)
    positive = nonneg(start, scope)
    first, count = upper(start, scope), upper(extent, scope)
    most = first + count - 1 if positive and first is not None and count is not None else None
    scope.replaced.pop(op.var, None)
    scope.values[op.var] = Bound(
        Value(current), int64, positive, 1, most, extent if start.is_int(0) else None
    )


def emit_unrolled(context: Context, op: ForOp) -> None:
    """The body once per iteration, the variable replaced by its value."""
    start = context.resolve(op.start)
    statements = list(op.block.ops)
    for k in range(int(str(context.resolve(op.extent).value))):
        context.scope.replaced[op.var] = add(start, const(k))
        scoped_block(context, statements)
    context.scope.replaced.pop(op.var, None)


def emit_vector(context: Context, op: ForOp) -> None:
    """The body once, for all lanes. Inside another vector loop the inner one is unrolled, unless
    the two copy a square (`emit_transpose.py`)."""
    if emit_across(context, op):
        return
    width = int(str(context.resolve(op.extent).value))
    if width <= 1 or context.vector is not None:
        emit_unrolled(context, op)
        return
    start = context.resolve(op.start)
    name = f"{op.var}$lane"
    scope = context.scope
    scope.replaced[op.var] = add(start, var(name))
    scope.values[name] = Bound(Value("poison", width), int64, True, 1, width - 1, const(width))
    context.vector = Lane(name, width, {name})
    scoped_block(context, list(op.block.ops))
    context.vector = None
    scope.replaced.pop(op.var)
    context.new_statement()


def emit_while(context: Context, op: Operation) -> None:
    assert isinstance(op, WhileOp)
    if context.vector is not None and context.vector.varies(context.resolve(op.condition)):
        _while_lanes(context, op)
        return
    code = context.code
    head, body, done = code.name("while"), code.name("body"), code.name("done")
    code.start(head)
    condition = evaluate_scalar(context, op.condition, "the condition of te.while")
    code.branch(condition, body, done)
    code.start(body)
    scoped_block(context, list(op.block.ops))
    code.end(f"br label %{head}, !llvm.loop {code.module.loop_metadata()}")
    code.start(done)


def _while_lanes(context: Context, op: WhileOp) -> None:
    """All lanes iterate until the last one is done; a lane that is done is masked off."""
    code, kind = context.code, vector_of("i1", context.width)
    slot = code.alloca(kind, "active")
    code.do(f"store {kind} {context.mask or 'splat (i1 true)'}, ptr {slot}")
    head, body, done = code.name("while"), code.name("body"), code.name("done")
    code.start(head)
    active = code.let(f"load {kind}, ptr {slot}")
    with context.masked(active):
        context.mask_is_any = False
        condition = evaluate(context, op.condition)
        active = context.conjoin(context.widen(condition, op.condition.dtype, context.width))
    code.do(f"store {kind} {active}, ptr {slot}")
    code.branch(any_lane(context, active), body, done)
    code.start(body)
    with context.masked(active):
        context.mask_is_any = True
        scoped_block(context, list(op.block.ops))
    code.end(f"br label %{head}, !llvm.loop {code.module.loop_metadata()}")
    code.start(done)


def emit_for(
    context: Context, op: Operation, kinds: dict[str, Callable[[Context, ForOp], None]]
) -> None:
    """A te.for by its kind."""
    assert isinstance(op, ForOp)
    if (row := kinds.get(op.kind.data)) is None:
        raise context.refuse(f"cannot emit a loop of kind {op.kind.data}: {op.head()}")
    row(context, op)
