"""Steps that fuse neighbouring inner loops of a row kernel.

```
for a in 0 .. n { t[a] = exp(x[a]) }                 for a in 0 .. n {
for b in 0 .. n reduce { s[] += t[b] }        -->      let v = exp(x[a]); t[a] = v; s[] += v
                                                     }
```
Loops are fused when they have one extent and the second reads what the first writes only at its own
position. A read of the element just stored becomes the stored value, so it stays in a register.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp

from ..schedule import Scheduler
from ..te.affine import accesses
from ..te.forward import is_flat
from ..te.hoist import hoisted
from ..te.rebuild import substituting


def hoist_numbers(scheduler: Scheduler, block: Block) -> None:
    """Compute what there is one of in a row, its logarithm or root, before the loops that want
    it."""
    for op in list(block.ops):
        if isinstance(op, ForOp) and hoisted(scheduler.nest, op):
            scheduler.do("hoist", op.var)


def fuse_rows(scheduler: Scheduler, block: Block) -> None:
    """Fuse adjacent inner loops of a block; stores of scalars and allocations may stand between."""
    previous: ForOp | None = None
    between: list[Operation] = []
    for op in list(block.ops):
        if not isinstance(op, ForOp):
            between.append(op)
        elif previous is not None and _fits(previous, between, op):
            scheduler.do("fuse_loops", previous.var, op.var)
            scheduler.do("forward", previous.var)
        else:
            previous, between = op, []


def _fits(first: ForOp, between: list[Operation], second: ForOp) -> bool:
    return (
        is_flat(first)
        and is_flat(second)
        and first.extent is second.extent
        and first.start is second.start
        and _between_allows(between, first)
        and _independent(first, second)
    )


def _targets(loop: ForOp) -> dict[str, list[tuple[Expr, ...]]]:
    found: dict[str, list[tuple[Expr, ...]]] = {}
    for op in loop.block.ops:
        if isinstance(op, StoreOp | UpdateOp):
            found.setdefault(op.buffer, []).append(op.indices)
    return found


def _independent(first: ForOp, second: ForOp) -> bool:
    """Every access of the second loop to what the first writes is at its own position, and the
    second writes nothing that the first reads or writes."""
    written = _targets(first)
    updated = {o.buffer for o in first.block.ops if isinstance(o, UpdateOp)}
    for name, indices in accesses(second):
        if name not in written:
            continue
        if first.is_reduction and name in updated:
            return False
        renamed = tuple(substituting({second.var: var(first.var)})(i) for i in indices)
        if any(renamed != own or first.var not in _free(own) for own in written[name]):
            return False
    read = {name for name, _ in accesses(first)}
    return not (set(_targets(second)) & read)


def _free(indices: tuple[Expr, ...]) -> frozenset[str]:
    return frozenset().union(*(i.free for i in indices)) if indices else frozenset()


def _between_allows(between: list[Operation], loop: ForOp) -> bool:
    """What stands between may move before the loop: neither touches what the other writes."""
    touched = {name for name, _ in accesses(loop)}
    written = set(_targets(loop))
    for op in between:
        if isinstance(op, AllocOp):
            continue
        if not isinstance(op, StoreOp) or op.buffer in touched:
            return False
        if any(name in written for name, _ in accesses(op)):
            return False
    return True
