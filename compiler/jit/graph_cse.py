"""What a graph computes twice is computed once, as TorchScript's `common_subexpression_elimination`
decides it: it asks which memory may be written, and which values may be the same.

    %a = aten::neg(%x)          -->     %a = aten::neg(%x)
    %b = aten::neg(%x)          -->     (nothing; %a is read for %b)

The lowering merges by another rule (`lowering/ts/merge_equal.py`), which follows single values.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import TensorType
from tensorscript.lowering.ts.aliases import is_random
from tensorscript.lowering.ts.merge_equal import Key, key_of

from .graph_memory import GraphMemory

_CONTEXTS = (ts.EnterOp, ts.ExitOp)
_UNIQUE = (ts.NodeOp, ts.CreateObjectOp, ts.TaskOp, *_CONTEXTS)
"""Ops that are never equal: each makes an object or a task of its own, or is not whole."""


def merge_common(function: ts.FuncOp) -> bool:
    """Merge equal nodes of a function; whether there were any."""
    merger = _Merger(GraphMemory(function))
    merger.block(function.block, {})
    return merger.changed


@dataclass
class _Merger:
    """Goes through blocks; an op is known to all that it dominates."""

    memory: GraphMemory
    changed: bool = False

    def block(self, block: Block, outer: dict[Key, Operation]) -> None:
        known = dict(outer)
        for op in list(block.ops):
            if isinstance(op, _CONTEXTS):
                known = {}  # Within a context, such as `autocast`, equal ops may compute others.
            for region in op.regions:
                self.block(region.block, known)
            if not op.regions and self._may_merge(op) and (key := key_of(op)) is not None:
                self._meet(op, known.setdefault(key, op))

    def _may_merge(self, op: Operation) -> bool:
        if not op.results or isinstance(op, _UNIQUE) or self.memory.acts(op):
            return False
        if isinstance(op, ts.OperatorOp) and is_random(op):
            return False
        if isinstance(op, ts.ConstantOp) and isinstance(op.result.type, TensorType):
            return False
        return not self.memory.has_writers_of(op)

    def _meet(self, op: Operation, first: Operation) -> None:
        if first is op or not self.memory.may_share(op.results, first.results):
            return
        for result, value in zip(op.results, first.results, strict=True):
            result.replace_all_uses_with(value)
        Rewriter.erase_op(op)
        self.changed = True
