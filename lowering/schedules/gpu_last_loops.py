"""Stages that share their last loops get these around them all.

```
for i in 0 .. N {                               for i in 0 .. N { for p in 0 .. P {
  for p in 0 .. P {                               t[] = -inf
    t[p] = -inf                          -->      for r in 0 .. R reduce { t[] max= x[i, r, p] }
    for r in 0 .. R reduce { t[p] max= x[i, r, p] } }
  for r in 0 .. R { for q in 0 .. P {             for r in 0 .. R {
    y[i, r, q] = x[i, r, q] - t[q] } } }            y[i, r, p] = x[i, r, p] - t[] } } }
```
A CPU goes over whole rows of pixels in each stage (a softmax along channels); on a GPU a thread, or
a few, have a pixel each. It is legal where stages hand to each other only what stands at the same
place of those loops: temporaries are then read where they were written, and lose those dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import Buffer, ExprsAttr
from tensorscript.dialects.te.expr import Expr, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads, substitute

from ..te.affine import accesses
from ..te.rebuild import copy_statement
from .gpu_row_writer import perfect_nest
from .loops import outer_loops

Nest = list[ForOp]


def share_last_loops(func: FuncOp) -> bool:
    """Run on a kernel at level logical, in place; whether anything was changed."""
    _, block = outer_loops(func)
    allocs = [op for op in block.ops if isinstance(op, AllocOp)]
    stages = [op for op in block.ops if not isinstance(op, AllocOp)]
    if len(stages) < 2 or not all(isinstance(s, ForOp) and not s.is_reduction for s in stages):
        return False
    nests: list[Nest] = [perfect_nest(s)[0] for s in stages if isinstance(s, ForOp)]
    for count in range(min(map(len, nests)), 0, -1):
        if _share(allocs, nests, count):
            _rewrite(block, allocs, nests, count)
            return True
    return False


def _share(allocs: Sequence[AllocOp], nests: Sequence[Nest], count: int) -> bool:
    """Whether the last loops agree, and what is handed over stands at the same place of them."""
    first = nests[0][-count:]
    for nest in nests:
        for ours, theirs in zip(nest[-count:], first, strict=True):
            if ours.extent is not theirs.extent or not ours.start.is_int(0):
                return False
    extents = tuple(loop.extent for loop in first)
    if any(op.buffer.shape[-count:] != extents for op in allocs):
        return False
    handed = {op.buffer.name for op in allocs} | _written(nests)
    for nest in nests:
        place = tuple(var(loop.var) for loop in nest[-count:])
        names = {loop.var for loop in nest[-count:]}
        for name, indices in accesses(nest[0]):
            if name in handed and not _stands_at(indices, place, names):
                return False
    return True


def _written(nests: Sequence[Nest]) -> set[str]:
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


def _stands_at(indices: tuple[Expr, ...], place: tuple[Expr, ...], names: set[str]) -> bool:
    count = len(place)
    return indices[-count:] == place and not any(i.free & names for i in indices[:-count])


def _rewrite(block: Block, allocs: Sequence[AllocOp], nests: Sequence[Nest], count: int) -> None:
    around = nests[0][-count:]
    kept = {op.buffer.name for op in allocs}
    made: list[Operation] = [
        AllocOp(Buffer(b.name, b.dtype, b.shape[:-count]), op.scope.data)
        for op in allocs
        for b in [op.buffer]
    ]
    for nest in nests:
        here = {
            loop.var: var(common.var) for loop, common in zip(nest[-count:], around, strict=True)
        }
        made += _stage(nest, here, kept, count)
    for loop in reversed(around):
        made = [ForOp(loop.var, loop.extent, made)]
    for op in list(block.ops):
        op.detach()
        op.erase()
    block.add_ops(made)


def _stage(nest: Nest, here: dict[str, Expr], kept: set[str], count: int) -> list[Operation]:
    """A stage without its last loops."""

    def visit(n: Expr) -> Expr | None:
        return load(str(n.value), n.args[:-count], n.dtype) if n.value in kept else None

    body = [
        copy_statement(op, lambda e: replace_loads(substitute(e, here), visit))
        for op in nest[-1].block.ops
    ]
    for op in body:
        for inner in op.walk():
            if isinstance(inner, StoreOp | UpdateOp) and inner.buffer in kept:
                inner.properties["indices_attr"] = ExprsAttr(inner.indices[:-count])
    for loop in reversed(nest[:-count]):
        body = [ForOp(loop.var, loop.extent, body, loop.kind.data, loop.start)]
    return body
