"""cache: the part of a buffer that a loop's body touches lives in a local buffer there.

```
cache("c", "j_o", "reg"):
for j_o { for k { for j_i in 0 .. 4 { c[j_o * 4 + j_i] add= s } } }
    -->
for j_o {
  alloc reg c_c[4]
  for c_c_r in 0 .. 4 { c_c[c_c_r] = c[j_o * 4 + c_c_r] }
  for k { for j_i in 0 .. 4 { c_c[j_i] add= s } }
  for c_c_w in 0 .. 4 { c[j_o * 4 + c_c_w] = c_c[c_c_w] }
}
```

The target is the buffer; arguments are the loop and the scope. The fill is left out where the body
first stores all of the region, the write-back where it only reads. The region must have constant
sizes; a region that is written must be filled densely and, inside the buffer, unguarded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import SCOPES, Buffer, ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, add, all_of, as_expr, const, load, node, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, IfOp, StoreOp, UpdateOp
from tensorscript.dialects.te.polynomial import expression, polynomial
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.walks import walk_ops

from .bounds import Region, rebased, touched_region
from .dependence import WRITE, Access, body_accesses, has_effects, loads_of
from .nest import Nest


def _touches(nest: Nest, name: str, loop: ForOp) -> list[Access]:
    return [a for a in body_accesses(nest, list(loop.block.ops)) if a.buffer == name]


def check(nest: Nest, target: str, at: str, scope: str = "stack") -> str | None:
    buffer, loop = nest.buffers[target], nest.loops.get(at)
    if loop is None:
        return f"there is no loop {at}"
    if scope not in SCOPES or scope in ("param", "const"):
        return f"there is no local scope {scope}"
    if reason := has_effects(loop):
        return reason
    touches = _touches(nest, target, loop)
    if not touches:
        return f"{at} does not touch {target}"
    if loop.kind.data == "vector":
        return f"loop {at} is a vector loop"
    if any(o.buffer.name == target for o in walk_ops(loop) if isinstance(o, AllocOp)):
        return f"{target} is local to {at} already"
    region = touched_region(nest, touches, buffer, loop)
    if isinstance(region, str):
        return region
    if any(a.writes for a in touches):
        return _unsafe_write(nest, buffer, loop, region, touches)
    return None


def _unsafe_write(
    nest: Nest, buffer: Buffer, loop: ForOp, region: Region, touches: Sequence[Access]
) -> str | None:
    if not region.dense:
        return f"{loop.var} does not write all of a block of {buffer.name}"
    for a in touches:
        if a.writes and any(g for g in _guards_inside(a.op, loop)):
            return f"a store to {buffer.name} is guarded"
    for d, shape in enumerate(buffer.shape):
        probe = var("cached element")
        if region.missing_guard(d, probe, shape, nest, loop) is not None:
            return f"{buffer.name} may be touched out of its bounds"
    return None


def _guards_inside(op: Operation, loop: ForOp) -> list[IfOp]:
    found: list[IfOp] = []
    above = op.parent_op()
    while above is not None and above is not loop:
        if isinstance(above, IfOp):
            found.append(above)
        above = above.parent_op()
    return found


def apply(nest: Nest, target: str, at: str, scope: str = "stack") -> None:
    buffer, loop = nest.buffers[target], nest.loops[at]
    touches = _touches(nest, target, loop)
    region = touched_region(nest, touches, buffer, loop)
    assert not isinstance(region, str)  # check passed
    name = nest.fresh(f"{target}_c")
    local = Buffer(name, buffer.dtype, tuple(as_expr(n) for n in region.size))
    body = list(loop.block.ops)
    fill = not _stores_first(loop, touches)
    write = any(a.writes for a in touches)
    for op in body:
        redirect_tree(op, target, name, region)
    first = body[0]
    front: list[Operation] = [AllocOp(local, scope)]
    if fill:
        front.append(_copy(nest, buffer, name, region, loop, read=True))
    block = loop.block
    block.insert_ops_before(front, first)
    if write:
        block.add_op(_copy(nest, buffer, name, region, loop, read=False))


def _stores_first(loop: ForOp, touches: Sequence[Access]) -> bool:
    """Whether the first statement that touches the buffer stores the region before it reads it.

    Every write is dense and unguarded (checked), so one store statement under loops that certainly
    run fills the region; its own statement must not touch other elements meanwhile.
    """
    first = touches[0]
    if first.mode != WRITE:
        return False
    inner = first.loops[first.loops.index(loop) + 1 :]
    if not all(i.extent.is_const and int(str(i.extent)) > 0 for i in inner):
        return False
    statement: Operation = inner[0] if inner else first.op
    together = [a for a in touches if a.op is first.op or statement in a.loops]
    return all(a.indices == first.indices for a in together)


def _copy(
    nest: Nest, buffer: Buffer, name: str, region: Region, loop: ForOp, read: bool
) -> Operation:
    """Loops that copy the region in (`read`) or out."""

    def copy(here: Sequence[Expr], there: Sequence[Expr]) -> Operation:
        if read:
            return StoreOp(name, here, load(buffer.name, there, buffer.dtype))
        return StoreOp(buffer.name, there, load(name, here, buffer.dtype))

    prefix = f"{name}{'_r' if read else '_w'}"
    return over_region(nest, prefix, buffer, region, loop, copy, by_memory=read)


def over_region(
    nest: Nest,
    prefix: str,
    buffer: Buffer,
    region: Region,
    loop: ForOp,
    make: Callable[[Sequence[Expr], Sequence[Expr]], Operation],
    by_memory: bool = False,
) -> Operation:
    """`make(local indices, indices in the buffer)` for each element of the region.

    The loops are named after `prefix`; elements outside of the buffer are left out. With
    `by_memory`, those whose indices leave a dimension and stay inside the buffer are not.
    """
    names = [nest.fresh(prefix) for _ in region.size]
    here = [var(n) if size > 1 else const(0) for n, size in zip(names, region.size, strict=True)]
    there = [expression(polynomial(add(b, v))) for b, v in zip(region.base, here, strict=True)]
    body = make(here, there)
    find = region.memory_guards if by_memory else region.guards
    if guards := find(here, buffer, nest, loop):
        body = IfOp(all_of(guards), [body])
    for n, size in reversed(list(zip(names, region.size, strict=True))):
        if size > 1:
            body = ForOp(n, size, [body])
    return body


def redirect_tree(op: Operation, old: str, name: str, region: Region) -> None:
    """`redirect` on a statement and its body."""
    redirect(op, old, name, region)
    for child in walk_ops(op):
        redirect(child, old, name, region)


def redirect(op: Operation, old: str, name: str, region: Region) -> None:
    """Make one op's accesses of buffer `old` accesses of `name`, relative to the region."""

    def one(n: Expr) -> Expr | None:
        if n.value != old:
            return None
        return node("load", rebased(n.args, region), name, n.dtype)

    for key, attribute in op.properties.items():
        if isinstance(attribute, ExprAttr) and _reads(attribute.data, old):
            op.properties[key] = ExprAttr(replace_loads(attribute.data, one))
        elif isinstance(attribute, ExprsAttr) and any(_reads(e, old) for e in attribute.data):
            op.properties[key] = ExprsAttr(tuple(replace_loads(e, one) for e in attribute.data))
    if isinstance(op, (StoreOp, UpdateOp)) and op.buffer == old:
        op.properties["buffer_name"] = StringAttr(name)
        op.properties["indices_attr"] = ExprsAttr(rebased(op.indices, region))


def _reads(e: Expr, buffer: str) -> bool:
    return any(n.value == buffer for n in loads_of(e))
