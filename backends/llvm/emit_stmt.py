"""Statements other than loops: bindings, stores, conditions, asserts, calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import (
    AssertOp,
    AssignOp,
    CallOp,
    IfOp,
    LetOp,
    PrefetchOp,
    StoreOp,
    UpdateOp,
    VarOp,
)
from tensorscript.dialects.te.rewriting import loads, walk

from .emit_cast import convert
from .emit_clock import clock, count_call
from .emit_context import Context
from .emit_expr import evaluate, evaluate_as, evaluate_scalar, known_lanes, value_of
from .emit_groups import emit_group
from .emit_loads import emit_prefetch
from .emit_places import any_lane, locate
from .emit_scope import Bound, Slot, affine, multiple, nonneg, upper
from .emit_stores import emit_store, emit_update
from .emit_types import Value, lane_mask, register_type, vector_of

ASSERTION_FAILED = 1
OUT_OF_MEMORY = 2
"""Status codes of a te.func; other failures pass on the callee's code."""

_CHEAP_NODES = 8
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_CHEAP_OPS = frozenset(("var", "const", "add", "sub", "mul"))


def emit_let(context: Context, op: Operation) -> None:
    assert isinstance(op, LetOp)
    value = context.resolve(op.value)
    scope = context.scope
    scope.replaced.pop(op.var, None)
    if value.is_const or _stays_symbolic(context, value):
        scope.replaced[op.var] = value
        return
    if context.vector is not None and context.vector.varies(value):
        context.vector.varying.add(op.var)
    if _is_joined(value):
        scope.joined.add(op.var)
    if loads(value) or not scope.read.isdisjoint(value.free):
        scope.read.add(op.var)
    is_index = value.dtype is int64
    scope.values[op.var] = Bound(
        value_of(context, value),
        value.dtype,
        is_index and nonneg(value, scope),
        multiple(value, scope) if is_index else 1,
        upper(value, scope) if is_index and nonneg(value, scope) else None,
    )


def _is_joined(value: Expr) -> bool:
    """A condition that joins comparisons of numbers with a fraction, which are data."""
    if value.dtype is not bool_ or value.op not in ("and", "or", "select"):
        return False
    tests = [n for n in walk(value) if n.op in _COMPARISONS]
    return len(tests) > 1 and all(t.args[0].dtype.is_floating_point for t in tests)


def _stays_symbolic(context: Context, value: Expr) -> bool:
    """Index arithmetic that is repeated at each use, so that analysis sees through the name."""
    if value.dtype is not int64 or any(context.scope.bound(n) is None for n in value.free):
        return False
    lane = context.vector
    if lane is not None and lane.varies(value):
        # A load must be read now: a later store may change the element.
        return affine(value, lane, context.scope) is not None and not loads(value)
    nodes = list(walk(value))
    return len(nodes) <= _CHEAP_NODES and all(n.op in _CHEAP_OPS for n in nodes)


def emit_var(context: Context, op: Operation) -> None:
    assert isinstance(op, VarOp)
    lanes = context.width
    text = evaluate_as(context, op.value, lanes)
    kind = register_type(op.dtype, lanes)
    pointer = context.code.alloca(kind, op.var)
    context.scope.values[op.var] = Slot(pointer, op.dtype, lanes)
    context.scope.replaced.pop(op.var, None)
    if context.vector is not None:
        context.vector.varying.add(op.var)
    context.code.do(f"store {kind} {text}, ptr {pointer}")


def emit_assign(context: Context, op: Operation) -> None:
    assert isinstance(op, AssignOp)
    slot = context.scope.values.get(op.var)
    if not isinstance(slot, Slot):
        raise context.refuse(f"assignment to {op.var}, which is not a te.var in reach")
    if slot.lanes != context.width:
        if context.mask is not None:
            raise context.refuse(f"masked assignment to {op.var} of an outer scope")
        text = evaluate_scalar(context, op.value, f"the value of {op.var}")
    else:
        text = evaluate_as(context, op.value, slot.lanes)
    kind = register_type(slot.dtype, slot.lanes)
    if context.mask is not None:
        old = context.code.let(f"load {kind}, ptr {slot.pointer}")
        text = context.site(slot.dtype, slot.lanes).choose(context.mask, text, old)
    context.code.do(f"store {kind} {text}, ptr {slot.pointer}")


