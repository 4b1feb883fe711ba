"""`graph.alias_db()`: what PyTorch's `AliasDb` answers of a graph."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator

from xdsl.ir import Attribute, Operation, SSAValue

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.type_text import ir_text
from tensorscript.dialects.walks import walk_ops
from tensorscript.frontends.script import draft

from .graph_memory import GraphMemory
from .graph_nodes import Node, Value
from .graph_state import GraphState, block_of


class AliasDb:
    """Which values of a graph may lie in the same memory, and what writes it.

    It knows the graph as it was when it was made; moving nodes does not change what it knows.
    """

    def __init__(self, state: GraphState, text: str) -> None:
        self._state = state
        self._text = text
        self._memory = GraphMemory(state.function)
        drawing = self._memory.drawing
        self._values = {drawn: value for value, drawn in drawing.values.items()}

    def may_contain_alias(self, a: Value, b: Value) -> bool:
        """Whether what one value is or holds may be what the other is or holds."""
        return self._memory.may_contain_alias([a.value], [b.value])

    def has_writers(self, value: Value) -> bool:
        """Whether something in the graph may write the value."""
        return self._memory.has_writers(value.value)

    def move_before_topologically_valid(self, node: Node, place: Node) -> bool:
        """Move a node, with what has to move along, before another; whether that may be done."""
        return _Move(self._memory, node.op, place.op, before=True).run(self._state)

    def move_after_topologically_valid(self, node: Node, place: Node) -> bool:
        """Move a node, with what has to move along, behind another; whether that may be done."""
        return _Move(self._memory, node.op, place.op, before=False).run(self._state)

    def dump(self) -> None:
        """Print what is known."""
        sys.stdout.write(f"{self}\n")

    def to_graphviz_str(self) -> str:
        """The values and what they point to, as a graph for `dot`."""
        lines = []
        for value, name in self._named():
            for aim in self._memory.memory.points_to(value):
                lines.append(f'  "\\{name}" -> "{self._vertex(aim)}"\n')
            for held in self._memory.memory.holds(value):
                style = " [style=dashed, color=blue]"
                lines.append(f'  "\\{name}" -> "{self._vertex(held)}"{style}\n')
        head = "digraph alias_db {\n  rankdir=LR\n  node [shape=rect, color=gray];\n"
        return head + "  edge [color=black];\n" + "".join(lines) + "}\n"

    def __str__(self) -> str:
        lines = [f"\n===1. GRAPH===\n{self._text}\n===2. ALIAS DB===\n"]
        for value, name in self._named():
            for what, found in (
                ("points to", self._memory.memory.points_to(value)),
                ("contains", self._memory.memory.holds(value)),
            ):
                if found:
                    lines.append(f"{name} {what}: {', '.join(map(self._shown, found))}\n")
        lines.append("\n===3. Writes===\n")
        for op in walk_ops(self._state.function):
            if op in self._memory.drawing.nodes and (text := self._writes(op)):
                lines.append(f"{str(Node(self._state, op)).rstrip()}\n  {text}\n")
        return "".join([*lines, "\n"])

    def _named(self) -> Iterator[tuple[draft.Value, str]]:
        for drawn, value in self._values.items():
            yield drawn, self._name(value)

    def _name(self, value: SSAValue) -> str:
        return f"%{self._state.names.define(value)}"

    def _shown(self, found: draft.Value | Hashable) -> str:
        if isinstance(found, draft.Value):
            return self._name(self._values[found])
        return f"WILDCARD for type {_kind_text(found)}"

    def _vertex(self, found: draft.Value | Hashable) -> str:
        if isinstance(found, draft.Value):
            return f"\\{self._name(self._values[found])}"
        return f"WILDCARD for {_kind_text(found)}"

    def _writes(self, op: Operation) -> str:
        return ", ".join(map(self._shown, self._memory.written_by(op)))


def _kind_text(kinds: Hashable) -> str:
    assert isinstance(kinds, tuple)
    return ", ".join(_one_kind(kind) for kind in kinds)


def _one_kind(kind: Hashable) -> str:
    match kind:
        case str():
            return kind
        case ("Tuple", tuple() as parts):
            return f"({_kind_text(parts)})"
        case ("Future", inner):
            return f"Future({_kind_text(inner)})"
    assert isinstance(kind, Attribute)
    return ir_text(kind)


class _Move:
    """Moves an op over others, which come along if they depend on each other.

    As TorchScript's `AliasDb::tryMove`: from the op towards the place, what depends on what is
    gathered joins it; the move may be done if the place depends on nothing gathered.
    """

    def __init__(self, memory: GraphMemory, op: Operation, place: Operation, before: bool) -> None:
        self._memory = memory
        self._op = op
        self._place = place
        self._before = before
        self._gathered: list[Operation] = [op]

    def run(self, state: GraphState) -> bool:
        op, place = self._op, self._place
        if op is place:
            return True
        if block_of(op) is not block_of(place) or isinstance(op, ts.ReturnOp | ts.YieldOp):
            return False
        forward = op.is_before_in_block(place)
        for met in _between(op, place, forward):
            if self._depends(met):
                self._gathered.append(met)
        moved = list(self._gathered)
        # Moving to the near side of the place, only what was gathered has to pass it.
        stays = forward == self._before
        if stays:
            self._gathered.remove(op)
        if self._depends(place):
            return False
        self._do(moved, forward, stays)
        state.changed()
        return True

    def _do(self, moved: list[Operation], forward: bool, stays: bool) -> None:
        if not forward:
            moved = moved[::-1]
        op, place, block = self._op, self._place, block_of(self._place)
        before = [each for each in moved if (each is op) == self._before] if stays else []
        if not stays:
            before = moved if self._before else []
        after = [each for each in moved if each not in before]
        for each in moved:
            each.detach()
        for each in before:
            block.insert_op_before(each, place)
        for each in reversed(after):
            block.insert_op_after(each, place)

    def _depends(self, other: Operation) -> bool:
        return any(self._clash(each, other) for each in self._gathered)

    def _clash(self, a: Operation, b: Operation) -> bool:
        """Whether the order of two ops of a block matters."""
        if _reads_from(a, b) or _reads_from(b, a):
            return True
        memory = self._memory
        if isinstance(b, ts.ReturnOp | ts.YieldOp):
            return bool(memory.writes(a))
        a_writes, b_writes = memory.writes(a), memory.writes(b)
        if not (a_writes.isdisjoint(memory.reads(b)) and b_writes.isdisjoint(memory.reads(a))):
            return True
        return memory.acts(a) or memory.acts(b)


def _between(op: Operation, place: Operation, forward: bool) -> Iterator[Operation]:
    at = op.next_op if forward else op.prev_op
    while at is not None and at is not place:
        yield at
        at = at.next_op if forward else at.prev_op


def _reads_from(reader: Operation, maker: Operation) -> bool:
    made = set(maker.results)
    inner = (each for region in reader.regions for block in region.blocks for each in block.walk())
    return any(value in made for each in (reader, *inner) for value in each.operands)
