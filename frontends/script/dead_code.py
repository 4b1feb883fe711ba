"""Dead code goes: nodes whose results and writes nobody sees, and results that nobody reads.

TorchScript's mark and sweep (`dead_code_elimination.cpp`), whose graph text shows what it keeps:
a write into memory that nothing live lies in is dead, a loop that hands values from one turn to
the next stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from . import draft
from .draft import Block, Node, Value
from .memory import Memory

_SIDE_EFFECTS = frozenset({
    "prim::Print", draft.RAISE, "aten::warn", draft.CALL, "prim::CallMethod",
    "prim::Enter", "prim::Exit", *draft.WAITS, "prim::PythonOp", "aten::manual_seed",
    "aten::save", "aten::_assert_async", "aten::backward", "aten::set_grad_enabled",
    "aten::_assert_tensor_metadata", "aten::__interpolate_side_effect", "prim::AddStatValue",
    "prim::TimePoint",
})  # fmt: skip


def has_side_effects(node: Node) -> bool:
    """Whether a node acts on something else than its operands and results."""
    return node.kind in _SIDE_EFFECTS


class Effects(Protocol):
    """What nodes write, as far as it is known: `Memory`, or less."""

    def writes(self, node: Node) -> frozenset[int]: ...
    def places(self, value: Value) -> frozenset[int]: ...
    def is_wildcard(self, places: frozenset[int]) -> bool: ...


class Marks:
    """The nodes that stay, and the values that these read.

    Args:
        memory: what nodes write.
    """

    def __init__(self, body: Block, memory: Effects) -> None:
        self.marked: set[Node | Block] = set()
        self.memory = memory
        self._body = body
        self._live: set[Value] = set()
        self._live_places: set[int] = set()
        self._holder: dict[Node, Block] = {}
        self._effects: dict[Node, bool] = {}
        self._writes: dict[Node, frozenset[int]] = {}
        self.uses: Counter[Value] = Counter()
        self._survey(body)
        self.marked.add(body)
        self._read(body.outputs)
        self._block(body)

    def _survey(self, block: Block) -> None:
        """Learn of each node where it stands, what it writes and whether it acts."""
        for node in block.nodes:
            self._holder[node] = block
            self.uses.update(node.inputs)
            own = self.memory.writes(node)
            self._effects[node] = has_side_effects(node) or self.memory.is_wildcard(own)
            for inner in node.blocks:
                self._survey(inner)
                self._effects[node] |= any(self._effects[n] for n in inner.nodes)
                own = own.union(*(self._writes[n] for n in inner.nodes))
            self._writes[node] = own
        self.uses.update(block.outputs)

    def _read(self, values: Iterable[Value]) -> None:
        for value in values:
            if value not in self._live:
                self._live.add(value)
                self._live_places |= self.memory.places(value)

    def _mark(self, node: Node) -> bool:
        """Keep a node and those around it; False if that is nothing new."""
        if node in self.marked:
            return False
        self.marked.add(node)
        if (around := self._around(node)) is not None:
            self._mark(around)
        self._read(node.inputs)
        return True

    def _around(self, node: Node) -> Node | None:
        """The node of the body in a block of which `node` stands."""
        holder = self._holder[node]
        return None if holder is self._body else holder.owner

    def _block(self, block: Block) -> bool:
        """Whether something new was marked."""
        new = False
        for node in block.nodes:
            if self._effects[node]:
                new |= self._mark(node)
        new |= self._results(block)
        for node in reversed(block.nodes):
            new |= self._inside(node)
            if self._is_live(node):
                new |= self._mark(node)
        return new

    def _inside(self, node: Node) -> bool:
        if node.kind != draft.LOOP:
            return any([self._block(inner) for inner in node.blocks])
        new = False
        while self._block(node.blocks[0]):  # the next turn reads what this one wrote
            new = True
        return new

    def _is_live(self, node: Node) -> bool:
        return not (
            self._live.isdisjoint(node.outputs) and self._live_places.isdisjoint(self._writes[node])
        )

    def _results(self, block: Block) -> bool:
        """Values that a block hands out are read if somebody reads what they become."""
        if block in self.marked:
            return False
        self.marked.add(block)
        owner = block.owner
        assert owner is not None
        if owner.kind == draft.LOOP:
            carried = zip(owner.outputs, block.params[1:], block.outputs[1:], strict=True)
            ends = [end for out, start, end in carried if out in self._live or self.uses[start]]
            self._read([block.outputs[0], *ends])
        else:
            pairs = zip(owner.outputs, block.outputs, strict=True)
            self._read(inner for out, inner in pairs if out in self._live)
        return True


def drop_dead(block: Block) -> None:
    """Remove nodes, and results of ifs and loops, that nobody reads."""
    marks = Marks(block, Memory(block))
    _sweep(block, marks.marked, marks.uses)


def _sweep(block: Block, marked: set[Node | Block], uses: Counter[Value]) -> None:
    kept: list[Node] = []
    for node in reversed(block.nodes):
        if node.kind in (draft.IF, draft.LOOP):
            _drop_outputs(node, uses)
        for inner in node.blocks:
            _sweep(inner, marked, uses)
        if node in marked or any(uses[out] for out in node.outputs):
            kept.append(node)
        else:
            _forget(node, uses)
    block.nodes = kept[::-1]


def _forget(node: Node, uses: Counter[Value]) -> None:
    uses.subtract(node.inputs)
    for inner in node.blocks:
        uses.subtract(inner.outputs)
        for each in inner.nodes:
            _forget(each, uses)


def _drop_outputs(node: Node, uses: Counter[Value]) -> None:
    is_loop = node.kind == draft.LOOP
    for at in reversed(range(len(node.outputs))):
        if uses[node.outputs[at]] or (is_loop and uses[node.blocks[0].params[at + 1]]):
            continue
        uses.subtract(remove_output(node, at))


def remove_output(node: Node, at: int) -> list[Value]:
    """Take result `at` off an if or a loop; gives the values that were read for it."""
    del node.outputs[at]
    if node.kind == draft.IF:
        return [block.outputs.pop(at) for block in node.blocks]
    del node.blocks[0].params[at + 1]
    return [node.inputs.pop(at + 2), node.blocks[0].outputs.pop(at + 1)]
