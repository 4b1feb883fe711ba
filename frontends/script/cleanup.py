"""The clean-up that every script graph has had before anybody sees it.

In TorchScript's order: tuples that are taken apart again vanish, dead code goes, constants of
immutable types are folded (which prunes ifs and loops that are decided), results of ifs and loops
are put into the order of their first use, and constants into one place.
"""

from __future__ import annotations

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.types import OptionalType

from . import draft
from .dead_code import drop_dead, has_side_effects, remove_output
from .draft import Block, Draft, Node, Value
from .folding import fold

Values = dict[Value, Value]


def _resolve(values: Values, value: Value) -> Value:
    while value in values:
        value = values[value]
    return value


def lower_tuples(block: Block, values: Values) -> None:
    """`TupleIndex(TupleConstruct(a, b), 0)` is `a`, and so for unpack and slice."""
    for node in block.nodes:
        node.inputs = [_resolve(values, v) for v in node.inputs]
        source = node.inputs[0].node if node.inputs else None
        if source is not None and source.kind == "prim::TupleConstruct":
            _read_tuple(node, source, values)
        for inner in node.blocks:
            lower_tuples(inner, values)
    block.outputs = [_resolve(values, v) for v in block.outputs]


def _read_tuple(node: Node, source: Node, values: Values) -> None:
    match node.kind:
        case "prim::TupleUnpack":
            values.update(zip(node.outputs, source.inputs, strict=True))
        case "prim::TupleIndex" if draft.is_constant(node.inputs[1]):
            index = draft.constant_of(node.inputs[1])
            assert isinstance(index, int)
            values[node.output] = source.inputs[index]
        case "prim::TupleSlice":
            begin, end = node.attributes["begin"], node.attributes["end"]
            assert isinstance(begin, int) and isinstance(end, int)
            node.kind = "prim::TupleConstruct"
            node.inputs = source.inputs[begin:end]
            node.attributes = {}


class _Folder:
    """Folds constants; decided ifs are inlined, loops that never run go."""

    def __init__(self) -> None:
        self.values: Values = {}
        self.changed = False
        self.depth = 0

    def block(self, block: Block) -> None:
        out: list[Node] = []
        self.depth += 1
        self.nodes(block.nodes, out)
        self.depth -= 1
        block.nodes = out
        block.outputs = [_resolve(self.values, v) for v in block.outputs]

    def nodes(self, nodes: list[Node], out: list[Node]) -> None:
        for node in nodes:
            node.inputs = [_resolve(self.values, v) for v in node.inputs]
            if node.kind == draft.IF:
                self._if(node, out)
            elif node.kind == draft.LOOP:
                self._loop(node, out)
            elif self._stays(node) or not self._fold(node, out):
                for inner in node.blocks:
                    self.block(inner)
                out.append(node)

    def _stays(self, node: Node) -> bool:
        """TorchScript folds `format` only outside of ifs and loops."""
        return self.depth > 1 and node.schema is not None and node.schema.is_vararg

    def _fold(self, node: Node, out: list[Node]) -> bool:
        is_pure = node.schema is None or not node.schema.is_mutable
        if has_side_effects(node) or not is_pure or node.blocks:
            return False
        found = fold(node)
        if found is None:
            return False
        type = node.output.type
        if isinstance(type, OptionalType) and found[0] is not None:
            type = type.element
        out.append(made := draft.constant(found[0], type))
        self.values[node.output] = made.output
        self.changed = True
        return True

    def _if(self, node: Node, out: list[Node]) -> None:
        condition = node.inputs[0]
        if draft.is_constant(condition):
            taken = node.blocks[0 if draft.constant_of(condition) else 1]
            self.nodes(taken.nodes, out)
            results = [_resolve(self.values, v) for v in taken.outputs]
            self.values.update(zip(node.outputs, results, strict=True))
            self.changed = True
            return
        for inner in node.blocks:
            self.block(inner)
        true, false = (b.outputs for b in node.blocks)
        for at in reversed(range(len(node.outputs))):
            if (both := self._both(true[at], false[at], out)) is not None:
                self.values[node.outputs[at]] = both
                remove_output(node, at)
                self.changed = True
        out.append(node)

    def _both(self, true: Value, false: Value, out: list[Node]) -> Value | None:
        """What both branches give: one value, or equal constants, which come to stand before."""
        if true is false:
            return true
        if not (draft.is_constant(true) and draft.is_constant(false)):
            return None
        if draft.constant_key(true) != draft.constant_key(false):
            return None
        out.append(made := draft.constant(draft.constant_of(true), true.type))
        return made.output

    def _loop(self, node: Node, out: list[Node]) -> None:
        trips, condition = node.inputs[:2]
        never = draft.is_bool_constant(condition, False)
        if draft.is_constant(trips):
            count = draft.constant_of(trips)
            never = never or (isinstance(count, int) and count <= 0)
        if never:
            self.values.update(zip(node.outputs, node.inputs[2:], strict=True))
            self.changed = True
            return
        body = node.blocks[0]
        self.block(body)
        renamed = False
        for at in reversed(range(len(node.outputs))):
            if body.params[at + 1] is body.outputs[at + 1]:
                self.values[node.outputs[at]] = node.inputs[at + 2]
                self.values[body.params[at + 1]] = node.inputs[at + 2]
                remove_output(node, at)
                self.changed = renamed = True
        if renamed:
            _rename(body, self.values)
        out.append(node)


