"""vectorize, unroll, parallel, bind, serial: how the iterations of one loop are run.

```
parallel("i", 32):
for i in 0 .. N serial   -->   for i in 0 .. N parallel grain 32
```

`unroll` and `serial` keep the order. `vectorize` (a constant extent; lanes run in lock step) and
`parallel` / `bind` (to a GPU dimension) need iterations that do not depend on each other; a loop
that carries a reduction needs `rfactor` first.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import ExprAttr
from tensorscript.dialects.te.expr import const
from tensorscript.dialects.te.ops import AllocOp, AssertOp, AssignOp, CallOp, ForOp, VarOp, WhileOp
from tensorscript.dialects.walks import walk_ops

from .dependence import carried, has_effects
from .nest import Nest

AXES = ("bx", "by", "bz", "tx", "ty", "tz")


def _independent(
    nest: Nest, loop: ForOp, effects: tuple[type[Operation], ...] = (CallOp, WhileOp)
) -> str | None:
    if loop.kind.data not in ("serial", "unroll"):
        return f"loop {loop.var} is {loop.kind.data} already"
    return has_effects(loop, effects) or carried(nest, loop, reductions_commute=False)


def check_vectorize(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if not loop.extent.is_const:
        return f"the extent {loop.extent} is not constant"
    for op in walk_ops(loop):
        if isinstance(op, (AssertOp, VarOp, AssignOp)):
            return f"{op.name} inside"
        if isinstance(op, AllocOp) and op.scope.data not in ("reg", "stack"):
            return f"a buffer of scope {op.scope.data} inside"
        if isinstance(op, ForOp) and target in op.start.free | op.extent.free:
            return f"the bounds of loop {op.var} depend on {target}"
        if isinstance(op, ForOp) and op.kind.data not in ("serial", "unroll"):
            return f"loop {op.var} inside is a {op.kind.data} loop"
    return _independent(nest, loop)


def apply_vectorize(nest: Nest, target: str) -> None:
    _set_kind(nest.loops[target], "vector")


def check_unroll(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if not loop.extent.is_const:
        return f"the extent {loop.extent} is not constant"
    return None if loop.kind.data == "serial" else f"loop {target} is {loop.kind.data} already"


def apply_unroll(nest: Nest, target: str) -> None:
    _set_kind(nest.loops[target], "unroll")


def check_parallel(nest: Nest, target: str, grain: int | None = None) -> str | None:
    loop = nest.loops[target]
    if grain is not None and grain < 1:
        return "the grain is a positive integer"
    for outer in nest.enclosing(loop):
        if outer.kind.data in ("parallel", "vector"):
            return f"loop {outer.var} around it is a {outer.kind.data} loop"
    for op in walk_ops(loop):
        if isinstance(op, ForOp) and op.kind.data == "parallel":
            return f"loop {op.var} inside is parallel"
    # A thread may well run loops whose end depends on data.
    return _independent(nest, loop, (CallOp,))


def apply_parallel(nest: Nest, target: str, grain: int | None = None) -> None:
    loop = nest.loops[target]
    _set_kind(loop, "parallel")
    if grain is not None:
        loop.properties["grain_attr"] = ExprAttr(const(grain))


def check_bind(nest: Nest, target: str, axis: str) -> str | None:
    if axis not in AXES:
        return f"the axis is one of {', '.join(AXES)}"
    loop = nest.loops[target]
    around = {outer.kind.data for outer in nest.enclosing(loop)}
    if axis in around:
        return f"a loop around {target} is bound to {axis}"
    if axis[0] == "b" and around & {"tx", "ty", "tz"}:
        return "a grid dimension inside of a block dimension"
    return _independent(nest, loop)


def apply_bind(nest: Nest, target: str, axis: str) -> None:
    _set_kind(nest.loops[target], axis)


def check_serial(nest: Nest, target: str) -> str | None:
    chunk = nest.loops[target].chunk
    return None if chunk is None else f"{target} takes {chunk} iterations at once"


def apply_serial(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    _set_kind(loop, "serial")
    loop.properties.pop("grain_attr", None)


def _set_kind(loop: ForOp, kind: str) -> None:
    loop.properties["kind"] = StringAttr(kind)
