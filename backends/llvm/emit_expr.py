"""Expressions to LLVM values: one walk, scalar outside of vector loops, one value per lane inside.

A node that does not depend on the lane stays scalar and is copied to the lanes where it meets a
vector. i64 index arithmetic that is affine in the lane is computed as a scalar plus a constant
vector. The side of a `select` that is not taken is evaluated only if it is harmless (no load that
may be out of bounds, no division that may trap); otherwise scalars branch and vectors mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tensorscript.base.dtypes import DType, bool_, float32, float64, int32, int64
from tensorscript.dialects.te.expr import Expr, add, const, sub
from tensorscript.dialects.te.rewriting import loads, substitute
from tensorscript.dialects.te.vocabulary import COMPARISONS

from .emit_arith import BINARY, Site, compare, compare_signs
from .emit_call import emit_call, integer_power, is_predicate
from .emit_cast import convert, reinterpret, round_result
from .emit_compare import compare_apart, numbers_apart
from .emit_context import Context
from .emit_division import divide, divide_halves
from .emit_loads import emit_load
from .emit_scope import (
    Slot,
    affine,
    below,
    element_count,
    flat_index,
    is_bounded,
    is_index,
    nonneg,
    upper,
)
from .emit_text import Code
from .emit_types import Value, is_half, lane_mask, literal, register_type, step_vector, vector_of

DIVISIONS = ("floordiv", "mod", "truncdiv", "truncmod")


def evaluate(context: Context, e: Expr) -> Value:
    """The value of `e` in the current statement."""
    return value_of(context, context.resolve(e))


def evaluate_scalar(context: Context, e: Expr, what: str) -> str:
    """The operand text of `e`, which must not vary over lanes.

    Raises:
        InternalError: it does.
    """
    value = evaluate(context, e)
    if value.lanes != 1:
        raise context.refuse(f"{what} varies over the lanes of a vector loop: {e}")
    return value.text


def evaluate_as(context: Context, e: Expr, lanes: int) -> str:
    """The operand text of `e` with `lanes` lanes."""
    return context.widen(evaluate(context, e), e.dtype, lanes)


def value_of(context: Context, e: Expr) -> Value:
    """Like `evaluate`, of a resolved expression; iterative, so depth does not matter."""
    stack = [e]
    while stack:
        current = stack[-1]
        if current in context.cache:
            stack.pop()
            continue
        missing = [a for a in _operands(context, current) if a not in context.cache]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        made = _emit(context, current)
        context.cache[current] = made
    return context.cache[e]


def _operands(context: Context, e: Expr) -> Iterable[Expr]:
    if e.op == "load" or _lane_affine(context, e) or _lane_limit(context, e) is not None:
        return ()
    if e.op in COMPARISONS and numbers_apart(context, e) is not None:
        return ()
    if e.op == "select" and not _both_harmless(context, e):
        return e.args[:1]
    return e.args


def _lane_affine(context: Context, e: Expr) -> bool:
    if context.vector is None or e.dtype is not int64 or e.op not in ("var", "add", "sub", "mul"):
        return False
    if not context.vector.varies(e):
        return False
    found = affine(e, context.vector, context.scope)
    return found is not None and found[1].is_const


def _emit(context: Context, e: Expr) -> Value:
    if _lane_affine(context, e):
        return _emit_affine(context, e, int64)
    if e.op in COMPARISONS:
        return _emit_compare(context, e)
    if row := _ROWS.get(e.op):
        return row(context, e)
    if e.op in BINARY:
        return _emit_binary(context, e)
    raise context.refuse(f"cannot emit {e.op!r}: {e}")


def _emit_const(_context: Context, e: Expr) -> Value:
    return Value(literal(e.value, e.dtype))


def _emit_var(context: Context, e: Expr) -> Value:
    found = context.scope.values.get(str(e.value))
    if found is None:
        raise context.refuse(f"unknown name {e.value}")
    if isinstance(found, Slot):
        kind = register_type(found.dtype, found.lanes)
        return Value(context.code.let(f"load {kind}, ptr {found.pointer}"), found.lanes)
    return found.value


def _emit_affine(context: Context, e: Expr, dtype: DType) -> Value:
    """base + step * lane, as `dtype` (wrapping around)."""
    lane = context.vector
    assert lane is not None
    found = affine(e, lane, context.scope)
    assert found is not None
    base, step = found
    start = convert(context.code, int64, dtype, 1, _scalar(context, base))
    lanes, element = lane.width, register_type(dtype)
    steps = step_vector(lanes, int(str(step.value)), element)
    if start == "0":
        return Value(steps, lanes)
    wide = context.splat(start, element, lanes)
    return Value(context.code.let(f"add {vector_of(element, lanes)} {wide}, {steps}"), lanes)


def _scalar(context: Context, e: Expr) -> str:
    return value_of(context, e).text


def _pair(context: Context, e: Expr) -> tuple[Site, str, str]:
    left, right = context.cache[e.args[0]], context.cache[e.args[1]]
    lanes = max(left.lanes, right.lanes)
    dtype = e.args[0].dtype
    wraps = " nsw" if dtype is int64 and is_index(e, context.scope) else ""
    a, b = context.widen(left, dtype, lanes), context.widen(right, dtype, lanes)
    return context.site(dtype, lanes, wraps), a, b


def _emit_binary(context: Context, e: Expr) -> Value:
    site, a, b = _pair(context, e)
    if e.op == "div" and context.mask is not None and context.cache[e.args[1]].lanes > 1:
        # LLVM takes 0 / 0 for 0: lanes that are off, of zeros, would then need no `select`.
        b = site.choose(context.mask, b, site.literal(1))
    made = BINARY[e.op](site, a, b)
    if is_half(e.dtype) and e.op not in ("min", "max"):
        made = round_result(context.code, e.dtype, site.lanes, made)
    if e.op == "sub" and site.lanes == 1 and e.dtype in (float32, float64):
        context.code.differences[made] = e.dtype, a, b
    return Value(made, site.lanes)


def _emit_compare(context: Context, e: Expr) -> Value:
    if (found := _lane_limit(context, e)) is not None:
        return _compare_lanes(context, *found)
    if (form := numbers_apart(context, e)) is not None:
        return compare_apart(context, e, form, value_of)
    site, a, b = _pair(context, e)
    if site.lanes == 1 and e.op in ("lt", "gt") and e.args[1].is_const and e.args[1].value == 0:
        return Value(compare_signs(site, e.op, a, b))
    return Value(compare(site, e.op, a, b), site.lanes)


_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _lane_limit(context: Context, e: Expr) -> tuple[str, Expr] | None:
    """(predicate, limit) for a comparison that is one of the lane number with a scalar."""
    lane = context.vector
    if lane is None or e.op not in _SWAPPED or e.args[0].dtype is not int64:
        return None
    left, right = (affine(a, lane, context.scope) for a in e.args)
    if left is None or right is None:
        return None
    op = e.op
    if right[1].is_int(1) and left[1].is_int(0):
        left, right, op = right, left, _SWAPPED[op]
    if not (left[1].is_int(1) and right[1].is_int(0)):
        return None
    if not (is_bounded(left[0], context.scope) and is_bounded(right[0], context.scope)):
        return None
    limit = sub(right[0], left[0])
    if op in ("le", "gt"):
        limit = add(limit, const(1))
    return ("slt" if op in ("lt", "le") else "sge"), limit


def known_lanes(context: Context, condition: Expr) -> tuple[bool, ...] | None:
    """In which lanes a resolved condition holds, where nothing else decides that."""
    lane = context.vector
    if lane is None:
        return None
    if (found := _lane_limit(context, condition)) is not None:
        predicate, limit = found
        if not limit.is_const:
            return None
        count = int(str(limit.value))
        return tuple((k < count) == (predicate == "slt") for k in range(lane.width))
    if not condition.free <= {lane.name} or loads(condition):
        return None
    each = [substitute(condition, {lane.name: const(k)}) for k in range(lane.width)]
    return tuple(bool(e.value) for e in each) if all(e.is_const for e in each) else None


def _compare_lanes(context: Context, predicate: str, limit: Expr) -> Value:
    """`base + lane < bound` as a compare of i32 lane numbers with one clamped scalar."""
    lanes = context.width
    count = _scalar(context, limit)
    scalar = Site(context.code, int64, 1)
    count = scalar.intrinsic("smin", scalar.intrinsic("smax", count, "0"), str(lanes))
    narrow = context.code.let(f"trunc i64 {count} to i32")
    site = Site(context.code, int32, lanes)
    wide = context.splat(narrow, "i32", lanes)
    return Value(site.test(predicate, step_vector(lanes, 1, "i32"), wide), lanes)


def _emit_division(context: Context, e: Expr) -> Value:
    site, a, b = _pair(context, e)
    divisor = int(str(e.args[1].value)) if _int_literal(e.args[1]) else None
    if divisor is None and context.mask is not None and not e.dtype.is_floating_point:
        # A lane that is switched off must not trap.
        safe = context.mask if site.lanes > 1 else site.test("ne", b, site.literal(0))
        b = site.choose(safe, b, site.literal(1))
    unsigned = all(nonneg(x, context.scope) for x in e.args)
    narrow = unsigned and divisor is not None and (site.lanes > 1 or context.gpu)
    if narrow and divisor is not None and _fits_half(context, e.args[0]):
        return Value(divide_halves(site, e.op, a, divisor), site.lanes)
    made = divide(site, e.op, a, b, divisor, unsigned)
    return Value(round_result(context.code, e.dtype, site.lanes, made), site.lanes)


def _fits_half(context: Context, e: Expr) -> bool:
    """Whether an index is known to fit into 32 bits, of which vectors are divided sooner, and on
    GPUs single numbers too."""
    most = upper(e, context.scope) if e.dtype is int64 else None
    return most is not None and most < 2**31


def _int_literal(e: Expr) -> bool:
    return e.is_const and isinstance(e.value, int) and not isinstance(e.value, bool)


def _emit_pow(context: Context, e: Expr) -> Value:
    site, a, b = _pair(context, e)
    if not e.dtype.is_floating_point:
        return Value(integer_power(site, a, b), site.lanes)
    made = emit_call(site, "pow", [a, b])
    return Value(round_result(context.code, e.dtype, site.lanes, made), site.lanes)


def _emit_not(context: Context, e: Expr) -> Value:
    operand = context.cache[e.args[0]]
    site = context.site(e.dtype, operand.lanes)
    if e.dtype is bool_:
        return Value(site.logical_not(operand.text), operand.lanes)
    return Value(site.op("xor", operand.text, site.literal(-1)), operand.lanes)


def _emit_neg(context: Context, e: Expr) -> Value:
    operand = context.cache[e.args[0]]
    return Value(context.site(e.dtype, operand.lanes).negate(operand.text), operand.lanes)


def _emit_cast(context: Context, e: Expr) -> Value:
    source = e.args[0]
    if e.dtype.is_integral and _lane_affine(context, source):
        return _emit_affine(context, source, e.dtype)
    operand = context.cache[source]
    made = convert(context.code, source.dtype, e.dtype, operand.lanes, operand.text)
    return Value(made, operand.lanes)


def _emit_bitcast(context: Context, e: Expr) -> Value:
    operand = context.cache[e.args[0]]
    made = reinterpret(context.code, e.args[0].dtype, e.dtype, operand.lanes, operand.text)
    return Value(made, operand.lanes)


def _emit_math(context: Context, e: Expr) -> Value:
    operands = [context.cache[a] for a in e.args]
    lanes = max(v.lanes for v in operands)
    dtype = e.args[0].dtype
    site = context.site(dtype, lanes)
    texts = [context.widen(v, dtype, lanes) for v in operands]
    made = emit_call(site, str(e.value), texts)
    if not is_predicate(str(e.value)):
        made = round_result(context.code, dtype, lanes, made)
    return Value(made, lanes)


def _emit_load(context: Context, e: Expr) -> Value:
    return emit_load(context, e, value_of, _load_in_bounds)


# --- select -------------------------------------------------------------------------------------


def _emit_select(context: Context, e: Expr) -> Value:
    condition = context.cache[e.args[0]]
    if _both_harmless(context, e):
        yes, no = (value_of(context, a) for a in e.args[1:])
        return _choose(context, e.dtype, condition, yes, no)
    if condition.lanes > 1:
        return _select_masked(context, e, condition)
    return _select_branch(context, e, condition)


def _choose(context: Context, dtype: DType, condition: Value, yes: Value, no: Value) -> Value:
    lanes = max(condition.lanes, yes.lanes, no.lanes)
    site = context.site(dtype, lanes)
    a, b = context.widen(yes, dtype, lanes), context.widen(no, dtype, lanes)
    if lanes == 1:
        return Value(_choose_narrow(context.code, condition.text, site.type, a, b))
    mask = vector_of("i1", condition.lanes)
    return Value(
        context.code.let(f"select {mask} {condition.text}, {site.type} {a}, {site.type} {b}"), lanes
    )


def _choose_narrow(code: Code, condition: str, wide: str, a: str, b: str) -> str:
    """A choice of two floats that were made wider is made before: LLVM compares the narrow ones,
    and finds a minimum only where it chooses between what it compares."""
    narrow, x = code.widened.get(a, (wide, a))
    other, y = code.widened.get(b, (wide, b))
    if narrow != other:
        narrow, x, y = wide, a, b
    chosen = code.let(f"select i1 {condition}, {narrow} {x}, {narrow} {y}")
    if narrow == wide:
        return chosen
    text = code.let(f"fpext {narrow} {chosen} to {wide}")
    code.widened[text] = narrow, chosen
    return text


def _select_masked(context: Context, e: Expr, condition: Value) -> Value:
    site = context.site(bool_, condition.lanes)
    known = _known_sides(context, e.args[0])
    if known is not None and not all(map(any, known)):
        return value_of(context, e.args[1] if any(known[0]) else e.args[2])
    sides = []
    for k, side in enumerate(e.args[1:]):
        mask = site.logical_not(condition.text) if k else condition.text
        on = known[k] if known is not None else None
        mask = context.conjoin(mask) if on is None else lane_mask(on)
        with context.masked(mask, on), context.branch_cache():
            context.mask_is_any = on is not None
            sides.append(value_of(context, side))
    return _choose(context, e.dtype, condition, sides[0], sides[1])


Lanes = tuple[bool, ...]


def _known_sides(context: Context, condition: Expr) -> tuple[Lanes, Lanes] | None:
    """The lanes in force in which a condition holds, and those in which it does not, if known."""
    lanes = known_lanes(context, condition)
    if lanes is None or context.gpu or (context.mask is not None and context.on is None):
        return None
    force = context.on or (True,) * len(lanes)
    yes = tuple(a and b for a, b in zip(lanes, force, strict=True))
    return yes, tuple(b and not a for a, b in zip(lanes, force, strict=True))


def _select_branch(context: Context, e: Expr, condition: Value) -> Value:
    code = context.code
    lanes = context.width if any(context.varies(a) for a in e.args[1:]) else 1
    yes, no, join = code.name("yes"), code.name("no"), code.name("join")
    code.branch(condition.text, yes, no)
    incoming = []
    for label, side in ((yes, e.args[1]), (no, e.args[2])):
        code.start(label)
        with context.branch_cache():
            text = context.widen(value_of(context, side), e.dtype, lanes)
        incoming.append(f"[ {text}, %{code.block} ]")
        code.end(f"br label %{join}")
    code.start(join)
    kind = register_type(e.dtype, lanes)
    return Value(code.let(f"phi {kind} {', '.join(incoming)}"), lanes)


def _both_harmless(context: Context, e: Expr) -> bool:
    return _harmless(context, e.args[1]) and _harmless(context, e.args[2])


def _harmless(context: Context, e: Expr) -> bool:
    """True if evaluating `e` where it is not asked for cannot fault; results are in `steady`."""
    stack = [e]
    seen: set[Expr] = set()
    while stack:
        current = stack.pop()
        if current in seen or current in context.steady or current in context.cache:
            continue
        if not _node_harmless(context, current):
            return False
        seen.add(current)
        stack.extend(current.args)  # of a select, too: it may lean on a condition around it
    context.steady.update(seen)
    return True


def _node_harmless(context: Context, e: Expr) -> bool:
    if e.op == "load":
        return _load_in_bounds(context, e)
    if e.op in DIVISIONS and not e.dtype.is_floating_point:
        return e.args[1].is_const and bool(e.args[1].value)
    return True


def _load_in_bounds(context: Context, e: Expr) -> bool:
    buffer = context.place(str(e.value)).buffer
    shape = [context.resolve(size) for size in buffer.shape]
    if len(shape) == len(e.args):
        scope = context.scope
        if all(below(i, size, scope) for i, size in zip(e.args, shape, strict=True)):
            return True
    # Collapsed loops leave a dimension but not the buffer.
    index = context.resolve(flat_index(buffer, e.args, context.is_flat))
    return below(index, context.resolve(element_count(buffer)), context.scope)


_ROWS: dict[str, Callable[[Context, Expr], Value]] = {
    "const": _emit_const,
    "var": _emit_var,
    "load": _emit_load,
    "select": _emit_select,
    "cast": _emit_cast,
    "bitcast": _emit_bitcast,
    "call": _emit_math,
    "not": _emit_not,
    "neg": _emit_neg,
    "pow": _emit_pow,
    **dict.fromkeys(DIVISIONS, _emit_division),
}