def emit_store_op(context: Context, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    value = evaluate(context, op.value)
    indices = tuple(context.resolve(i) for i in op.indices)
    emit_store(context, locate(context, op.buffer, indices), value, value_of)


def emit_update_op(context: Context, op: Operation) -> None:
    assert isinstance(op, UpdateOp)
    if emit_group(context, op):
        return
    value = evaluate(context, op.value)
    indices = tuple(context.resolve(i) for i in op.indices)
    target = locate(context, op.buffer, indices)
    wide = convert(context.code, op.value.dtype, target.dtype, value.lanes, value.text)
    emit_update(context, target, op.combiner, Value(wide, value.lanes), value_of)


def emit_prefetch_op(context: Context, op: Operation) -> None:
    assert isinstance(op, PrefetchOp)
    place = context.resolve(op.place)
    target = locate(context, str(place.value), place.args)
    emit_prefetch(context, target, op.level, value_of)


def emit_if(context: Context, op: Operation) -> None:
    assert isinstance(op, IfOp)
    condition = context.resolve(op.condition)
    then, otherwise = (list(r.block.ops) for r in (op.then_body, op.else_body))
    if condition.is_const:
        context.block(then if condition.value else otherwise)
        return
    if (on := _known_mask(context, condition)) is not None:
        for lanes, body in ((on, then), (tuple(not k for k in on), otherwise)):
            _known_block(context, lanes, body)
        return
    value = value_of(context, condition)
    if value.lanes == 1:
        joined = condition.op == "var" and condition.value in context.scope.joined
        _branch(context, value.text, then, otherwise, joined or _is_joined(condition))
        return
    site = context.site(condition.dtype, value.lanes)
    if then:
        _masked_block(context, context.conjoin(value.text), then)
    if otherwise:
        _masked_block(context, context.conjoin(site.logical_not(value.text)), otherwise)


def _branch(
    context: Context,
    condition: str,
    then: Sequence[Operation],
    otherwise: Sequence[Operation],
    joined: bool,
) -> None:
    """A branch of the program. Data seldom says a part of a condition more surely than all of it,
    so that a branch for each part is one more that processors guess wrong."""
    code = context.code
    yes, no, join = code.name("then"), code.name("else"), code.name("join")
    code.branch(condition, yes, no if otherwise else join, together=joined)
    code.start(yes)
    context.block(then)
    if otherwise:
        code.end(f"br label %{join}")
        code.start(no)
        context.block(otherwise)
    code.start(join)


def _masked_block(context: Context, mask: str, statements: Sequence[Operation]) -> None:
    """Statements for the lanes of `mask`; skipped if there is none."""
    code = context.code
    some, join = code.name("some"), code.name("join")
    code.branch(any_lane(context, mask), some, join)
    code.start(some)
    with context.masked(mask):
        context.mask_is_any = True
        context.block(statements)
    code.start(join)


def _known_mask(context: Context, condition: Expr) -> tuple[bool, ...] | None:
    """The lanes in which `condition` holds, if those and the ones in force are known."""
    unknown = context.mask is not None and context.on is None
    return None if unknown or context.gpu else known_lanes(context, condition)


def _known_block(
    context: Context, lanes: tuple[bool, ...], statements: Sequence[Operation]
) -> None:
    """Statements for `lanes` of those in force: no branch, and no mask for all of them."""
    before = context.on
    on = lanes if before is None else tuple(a and b for a, b in zip(lanes, before, strict=True))
    if not any(on) or not statements:
        return
    if all(on):
        context.block(statements)
        return
    with context.masked(lane_mask(on), on):
        context.mask_is_any = True
        context.block(statements)


def fail(context: Context, status: str) -> None:
    """Leave the function with `status` (closes the current block)."""
    if not context.status:
        context.status = context.code.alloca("i32", "status")
        context.code.at_entry(f"store i32 0, ptr {context.status}")
    context.code.do(f"store i32 {status}, ptr {context.status}")
    context.code.end("br label %exit")


def pass_on(context: Context, status: str) -> None:
    """Fail with the `status` of something that was called, unless it is 0."""
    code = context.code
    good, bad = code.name("good"), code.name("bad")
    code.branch(code.let(f"icmp eq i32 {status}, 0"), good, bad)
    code.start(bad)
    fail(context, status)
    code.start(good)


def fail_unless(context: Context, condition: str, status: int, message: str) -> None:
    """Report `message` to the runtime and fail unless `condition` (i1) holds."""
    code = context.code
    good, bad = code.name("good"), code.name("bad")
    code.branch(condition, good, bad)
    code.start(bad)
    text = code.module.string(message)
    code.call("void", "ts_set_error", [("i32", str(status)), ("ptr", text)])
    fail(context, str(status))
    code.start(good)


def emit_assert(context: Context, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    value = evaluate(context, op.condition)
    text = value.text
    if value.lanes > 1:
        site = context.site(op.condition.dtype, value.lanes)
        if context.mask is not None:
            text = site.op("or", text, site.logical_not(context.mask))
        kind = vector_of("i1", value.lanes)
        text = context.code.call("i1", f"llvm.vector.reduce.and.v{value.lanes}i1", [(kind, text)])
    fail_unless(context, text, ASSERTION_FAILED, op.message)


def emit_call_op(context: Context, op: Operation) -> None:
    assert isinstance(op, CallOp)
    if (parameters := context.callees.get(op.callee)) is None:
        raise context.refuse(f"call of unknown @{op.callee}")
    if context.mask is not None:
        raise context.refuse(f"call of @{op.callee} under a mask")
    arguments = []
    for parameter, argument in zip(parameters, op.arguments, strict=True):
        if isinstance(parameter, Buffer):
            place = context.place(str(argument.value))
            # Thousands of pointers that are made before the first call, and moved to theirs by
            # LLVM block by block, take a time that grows with their square.
            pointer = context.code.let(place.again, "buffer") if place.again else place.pointer
            arguments.append(f"ptr {pointer}")
        else:
            text = evaluate_scalar(context, argument, f"argument {parameter.name}")
            arguments.append(f"{register_type(parameter.dtype)} {text}")
    code = context.code
    symbol = context.symbols.get(op.callee, op.callee)
    timed = op.callee in context.options.timed
    start = clock(context) if timed else ""
    status = code.let(f"call i32 @{symbol}({', '.join(arguments)})")
    if timed:
        count_call(context, context.options.timed.index(op.callee), start)
    if symbol not in code.module.certain:
        pass_on(context, status)
