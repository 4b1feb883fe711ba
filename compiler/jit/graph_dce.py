"""What nobody sees leaves a graph, as TorchScript's mark and sweep decides it.

    %a = aten::neg(%x)          -->     (nothing, if %a is not read)
    %b = aten::append(%l, %x)   -->     (nothing, if %l is a list that nothing live holds)

The marks are those of the frontend (`frontends/script/dead_code.py`), made on a drawing of the
graph. The lowering removes by another rule (`lowering/ts/dce.py`), which keeps every write.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.frontends.script import draft
from tensorscript.frontends.script.dead_code import Effects, Marks
from tensorscript.frontends.script.memory import Memory, Places

from .graph_memory import Drawing

T = TypeVar("T", ts.IfOp, ts.LoopOp)


def remove_dead(function: ts.FuncOp) -> None:
    """Remove ops, and results of ifs and loops, that nobody reads, and writes that nobody sees."""
    drawing = Drawing(function)
    _remove(function, drawing, Memory(drawing.body))


def remove_unread(function: ts.FuncOp) -> None:
    """As `remove_dead`, but every write is taken for seen."""
    _remove(function, Drawing(function), _AnyWrite())


def _remove(function: ts.FuncOp, drawing: Drawing, memory: Effects) -> None:
    marks = Marks(drawing.body, memory)
    _Sweep(drawing, marks.marked).block(function.block)


class _AnyWrite:
    """Where no memory is known: what writes, writes something that is seen."""

    def writes(self, node: draft.Node) -> Places:
        is_mutable = node.schema is not None and node.schema.is_mutable
        return frozenset({0}) if is_mutable or node.kind == "prim::SetAttr" else frozenset()

    def places(self, value: draft.Value) -> Places:
        return frozenset()

    def is_wildcard(self, places: Places) -> bool:
        return bool(places)


class _Sweep:
    def __init__(self, drawing: Drawing, marked: set[draft.Node | draft.Block]) -> None:
        self._drawing = drawing
        self._marked = marked

    def block(self, block: Block) -> None:
        for op in reversed(list(block.ops)):
            node = self._drawing.nodes.get(op)
            if node is None:
                continue
            kept = narrowed(op)
            for region in kept.regions:
                self.block(region.block)
            is_read = any(result.first_use is not None for result in kept.results)
            if node not in self._marked and not is_read:
                Rewriter.erase_op(kept)


def narrowed(op: Operation) -> Operation:
    """An `if` or a loop without the results that nobody reads; another op as it is."""
    if isinstance(op, ts.IfOp):
        return _narrowed_if(op)
    return _narrowed_loop(op) if isinstance(op, ts.LoopOp) else op


def _narrowed_if(op: ts.IfOp) -> ts.IfOp:
    kept = [at for at, output in enumerate(op.outputs) if output.first_use is not None]
    if len(kept) == len(op.outputs):
        return op
    branches = [op.detach_region(region) for region in (op.true_region, op.false_region)]
    for branch in branches:
        _keep_yielded(branch.block, kept)
    types = [op.outputs[at].type for at in kept]
    return _swapped(op, ts.IfOp(op.condition, types, *branches), kept)


def _narrowed_loop(op: ts.LoopOp) -> ts.LoopOp:
    """A loop without values that are read neither behind it nor in its turns."""
    formals = op.body.block.args
    pairs = enumerate(zip(op.outputs, formals[1:], strict=True))
    kept = [at for at, pair in pairs if any(value.first_use is not None for value in pair)]
    if len(kept) == len(op.outputs):
        return op
    body = op.detach_region(op.body)
    _keep_yielded(body.block, [0, *(at + 1 for at in kept)])
    for formal in [formals[at + 1] for at in range(len(op.outputs)) if at not in kept]:
        body.block.erase_arg(formal)
    carried = [op.carried[at] for at in kept]
    return _swapped(op, ts.LoopOp(op.max_trip, op.condition, carried, body), kept)


def _keep_yielded(block: Block, kept: list[int]) -> None:
    last = block.last_op
    assert isinstance(last, ts.YieldOp)
    values = list(last.values)
    last.operands = [values[at] for at in kept]


def _swapped(op: ts.TSOp, made: T, kept: list[int]) -> T:
    """Put `made` in the place of an op, the results at `kept` of which it has."""
    made.location = op.location
    made.attributes = dict(op.attributes)
    Rewriter.insert_op(made, InsertPoint.before(op))
    for at, result in zip(kept, made.results, strict=True):
        old: SSAValue = op.results[at]
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    Rewriter.erase_op(op)
    return made
