"""Which values of a graph may lie in the same memory, and who writes it: `graph.alias_db()`.

The analysis is the one that decides which nodes a script's graph shows; it reads drafts, so the
graph is drawn as one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.ts import ops as ts
from tensorscript.frontends.script import draft
from tensorscript.frontends.script.dead_code import has_side_effects
from tensorscript.frontends.script.memory import Memory, Places
from tensorscript.lowering.ts.aliases import schema_of


class Drawing:
    """A function as a draft: a node for each op, a value for each value."""

    def __init__(self, function: ts.FuncOp) -> None:
        self.nodes: dict[Operation, draft.Node] = {}
        self.values: dict[SSAValue, draft.Value] = {}
        self.body = draft.Block()
        self._fill(self.body, function.block)

    def _fill(self, made: draft.Block, block: Block) -> None:
        for argument in block.args:
            self.values[argument] = made.add_param(argument.type)
        for op in block.ops:
            if isinstance(op, ts.ReturnOp | ts.YieldOp):
                made.outputs = self._drawn(op.operands)
            else:
                made.nodes.append(self._node(op))

    def _node(self, op: Operation) -> draft.Node:
        assert isinstance(op, ts.TSOp)
        made = draft.Node(op.node_kind, self._drawn(op.operands), [r.type for r in op.results])
        if isinstance(op, ts.OperatorOp):
            made.schema = schema_of(op)
        if isinstance(op, ts.ConstantOp):
            made.attributes["value"] = op.value.data
        for region in op.regions:
            self._fill(made.add_block(), region.block)
        self.values.update(zip(op.results, made.outputs, strict=True))
        self.nodes[op] = made
        return made

    def _drawn(self, values: Iterable[SSAValue]) -> list[draft.Value]:
        return [self.values[value] for value in values]


class GraphMemory:
    """The memory of a function as it is now; edits are not seen."""

    def __init__(self, function: ts.FuncOp) -> None:
        self.function = function
        self.drawing = Drawing(function)
        self.memory = Memory(self.drawing.body)
        nodes = self.drawing.nodes.values()
        self._written = frozenset[int]().union(*map(self._own_writes, nodes))
        self._returned = self._reach(self._drawn(function.return_op.values))

    def may_contain_alias(self, a: Iterable[SSAValue], b: Iterable[SSAValue]) -> bool:
        """Whether what one group of values is or holds may be what the other is or holds."""
        return not self._reach(self._drawn(a)).isdisjoint(self._reach(self._drawn(b)))

    def has_writers(self, value: SSAValue) -> bool:
        """Whether something in the function may write a value."""
        drawn = self.drawing.values.get(value)
        return drawn is not None and not self._written.isdisjoint(self.memory.places(drawn))

    def written_by_any(self, ops: Iterable[Operation]) -> Places:
        """The places that one of some ops may write by itself."""
        return frozenset[int]().union(*(self._own_writes(self.drawing.nodes[op]) for op in ops))

    def lies_in(self, value: SSAValue, places: Places) -> bool:
        """Whether a value may lie in one of some places."""
        drawn = self.drawing.values.get(value)
        return drawn is not None and not places.isdisjoint(self.memory.places(drawn))

    def has_writers_of(self, op: Operation) -> bool:
        """Whether something may write what an op reads or makes."""
        return any(map(self.has_writers, (*op.operands, *op.results)))

    def may_share(self, a: Iterable[SSAValue], b: Iterable[SSAValue]) -> bool:
        """Whether nobody sees it if values that are equal become one: nobody writes them, and not
        both are returned."""
        a, b = list(a), list(b)
        if any(map(self.has_writers, (*a, *b))):
            return False
        return any(self._returned.isdisjoint(self._reach(self._drawn(vs))) for vs in (a, b))

    def writes(self, op: Operation) -> Places:
        """What an op may write, its blocks included."""
        return frozenset[int]().union(*(self._own_writes(n) for n in self._with_inner(op)))

    def written_by(self, op: Operation) -> list[draft.Value | Hashable]:
        """The values, and types of wildcards, that an op may write by itself."""
        return self.memory.named(self._own_writes(self.drawing.nodes[op]))

    def reads(self, op: Operation) -> Places:
        """What an op may read, its blocks included."""
        values = (v for n in self._with_inner(op) for v in (*n.inputs, *n.outputs))
        return self._reach(values)

    def acts(self, op: Operation) -> bool:
        """Whether an op does more than to compute its results."""
        return any(map(has_side_effects, self._with_inner(op)))

    def _with_inner(self, op: Operation) -> Iterator[draft.Node]:
        yield self.drawing.nodes[op]
        for region in op.regions:
            for inner in region.block.ops:
                if inner in self.drawing.nodes:
                    yield from self._with_inner(inner)

    def _own_writes(self, node: draft.Node) -> Places:
        return self.memory.writes(node) | self.memory.calls_write(node)

    def _reach(self, values: Iterable[draft.Value]) -> Places:
        return frozenset[int]().union(*map(self.memory.reach, values))

    def _drawn(self, values: Iterable[SSAValue]) -> list[draft.Value]:
        drawn = (self.drawing.values.get(value) for value in values)
        return [value for value in drawn if value is not None]
