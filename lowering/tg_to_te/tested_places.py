"""A test of places and what reads there (`tg/fuse_places.py`), block by block.

```
te.for i0 in 0 .. ceil(n / 2048) serial {
  te.alloc stack t0: i64[]
  te.store t0[] = 0
  te.for s0_r0 in 0 .. min(2048, n - i0 * 2048) serial reduce { te.update t0[] or= .. }
  te.assert t0.i64[()] >= 0, message '..'
  te.for s1_i0 in 0 .. min(2048, n - i0 * 2048) serial { te.store o0[i0 * 2048 + s1_i0] = .. }
}
```
Places of several dimensions are walked in the order of memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, var
from tensorscript.dialects.te.ops import AllocOp, AssertOp, ForOp, StoreOp, UpdateOp
from tensorscript.dialects.tg import ops as tg

from ..tg.fuse_places import BLOCK
from ..tg.groups import product
from .builder import KernelBuilder, Place


def tests_places(stages: Sequence[Operation]) -> bool:
    """Whether a kernel's stages are a test of places and what reads there."""
    return any(isinstance(op, tg.AssertOp) for op in stages)


def lower_tested_places(builder: KernelBuilder, stages: Sequence[Operation]) -> list[Operation]:
    """The loop over blocks."""
    test, *between, assertion, reader = stages
    assert isinstance(test, tg.ReductionOp) and isinstance(reader, tg.ComputeOp)
    assert isinstance(assertion, tg.AssertOp)
    extents = test.extents.data
    total = product(extents)
    start = var("i0") * BLOCK
    size = binary("min", const(BLOCK), total - start)
    signs = Buffer("t0", test.type.dtype, ())
    builder.places[test.result] = Place(signs)
    for op in between:
        assert isinstance(op, tg.ScalarOp)
        builder.scalars[op.result] = builder.expression(op.inputs, op.expr, {})

    def body(op: tg.ReductionOp | tg.ComputeOp, kind: str, name: str) -> tuple[list[Expr], Expr]:
        at = _unravelled(start + var(name), extents)
        variables = {f"{kind}{d}": index for d, index in enumerate(at)}
        return at, builder.expression(op.inputs, op.body.data, variables)

    combiner = test.combiner.data
    _, tested = body(test, "r", "s0_r0")
    at, value = body(reader, "i", "s1_i0")
    statements: list[Operation] = [
        AllocOp(signs, "stack"),
        StoreOp("t0", (), tg.identity(combiner, signs.dtype)),
        ForOp("s0_r0", size, [UpdateOp("t0", (), combiner, tested)], reduction=True),
        AssertOp(builder.scalars[assertion.condition], assertion.message.data),
        ForOp("s1_i0", size, [StoreOp(builder.places[reader.result].buffer.name, at, value)]),
    ]
    sources = (test, test, test, assertion, reader)
    for statement, source in zip(statements, sources, strict=True):
        statement.location = source.location
    return [ForOp("i0", (total + (BLOCK - 1)) // BLOCK, statements)]


def _unravelled(place: Expr, extents: Sequence[Expr]) -> list[Expr]:
    """The index of an element by its number in the order of memory."""
    at = []
    for extent in reversed(extents[1:]):
        at.append(place % extent)
        place = place // extent
    return [place, *reversed(at)]
