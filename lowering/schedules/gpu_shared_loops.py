"""Stages that share loops get these around them all.

```
for i in 0 .. N {                               for i in 0 .. N { for p in 0 .. P {
  for p in 0 .. P {                               t[] = -inf
    t[p] = -inf                          -->      for r in 0 .. R reduce { t[] max= x[i, r, p] }
    for r in 0 .. R reduce { t[p] max= x[i, r, p] } }
  for r in 0 .. R { for q in 0 .. P {             for r in 0 .. R {
    y[i, r, q] = x[i, r, q] - t[q] } } }            y[i, r, p] = x[i, r, p] - t[] } } }
```
A CPU goes over whole rows of pixels or of channels in each stage (a softmax along channels, norms
of groups or batches); on a GPU some threads have a pixel, or a channel, each. It is legal where
stages hand to each other only what stands at the same place of those loops: temporaries are then
read where they were written, and become numbers. A loop whose iterations share a result in groups,
`t[c // 4]`, is split.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, ExprsAttr
from tensorscript.dialects.te.expr import Expr, const, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads, substitute

from ..te.affine import accesses, known
from ..te.rebuild import copy_statement
from .gpu_row_writer import perfect_nest
from .loops import outer_loops

Nest = list[ForOp]


@dataclass(frozen=True)
class Shared:
    """A loop of a stage that all share: `parts` of its iterations in a row are at one place."""

    loop: ForOp
    parts: int = 1


def share_loops(func: FuncOp) -> bool:
    """Run on a kernel at level logical, in place; whether anything was changed."""
    _, block = outer_loops(func)
    allocs = [op for op in block.ops if isinstance(op, AllocOp)]
    stages = [op for op in block.ops if isinstance(op, ForOp) and not op.is_reduction]
    if len(stages) < 2 or len(allocs) + len(stages) < sum(1 for _ in block.ops):
        return False
    nests: list[Nest] = [perfect_nest(stage)[0] for stage in stages]
    if (extents := _extents(allocs)) is None:
        return False
    names = {op.buffer.name: op.buffer for op in allocs}
    found = [_shared(nest, names, extents) for nest in nests]
    shared = [places for places in found if places is not None]
    if len(shared) < len(nests) or not _stand_together(nests, shared, names):
        return False
    _rewrite(block, nests, shared, names)
    return True


def _dimensions(buffer: Buffer) -> list[int]:
    """Those of more than one element."""
    return [k for k, size in enumerate(buffer.shape) if not size.is_int(1)]


def _extents(allocs: Sequence[AllocOp]) -> list[Expr] | None:
    """The extents that all temporaries have, None if they differ or have none."""
    found = [[op.buffer.shape[k] for k in _dimensions(op.buffer)] for op in allocs]
    if not found or not found[0]:
        return None
    same = all(
        len(sizes) == len(found[0]) and all(a is b for a, b in zip(sizes, found[0], strict=True))
        for sizes in found
    )
    return found[0] if same else None


def _shared(nest: Nest, names: dict[str, Buffer], extents: list[Expr]) -> list[Shared] | None:
    """The loops of a stage by which it reads and writes temporaries, one for each dimension."""
    places = {
        tuple(indices[k] for k in _dimensions(names[name]))
        for name, indices in accesses(nest[0])
        if name in names
    }
    if len(places) != 1:
        return None
    loops = {loop.var: loop for loop in nest}
    found = [
        _loop_of(index, extent, loops) for index, extent in zip(places.pop(), extents, strict=True)
    ]
    shared = [place for place in found if place is not None]
    different = len({place.loop.var for place in shared}) == len(shared)
    return shared if len(shared) == len(extents) and different else None


def _loop_of(index: Expr, extent: Expr, loops: dict[str, ForOp]) -> Shared | None:
    """The loop that an index is, or the quotient of."""
    parts = 1
    if index.op == "floordiv" and (divisor := known(index.args[1])) is not None and divisor > 0:
        index, parts = index.args[0], divisor
    loop = loops.get(str(index.value)) if index.op == "var" else None
    if loop is None or not loop.start.is_int(0):
        return None
    size, count = known(loop.extent), known(extent)
    if parts == 1:
        return Shared(loop) if loop.extent is extent else None
    return Shared(loop, parts) if count is not None and size == count * parts else None


def _stand_together(
    nests: Sequence[Nest], shared: Sequence[list[Shared]], names: dict[str, Buffer]
) -> bool:
    """Whether what else one stage writes and another touches is at the same place of all loops."""
    for name in _handed(nests) - names.keys():
        for k in range(len(shared[0])):
            dimensions: set[int] | None = None
            for nest, places in zip(nests, shared, strict=True):
                place = places[k]
                for buffer, indices in accesses(nest[0]):
                    if buffer == name:
                        here = {d for d, i in enumerate(indices) if i is var(place.loop.var)}
                        here = here if place.parts == 1 else set()
                        dimensions = here if dimensions is None else dimensions & here
            if not dimensions:
                return False
    return True


def _handed(nests: Sequence[Nest]) -> set[str]:
    """Buffers that one stage writes and another one reads or writes."""
    written = [
        {op.buffer for op in nest[0].walk() if isinstance(op, StoreOp | UpdateOp)} for nest in nests
    ]
    touched = [{name for name, _ in accesses(nest[0])} for nest in nests]
    return {
        name
        for i, names in enumerate(written)
        for name in names
        if any(name in others for j, others in enumerate(touched) if j != i)
    }


def _rewrite(
    block: Block, nests: Sequence[Nest], shared: Sequence[list[Shared]], names: dict[str, Buffer]
) -> None:
    around = [place.loop.var for place in shared[0]]
    extents = [const((known(p.loop.extent) or 0) // p.parts) if p.parts > 1 else p.loop.extent
               for p in shared[0]]  # fmt: skip
    made: list[Operation] = [
        AllocOp(Buffer(b.name, b.dtype, ()), op.scope.data)
        for op in block.ops
        if isinstance(op, AllocOp)
        for b in [op.buffer]
    ]
    for nest, places in zip(nests, shared, strict=True):
        made += _stage(nest, dict(zip(around, places, strict=True)), names)
    for name, extent in reversed(list(zip(around, extents, strict=True))):
        made = [ForOp(name, extent, made)]
    for op in list(block.ops):
        op.detach()
        op.erase()
    block.add_ops(made)


def _stage(nest: Nest, places: dict[str, Shared], names: dict[str, Buffer]) -> list[Operation]:
    """A stage without the loops that are around it now."""
    here: dict[str, Expr] = {}
    inside = {loop.var: loop.extent for loop in nest}
    for name, place in places.items():
        own = place.loop.var
        here[own] = var(name)
        del inside[own]
        if place.parts > 1:
            here[own] = var(name) * place.parts + var(f"{own}_part")
            inside[f"{own}_part"] = const(place.parts)

    def visit(n: Expr) -> Expr | None:
        return load(str(n.value), (), n.dtype) if n.value in names else None

    body = [
        copy_statement(op, lambda e: substitute(replace_loads(e, visit), here))
        for op in nest[-1].block.ops
    ]
    for op in body:
        for inner in op.walk():
            if isinstance(inner, StoreOp | UpdateOp) and inner.buffer in names:
                inner.properties["indices_attr"] = ExprsAttr(())
    starts = {loop.var: loop.start for loop in nest}
    order = [n for loop in nest for n in (loop.var, f"{loop.var}_part") if n in inside]
    for name in reversed(order):
        body = [ForOp(name, inside[name], body, "serial", starts.get(name, const(0)))]
    return body
