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

from .emit_arith import BINARY, Site, identity
from .emit_context import Context
from .emit_expr import evaluate_as, evaluate_scalar
from .emit_scope import Bound, Slot
from .emit_types import Value, register_type, step_vector


def emit_scan(context: Context, op: Operation) -> None:
    assert isinstance(op, ScanOp)
    slot = context.scope.values.get(op.carried)
    if not isinstance(slot, Slot) or slot.lanes != 1 or context.mask is not None:
        raise context.refuse(f"a scan of {op.carried}, which every lane has or some lanes miss")
    code, lanes, kind = context.code, context.width, register_type(op.dtype)
    one, wide = context.site(op.dtype, 1), context.site(op.dtype, lanes)
    combine = BINARY[op.combiner]
    value = evaluate_as(context, op.value, lanes)
    step = evaluate_scalar(context, op.step, f"the step of {op.var}")
    old = code.let(f"load {kind}, ptr {slot.pointer}")
    found = _with_lanes_before(context, wide, op, value, step)
    last = found
    if lanes > 1:
        last = code.let(f"extractelement {wide.type} {found}, i64 {lanes - 1}")
    new = combine(one, last, one.op("add", old, _times(one, step, lanes)))
    code.do(f"store {kind} {new}, ptr {slot.pointer}")
    if context.vector is not None:
        context.vector.varying.add(op.var)
        new = combine(wide, found, _ahead(context, wide, old, step))
    context.scope.replaced.pop(op.var, None)
    context.scope.values[op.var] = Bound(Value(new, lanes), op.dtype)


def _with_lanes_before(context: Context, wide: Site, op: ScanOp, value: str, step: str) -> str:
    """`value` combined with what the lanes before it have, a step further at each lane."""
    code, lanes = context.code, wide.lanes
    nothing = wide.literal(identity(op.combiner, op.dtype))
    distance = 1
    while distance < lanes:
        by = _times(context.site(op.dtype, 1), step, distance)
        further = wide.op("add", value, context.splat(by, register_type(op.dtype), lanes))
        picks = (k if k < distance else lanes + k - distance for k in range(lanes))
        moved = code.let(
            f"shufflevector {wide.type} {nothing}, {wide.type} {further}, "
            f"<{lanes} x i32> <{', '.join(f'i32 {k}' for k in picks)}>"
        )
        value = BINARY[op.combiner](wide, value, moved)
        distance *= 2
    return value


def _ahead(context: Context, wide: Site, carried: str, step: str) -> str:
    """What is carried, one step further at each lane, the first one included."""
    kind = register_type(wide.dtype)
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
