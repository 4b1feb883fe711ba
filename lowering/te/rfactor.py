"""rfactor: a reduction loop gets partial results of its own, so its iterations are independent.

```
rfactor("k_i"):
for k_o reduce { for k_i in 0 .. 8 reduce { y[i] add= x[i, k_o * 8 + k_i] } }
    -->
alloc reg y_rf[8]
for k_i_z in 0 .. 8 { y_rf[k_i_z] = 0 }
for k_o { for k_i in 0 .. 8 { y_rf[k_i] add= x[i, k_o * 8 + k_i] } }
for k_i_r in 0 .. 8 reduce { y[i] add= y_rf[k_i_r] }
```

Arguments: further loops, each the next inner one, that also index the partial results (for several
vectors of accumulators). Every update inside gets its own partial buffer. The loops around the
target that are `reduce` and hold nothing else stay between the initialisation and the final step.
What is stored beside the updates stays where it is: nothing changes its order.
The sum is reassociated, which te allows in reductions. Where the number of iterations is known only
when the kernel runs, the partial results live in the arena instead of registers. Where it changes
inside of the reduction, as that of blocks whose last one is shorter, there are as many of them as
it is at most, and what is not reached stays neutral.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bool_
from tensorscript.dialects.te.buffers import Buffer, ExprsAttr
from tensorscript.dialects.te.expr import Expr, Number, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, LetOp, StoreOp, UpdateOp
from tensorscript.dialects.walks import walk_ops

from .dependence import accesses, loads_of
from .nest import Nest, insert_after, insert_before, only_child


def identity(combiner: str, dtype: DType) -> Expr:
    """The neutral element of a combiner.

    Raises:
        KeyError: unknown combiner.
    """
    if combiner in ("min", "max", "greater") and dtype.is_floating_point:
        return const(math.inf if combiner == "min" else -math.inf, dtype)
    if combiner in ("min", "max", "and") and dtype is not bool_:
        info = np.iinfo(dtype.numpy)
        ones = -1 if dtype.signed else info.max
        return const({"min": info.max, "max": info.min, "and": ones}[combiner], dtype)
    table: dict[str, Number] = {
        "add": 0, "mul": 1, "min": True, "max": False, "and": True, "or": False, "xor": 0,
    }  # fmt: skip
    return const(table[combiner], dtype)


def _loops(nest: Nest, names: tuple[str, ...]) -> list[ForOp] | str:
    found: list[ForOp] = []
    for name in names:
        loop = nest.loops.get(name)
        if loop is None:
            return f"there is no loop {name}"
        if found and only_child(found[-1].block) is not loop:
            return f"{name} is not the only statement of {found[-1].var}"
        if not loop.is_reduction:
            return f"loop {name} is not a reduction"
        if not loop.start.is_int(0):
            return f"{name} does not start at 0"
        found.append(loop)
    return found


def _outermost(nest: Nest, loop: ForOp) -> ForOp:
    """The outermost reduction loop that holds nothing but the way to `loop`."""
    top = loop
    below: Operation = loop
    while (above := below.parent_op()) is not None and isinstance(above, (ForOp, IfOp)):
        block = below.parent_block()
        if block is None or only_child(block) is not below:
            break
        if isinstance(above, ForOp):
            if not above.is_reduction:
                break
            top = above
        elif above.else_body.block.ops:
            break
        below = above
    return top


def _inside(top: ForOp) -> set[str]:
    """The loops of a reduction."""
    return {op.var for op in walk_ops(top) if isinstance(op, ForOp)} | {top.var}


def _partials(nest: Nest, loop: ForOp, inside: set[str]) -> Expr | None:
    """How many partial results a loop has, None where that is not known before the reduction."""
    if loads_of(loop.extent):
        return None
    if not loop.extent.free & (inside | nest.mutable):
        return loop.extent
    most = nest.most_iterations(loop)
    return None if most is None else const(most)


def check(nest: Nest, target: str, *others: str) -> str | None:
    loops = _loops(nest, (target, *others))
    if isinstance(loops, str):
        return loops
    top = _outermost(nest, loops[0])
    inside = _inside(top)
    for loop in loops:
        if _partials(nest, loop, inside) is None:
            return f"the extent {loop.extent} of {loop.var} is not known before {top.var}"
    updates = [op for op in walk_ops(loops[-1]) if isinstance(op, UpdateOp)]
    if not updates:
        return "there is no te.update inside"
    for op in walk_ops(loops[-1]):
        if not isinstance(op, (UpdateOp, StoreOp, LetOp, ForOp, IfOp)):
            return f"{op.name} inside"
    for op in updates:
        if any(e.free & inside for e in op.indices):
            return f"{op.buffer} is indexed by a loop of the reduction"
        for a in accesses(nest, top):
            if a.buffer == op.buffer and (a.op is not op):
                return f"{op.buffer} has other accesses inside"
    return None


def apply(nest: Nest, target: str, *others: str) -> None:
    loops = _loops(nest, (target, *others))
    assert not isinstance(loops, str)  # check passed
    top = _outermost(nest, loops[0])
    inside = _inside(top)
    partials = [_partials(nest, loop, inside) for loop in loops]
    shape = tuple(size for size in partials if size is not None)  # all, as check found
    sizes = dict(zip((loop.var for loop in loops), shape, strict=True))
    scope = "reg" if all(size.is_const for size in shape) else "arena"
    index = ExprsAttr(tuple(var(loop.var) for loop in loops))
    before: list[Operation] = []
    after: list[Operation] = []
    updates = [op for op in walk_ops(loops[-1]) if isinstance(op, UpdateOp)]
    for op in updates:
        dtype = op.value.dtype
        name = nest.fresh(f"{op.buffer}_rf")
        before.append(AllocOp(Buffer(name, dtype, shape), scope))
        neutral = identity(op.combiner, dtype)
        before.append(_over(nest, sizes, "_z", _store(name, neutral), False))
        after.append(_over(nest, sizes, "_r", _reduce(op, name, dtype), True))
        op.properties["buffer_name"] = StringAttr(name)
        op.properties["indices_attr"] = index
    for made in (*before, *after):
        for inner in made.walk():
            inner.location = top.location
    for loop in loops:
        loop.properties.pop("reduction", None)
    insert_before(top, before)
    insert_after(top, after)


def _store(name: str, neutral: Expr) -> Callable[[Sequence[Expr]], Operation]:
    return lambda index: StoreOp(name, index, neutral)


def _reduce(op: UpdateOp, name: str, dtype: DType) -> Callable[[Sequence[Expr]], Operation]:
    buffer, indices, combiner = op.buffer, op.indices, op.combiner
    return lambda index: UpdateOp(buffer, indices, combiner, load(name, index, dtype))


def _over(
    nest: Nest,
    sizes: dict[str, Expr],
    suffix: str,
    statement: Callable[[Sequence[Expr]], Operation],
    reduction: bool,
) -> Operation:
    """`statement` under loops of these sizes, indexed by them."""
    names = {nest.fresh(name + suffix): size for name, size in sizes.items()}
    body = statement([var(name) for name in names])
    for name, size in reversed(names.items()):
        body = ForOp(name, size, [body], reduction=reduction)
    return body
