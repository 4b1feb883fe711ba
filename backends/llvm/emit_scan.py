"""te.scan: lanes that each take in what the lane before has.

```
lanes            e0           e1                  e2                        e3
distance 1       e0           min(e0+k, e1)       min(e1+k, e2)             min(e2+k, e3)
distance 2       e0           min(e0+k, e1)       min(e0+2k, e1+k, e2)      min(e0+3k, .., e3)
with c carried   min(c+k, _)  min(c+2k, _)        min(c+3k, _)              min(c+4k, _)
```
What the next vector waits for is one step of a scalar: of the last lane, which does not depend on
`c`, and `c` plus all steps. The sums are exact for all lanes that count (see `ScanOp`).
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.ops import ScanOp

from .emit_arith import BINARY, Site, better, identity
from .emit_context import Context
from .emit_expr import evaluate_as, evaluate_scalar
from .emit_scope import Bound, Slot
from .emit_types import Value, register_type, step_vector


def emit_scan(context: Context, op: Operation) -> None:
    assert isinstance(op, ScanOp)
    slot = context.scope.values.get(op.carried)
    if not isinstance(slot, Slot) or slot.lanes != 1 or (context.mask is not None and op.steps):
        raise context.refuse(f"a scan of {op.carried}, which every lane has or some lanes miss")
    code, lanes, kind = context.code, context.width, register_type(op.dtype)
    one, wide = context.site(op.dtype, 1), context.site(op.dtype, lanes)
    combine = BINARY[op.combiner]
    value = evaluate_as(context, op.value, lanes)
    if context.mask is not None:
        value = wide.choose(context.mask, value, _nothing(wide, op))
    step = evaluate_scalar(context, op.step, f"the step of {op.var}") if op.steps else None
    old = code.let(f"load {kind}, ptr {slot.pointer}")
    found = _with_lanes_before(context, wide, op, value, step)
    last = found
    if lanes > 1:
        last = code.let(f"extractelement {wide.type} {found}, i64 {lanes - 1}")
    ahead = old if step is None else one.op("add", old, _times(one, step, lanes))
    new = combine(one, last, ahead)
    code.do(f"store {kind} {new}, ptr {slot.pointer}")
    if context.vector is not None:
        context.vector.varying.add(op.var)
        new = combine(wide, found, _ahead(context, wide, old, step))
    context.scope.replaced.pop(op.var, None)
    context.scope.values[op.var] = Bound(Value(new, lanes), op.dtype)


def _nothing(wide: Site, op: ScanOp) -> str:
    """What leaves the lanes that it is combined with as they are.

    Of sums of floats that is -0, which leaves a zero its sign. Lanes behind those of 0 LLVM would
    expand, for which an AMD takes eight times as long as for permuting two registers.
    """
    is_sum = op.combiner == "add" and op.dtype.is_floating_point
    return wide.literal(-0.0 if is_sum else identity(op.combiner, op.dtype))


def _with_lanes_before(
    context: Context, wide: Site, op: ScanOp, value: str, step: str | None
) -> str:
    """`value` combined with what the lanes before it have, a step further at each lane."""
    is_extreme = op.dtype.is_floating_point and op.combiner != "add"
    given, distance = value, 1
    while distance < wide.lanes:
        further = value
        if step is not None:
            by = _times(context.site(op.dtype, 1), step, distance)
            further = wide.op("add", value, context.splat(by, register_type(op.dtype), wide.lanes))
        before = _moved(context, wide, op, further, distance)
        if is_extreme:  # NaN, which wins, comes at last: each step would test it
            value = better(wide, value, before, op.combiner == "min")
        else:
            value = BINARY[op.combiner](wide, value, before)
        distance *= 2
    if not is_extreme or wide.lanes == 1:
        return value
    return wide.choose(_from_first(context, wide.test("uno", given, given), wide),
                       wide.literal(float("nan")), value)  # fmt: skip


def _moved(context: Context, wide: Site, op: ScanOp, value: str, distance: int) -> str:
    """The lanes of `value` so many places on, nothing in the first of them."""
    lanes = wide.lanes
    picks = (k if k < distance else lanes + k - distance for k in range(lanes))
    return context.code.let(
        f"shufflevector {wide.type} {_nothing(wide, op)}, {wide.type} {value}, "
        f"<{lanes} x i32> <{', '.join(f'i32 {k}' for k in picks)}>"
    )


def _from_first(context: Context, mask: str, wide: Site) -> str:
    """The lanes from the first one that a mask has on: as bits of a number, those of it and of its
    negative."""
    code, number = context.code, f"i{wide.lanes}"
    bits = code.let(f"bitcast {wide.mask_type} {mask} to {number}")
    negative = code.let(f"sub {number} 0, {bits}")
    both = code.let(f"or {number} {bits}, {negative}")
    return code.let(f"bitcast {number} {both} to {wide.mask_type}")


def _ahead(context: Context, wide: Site, carried: str, step: str | None) -> str:
    """What is carried, one step further at each lane, the first one included."""
    kind = register_type(wide.dtype)
    if step is None:
        return context.splat(carried, kind, wide.lanes)
    steps = step_vector(wide.lanes, int(step), kind) if _is_literal(step) else wide.op(
        "mul", context.splat(step, kind, wide.lanes), step_vector(wide.lanes, 1, kind)
    )  # fmt: skip
    one = context.site(wide.dtype, 1)
    first = one.op("add", carried, step)
    return wide.op("add", context.splat(first, kind, wide.lanes), steps)


def _times(one: Site, step: str, count: int) -> str:
    return str(int(step) * count) if _is_literal(step) else one.op("mul", step, str(count))


def _is_literal(text: str) -> bool:
    return text[0] not in "%@"
