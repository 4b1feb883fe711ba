"""Short reductions around vector loops are written out: each tap's guard is then its own.

```
for r in 0 .. 3 { for v vector {              for v vector { t[v] max= 2v > 0 ? x[2v - 1] : -inf }
  t[v] max= 2v + r > 0 ? x[2v + r - 1]  -->   for v vector { t[v] max= x[2v] }
                       : -inf } }             for v vector { t[v] max= x[2v + 1] }
```
(the simplifier, which runs after the schedules, decides the guards that hold for every lane). Only
the first and last taps of a window reach over the edge, so that most lose their mask.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import ForOp, IfOp

from ..te.affine import known
from ..te.rebuild import copy_statement, substituting

MOST_TAPS = 16
"""Copies of the body; more would cost more in decoding than masks do."""


def expand_taps(block: Block) -> None:
    """Write out the short reduction loops in a block and in what is inside it, in place."""
    for op in list(block.ops):
        if isinstance(op, ForOp) and op.is_reduction and 0 < _taps(op) <= MOST_TAPS:
            for made in _written_out(op, {}, ""):
                block.insert_op_before(made, op)
            op.detach()
            op.erase()
            continue
        for region in op.regions:
            expand_taps(region.block)


def _taps(loop: ForOp) -> int:
    """Iterations of a reduction and of those inside it; 0 where one is not known."""
    inner = [op for op in loop.block.ops if isinstance(op, ForOp) and op.is_reduction]
    return (known(loop.extent) or 0) * (max(map(_taps, inner)) if inner else 1)


def _written_out(loop: ForOp, values: dict[str, Expr], suffix: str) -> list[Operation]:
    out: list[Operation] = []
    for k in range(known(loop.extent) or 0):
        here = {**values, loop.var: loop.start + k}
        out += _copies(loop.block.ops, here, f"{suffix}_{k}")
    return out


def _copies(
    statements: Iterable[Operation], values: dict[str, Expr], suffix: str
) -> list[Operation]:
    out: list[Operation] = []
    for op in statements:
        rewrite = substituting(values)
        match op:
            case ForOp() if op.is_reduction and op.kind.data == "serial":
                out += _written_out(op, values, suffix)
            case ForOp():
                name = op.var + suffix
                body = _copies(op.block.ops, {**values, op.var: var(name)}, suffix)
                start, extent = rewrite(op.start), rewrite(op.extent)
                made = ForOp(name, extent, body, op.kind.data, start, op.is_reduction, op.grain)
                made.location = op.location
                out.append(made)
            case IfOp():
                then = _copies(op.then_body.block.ops, values, suffix)
                otherwise = _copies(op.else_body.block.ops, values, suffix)
                out.append(IfOp(rewrite(op.condition), then, otherwise))
            case _:
                out.append(copy_statement(op, rewrite))
    return out