def _rename(block: Block, values: Values) -> None:
    for node in block.nodes:
        node.inputs = [_resolve(values, v) for v in node.inputs]
        for inner in node.blocks:
            _rename(inner, values)
    block.outputs = [_resolve(values, v) for v in block.outputs]


@dataclass
class _Use:
    """A reader of a value: its place in the graph and the list the value stands in."""

    position: int
    holder: list[Value]


class _Orderer:
    """Sorts results by their first use; later nodes first, as sorting moves uses."""

    def __init__(self, graph: Draft) -> None:
        self.first: dict[Value, _Use] = {}
        self.position = 0
        self._number(graph.block)

    def _note(self, holder: list[Value]) -> None:
        use = _Use(self.position, holder)
        self.position += 1
        for value in holder:
            self.first.setdefault(value, use)

    def _number(self, block: Block) -> None:
        for node in block.nodes:
            self._note(node.inputs)
            for inner in node.blocks:
                self._number(inner)
        self._note(block.outputs)

    def _key(self, value: Value) -> tuple[int, int]:
        use = self.first.get(value)
        if use is None:
            return (self.position, 0)
        return (use.position, use.holder.index(value))

    def sort(self, block: Block) -> None:
        for node in reversed(block.nodes):
            if node.kind in (draft.IF, draft.LOOP) and len(node.outputs) > 1:
                self._permute(node)
            for inner in node.blocks:
                self.sort(inner)

    def _permute(self, node: Node) -> None:
        order = sorted(range(len(node.outputs)), key=lambda i: self._key(node.outputs[i]))
        node.outputs = [node.outputs[i] for i in order]
        is_loop = node.kind == draft.LOOP
        for inner in node.blocks:
            skip = 1 if is_loop else 0
            inner.outputs[skip:] = [inner.outputs[i + skip] for i in order]
            if is_loop:
                inner.params[1:] = [inner.params[i + 1] for i in order]
        if is_loop:
            node.inputs[2:] = [node.inputs[i + 2] for i in order]


def order_outputs(graph: Draft) -> None:
    """Results of ifs and loops in the order in which they are first read."""
    _Orderer(graph).sort(graph.block)


class _Pool:
    """Takes the constants out of all blocks, of equal ones the first."""

    def __init__(self) -> None:
        self.pooled: dict[draft.ConstantKey, Value] = {}
        self.values: Values = {}

    def read(self, value: Value) -> Value:
        """What stands for a value; a constant of the function around is met here first."""
        if value not in self.values and draft.is_constant(value):
            self.values[value] = self.pooled.setdefault(draft.constant_key(value), value)
        return self.values.get(value, value)

    def block(self, block: Block) -> None:
        kept: list[Node] = []
        for node in block.nodes:
            node.inputs = [self.read(v) for v in node.inputs]
            for inner in node.blocks:
                self.block(inner)
            if node.kind == draft.CONSTANT:
                self.read(node.output)
            else:
                kept.append(node)
        block.nodes = kept
        block.outputs = [self.read(v) for v in block.outputs]


def pool_constants(graph: Draft) -> None:
    """Constants stand first, those that were met later before the others, and equal ones once."""
    pool = _Pool()
    pool.block(graph.block)
    made = [value.node for value in pool.pooled.values() if value.node is not None]
    graph.block.nodes[:0] = made[::-1]


def clean(graph: Draft) -> None:
    """Run the clean-up on a draft in structured SSA form.

    The body of a fork has it twice, once when it becomes a function and once when that becomes a
    graph of the fork: each turns the order of the constants round.
    """
    lower_tuples(graph.block, {})
    drop_dead(graph.block)
    folder = _Folder()
    folder.block(graph.block)
    if folder.changed:
        drop_dead(graph.block)
    pool_constants(graph)
    order_outputs(graph)
