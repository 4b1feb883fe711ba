"""Fuse neighbouring inner loops of a row kernel.

```
for a in 0 .. n { t[a] = exp(x[a]) }                 for a in 0 .. n {
for b in 0 .. n reduce { s[] += t[b] }        -->      let v = exp(x[a]); t[a] = v; s[] += v
                                                     }
```
Legal when the loops have one extent and the second reads what the first writes only at its own
position. A read of the element just stored becomes the stored value, so it stays in a register.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.expr import Expr, loads, replace_loads, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, StoreOp, UpdateOp

from ..te.affine import accesses, expressions
from ..te.rebuild import copy_all, copy_statement, substituting


def _flat(loop: ForOp) -> bool:
    return all(isinstance(op, StoreOp | UpdateOp | LetOp) for op in loop.block.ops)


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
    for name, indices in accesses(second):
        if name not in written:
            continue
        if first.is_reduction and any(isinstance(o, UpdateOp) for o in first.block.ops):
            updated = {o.buffer for o in first.block.ops if isinstance(o, UpdateOp)}
            if name in updated:
                return False
        renamed = tuple(substituting({second.var: var(first.var)})(i) for i in indices)
        if any(renamed != own or first.var not in _free(own) for own in written[name]):
            return False
    read = {name for name, _ in accesses(first)}
    return not (set(_targets(second)) & read)


def _free(indices: tuple[Expr, ...]) -> frozenset[str]:
    return frozenset().union(*(i.free for i in indices)) if indices else frozenset()


def _forwarded(statements: list[Operation]) -> list[Operation]:
    """Reads of an element stored earlier in the same body become the stored value, named once."""
    stored: dict[tuple[str, tuple[Expr, ...]], Expr] = {}
    read = {(str(n.value), n.args) for op in statements for e in expressions(op) for n in loads(e)}
    out: list[Operation] = []
    for op in statements:
        made = copy_statement(
            op,
            lambda e: replace_loads(e, lambda n: stored.get((str(n.value), n.args))),
        )
        if isinstance(made, StoreOp) and (made.buffer, made.indices) in read:
            value = made.value
            if value.op not in ("var", "const"):
                name = f"{made.buffer}_value"
                out.append(LetOp(name, value))
                value = var(name, value.dtype)
                made = StoreOp(made.buffer, made.indices, value)
            stored[made.buffer, made.indices] = value
        out.append(made)
    return out


def _merge(first: ForOp, second: ForOp) -> ForOp:
    body = copy_all(first.block.ops, lambda e: e)
    body += copy_all(second.block.ops, substituting({second.var: var(first.var)}))
    reduces = any(isinstance(op, UpdateOp) for op in body)
    made = ForOp(first.var, first.extent, _forwarded(body), reduction=reduces)
    made.location = first.location
    return made


def fuse_rows(block: Block) -> None:
    """Fuse adjacent inner loops of a block; stores of scalars and allocations may stand between."""
    previous: ForOp | None = None
    between: list[Operation] = []
    for op in list(block.ops):
        if isinstance(op, ForOp):
            fits = (
                previous is not None
                and _flat(previous)
                and _flat(op)
                and previous.extent is op.extent
                and previous.start is op.start
                and _between_allows(between, previous)
                and _independent(previous, op)
            )
            if fits and previous is not None:
                merged = _merge(previous, op)
                block.insert_op_before(merged, op)
                for old in (previous, op):
                    old.detach()
                    old.erase()
                previous = merged
                continue
            previous, between = op, []
        else:
            between.append(op)


def _between_allows(between: list[Operation], loop: ForOp) -> bool:
    """What stands between may move before the loop: it reads nothing the loop writes."""
    written = set(_targets(loop))
    for op in between:
        if isinstance(op, AllocOp):
            continue
        if not isinstance(op, StoreOp) or any(name in written for name, _ in accesses(op)):
            return False
    return True
