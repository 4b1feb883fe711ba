"""Bring a specialised tg.func into the form that fusion expects.

Every tensor that a function returns is computed by an op of its own block, and by one that yields
nothing else: a kernel can then write it in its place. Where that is not so (an argument is
returned, one value twice) a copy is inserted. What branches and loops yield stays as it is: host
code copies only where storage cannot be shared. Unused pure ops are dropped.

```
tg.return %x, %y, %y  -->  %c = tg.view %x ; %d = tg.view %y ; tg.return %c, %y, %d
```
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from tensorscript.dialects.te.expr import load, var
from tensorscript.dialects.tg.lists import ListOp
from tensorscript.dialects.tg.ops import (
    ConstantOp,
    FuncOp,
    IfOp,
    LoopOp,
    ReturnOp,
    ViewOp,
)
from tensorscript.dialects.tg.types import TensorType


def copy_of(value: SSAValue) -> ViewOp:
    """An op that copies a tensor."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    here = [var(f"i{d}") for d in range(type_.rank)]
    return ViewOp([value], load("a0", here, type_.dtype), type_)


def _needs_copy(value: SSAValue, block: Block, seen: set[SSAValue]) -> bool:
    owner = value.owner
    made_here = isinstance(owner, Operation) and owner.parent is block
    return not made_here or value in seen or isinstance(owner, ConstantOp)


def _own_results(block: Block) -> None:
    last = block.last_op
    if not isinstance(last, ReturnOp):
        return
    seen: set[SSAValue] = set()
    for index, value in enumerate(last.operands):
        if not isinstance(value.type, TensorType):
            continue
        if _needs_copy(value, block, seen):
            made = copy_of(value)
            block.insert_op_before(made, last)
            last.operands[index] = made.result
        seen.add(last.operands[index])


def _drop_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        pure = op.has_trait(Pure) or (isinstance(op, ListOp) and not op.writes)
        if pure and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def _run(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, IfOp | LoopOp):
            for region in op.regions:
                _run(region.block)
    _own_results(block)
    _drop_unused(block)


def normalize(func: FuncOp) -> None:
    """Run on a function and the regions in it."""
    _run(func.block)
