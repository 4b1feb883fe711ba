"""Lowers early exits (return, break, continue) to flags, so that control flow is structured again.

Two runs over a draft in SSA form: first `LoopContinuation` (break and continue), then `ReturnStmt`.
Each block answers with an `_Exit`: whether it left (a value of type bool: constant true, constant
false, or decided at run time), and the values it left with. Code behind a node that might leave
goes under an if of the flag. The algorithm is TorchScript's exit transform, so that graphs agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.base.schema import schema
from tensorscript.dialects.ts.types import BOOL, INT
from tensorscript.dialects.ts.typing import unify

from . import draft
from .draft import Block, Draft, Node, Value


@dataclass(frozen=True)
class _Exit:
    """Whether a block left, and with what. `left` None means that it raised."""

    left: Value | None
    values: tuple[Value, ...] = ()

    @property
    def throws(self) -> bool:
        return self.left is None

    @property
    def will(self) -> bool:
        return self.left is not None and draft.is_bool_constant(self.left, True)

    @property
    def wont(self) -> bool:
        return self.left is not None and draft.is_bool_constant(self.left, False)


class _Lowering:
    def __init__(self, graph: Draft, kind: str) -> None:
        self.graph = graph
        self.kind = kind
        self.true, self.false = (draft.constant(held, BOOL) for held in (True, False))
        self.stay = _Exit(self.false.output)
        self.throw = _Exit(None)
        self.placeholders: dict[Attribute, Value] = {}
        self.target: Block | None = None
        self.placeholder(BOOL)  # The first in every run: it stands behind all others.

    def placeholder(self, type: Attribute) -> Value:
        """A value of a path that is never taken."""
        if type not in self.placeholders:
            self.placeholders[type] = Node(draft.UNINITIALIZED, (), (type,)).output
        return self.placeholders[type]

    def placeholders_like(self, values: Sequence[Value]) -> list[Value]:
        return [self.placeholder(v.type) for v in values]

    def run(self) -> None:
        self.block(self.graph.block, is_function=True)
        made = [v.node for v in self.placeholders.values() if v.node is not None]
        self.graph.block.nodes[:0] = [*made[::-1], self.true, self.false]

    def block(self, block: Block, is_function: bool = False) -> _Exit:
        before = self.target
        in_loop = block.owner is not None and block.owner.kind == draft.LOOP
        if (self.kind == draft.LEAVE_LOOP and in_loop) or (
            self.kind == draft.RETURN and is_function
        ):
            self.target = block
        exit = self._nodes(block)
        if self.target is block:
            self._arrive(block, exit)
            exit = self.stay
        self.target = before
        return exit

    def _nodes(self, block: Block) -> _Exit:
        for at, node in enumerate(block.nodes):
            exit = self._node(node)
            if exit is None:
                continue
            if exit.throws or exit.will:
                keep = at if node.kind == self.kind else at + 1
                self._cut(block, keep)
                return exit
            if exit.wont:
                continue
            if at + 1 == len(block.nodes):
                return exit
            return self._guard(block, exit, at + 1)
        return self.stay

    def _node(self, node: Node) -> _Exit | None:
        match node.kind:
            case draft.RAISE:
                return self.throw
            case draft.RETURN | draft.LEAVE_LOOP if node.kind == self.kind:
                return _Exit(self.true.output, tuple(node.inputs))
            case draft.IF:
                return self._if(node)
            case draft.LOOP:
                return self._loop(node)
            case draft.FORK | draft.AWAITABLE:
                self.block(node.blocks[0], is_function=True)
            case draft.WITH:
                return self.block(node.blocks[0])
        return None

    def _cut(self, block: Block, keep: int) -> None:
        """Drop what can never run, from the last to the first; placeholders stand for its results.

        Only the block gives them away, as what would use them is dropped, too.
        """
        for node in reversed(block.nodes[keep:]):
            for made in node.outputs:
                if made in block.outputs:
                    block.outputs = [
                        self.placeholder(v.type) if v is made else v for v in block.outputs
                    ]
        del block.nodes[keep:]

    def _arrive(self, block: Block, exit: _Exit) -> None:
        """The block that an exit goes to takes the exit's values as its results."""
        if exit.will:
            block.outputs = list(exit.values)
        elif not exit.wont and not exit.throws:
            assert exit.left is not None
            node = Node(draft.IF, [exit.left])
            self._join(node, exit.values, block.outputs, new_blocks=True)
            block.outputs = list(node.outputs)
            block.nodes.append(node)
        elif exit.throws:
            block.outputs = list(self.placeholders_like(block.outputs))

    def _join(
        self, node: Node, left: Sequence[Value], right: Sequence[Value], new_blocks: bool = False
    ) -> list[Value]:
        """Add results to an if."""
        if new_blocks:
            node.add_block()
            node.add_block()
        start = len(node.outputs)
        for a, b in zip(left, right, strict=True):
            node.blocks[0].outputs.append(a)
            node.blocks[1].outputs.append(b)
            node.add_output(self._joined(a.type, b.type))
        return node.outputs[start:]

    def _joined(self, a: Attribute, b: Attribute) -> Attribute:
        return unify(a, b, to_union=True, fulfils=self.graph.fulfils) or a

    def _if(self, node: Node) -> _Exit:
        return self._merge(node, self.block(node.blocks[0]), self.block(node.blocks[1]))

    def _merge(self, node: Node, a: _Exit, b: _Exit) -> _Exit:
        if a.throws and b.throws:
            return self.throw
        if (a.wont or a.throws) and (b.wont or b.throws):
            return self.stay
        a_values: Sequence[Value] = a.values
        b_values: Sequence[Value] = b.values
        if a.wont or a.throws:
            a_values = self.placeholders_like(b.values)
        elif b.wont or b.throws:
            b_values = self.placeholders_like(a.values)
        if (a.will or a.throws) and (b.will or b.throws):
            left = self.true.output
        else:
            a_left = a.left or self.placeholder(BOOL)
            b_left = b.left or self.placeholder(BOOL)
            left = self._join(node, [a_left], [b_left])[0]
        return _Exit(left, tuple(self._join(node, a_values, b_values)))

    def _guard(self, block: Block, exit: _Exit, at: int) -> _Exit:
        """What follows a node that might have left goes under `if left: (nothing) else: rest`."""
        assert exit.left is not None
        node = Node(draft.IF, [exit.left])
        gone, rest = node.add_block(), node.add_block()
        rest.nodes = block.nodes[at:]
        rest.outputs = list(block.outputs)
        gone.outputs = self.placeholders_like(block.outputs)
        block.nodes[at:] = [node]
        block.outputs = [node.add_output(v.type) for v in rest.outputs]
        after = self.block(rest)
        return self._merge(node, _Exit(self.true.output, exit.values), after)

    def _loop(self, node: Node) -> _Exit:
        body = node.blocks[0]
        exit = self.block(body)
        if exit.wont or exit.throws:
            return self.stay
        assert exit.left is not None
        check = Node(draft.IF, [exit.left])
        condition = self._join(check, [self.false.output], [body.outputs[0]], new_blocks=True)[0]
        body.nodes.append(check)
        body.outputs[0] = condition
        left = self._carry(node, self.false.output, exit.left)
        values = [self._carry(node, self.placeholder(v.type), v) for v in exit.values]
        return _Exit(left, tuple(values))

    def _carry(self, loop: Node, initial: Value, final: Value) -> Value:
        loop.inputs.append(initial)
        loop.blocks[0].add_param(final.type)
        loop.blocks[0].outputs.append(final)
        return loop.add_output(final.type)


def _fuse_with_next(first: Node, second: Node, values: dict[Value, Value]) -> bool:
    """`if a: x = True .. else: x = False ..` followed by `if x:` becomes one if."""
    if first.kind != draft.IF or second.kind != draft.IF:
        return False
    condition = second.inputs[0]
    if condition.node is not first:
        return False
    at = first.outputs.index(condition)
    results = [block.outputs[at] for block in first.blocks]
    if not all(map(draft.is_constant, results)):
        return False
    if draft.constant_of(results[0]) == draft.constant_of(results[1]):
        return False
    for block, result in zip(first.blocks, results, strict=True):
        taken = second.blocks[0 if draft.constant_of(result) else 1]
        mapping: dict[Value, Value] = dict(zip(first.outputs, block.outputs, strict=True))
        _substitute(taken, mapping)
        fused: dict[Value, Value] = {}
        for node in taken.nodes:
            if fused:
                _substitute_in(node, fused)
            _append(block.nodes, node, fused)
        block.outputs += [fused.get(v, v) for v in taken.outputs]
    for output in second.outputs:
        values[output] = first.add_output(output.type, output.name)
    return True


def _substitute(block: Block, values: dict[Value, Value]) -> None:
    """Replace values in a block and everything inside it, in place."""
    for node in block.nodes:
        _substitute_in(node, values)
    block.outputs = [values.get(v, v) for v in block.outputs]


def _substitute_in(node: Node, values: dict[Value, Value]) -> None:
    node.inputs = [values.get(v, v) for v in node.inputs]
    for inner in node.blocks:
        _substitute(inner, values)


def _append(nodes: list[Node], node: Node, values: dict[Value, Value]) -> None:
    """Put a node behind the others, or into the one before it."""
    if not nodes or not _fuse_with_next(nodes[-1], node, values):
        nodes.append(node)


def _fuse_ifs(block: Block, values: dict[Value, Value]) -> None:
    out: list[Node] = []
    for node in block.nodes:
        node.inputs = [values.get(v, v) for v in node.inputs]
        for inner in node.blocks:
            _fuse_ifs(inner, values)
        _append(out, node, values)
    block.nodes = out
    block.outputs = [values.get(v, v) for v in block.outputs]


def _is_modified(loop: Node) -> bool:
    """A loop with both a trip count and a condition that varies."""
    trips, condition = loop.inputs[:2]
    body = loop.blocks[0]
    if draft.is_bool_constant(condition, True) and draft.is_bool_constant(body.outputs[0], True):
        return False
    if not draft.is_constant(trips) or draft.constant_of(trips) != draft.MAX_TRIPS:
        return True
    return _uses(body, body.params[0])


def _uses(block: Block, value: Value) -> bool:
    return value in block.outputs or any(
        value in node.inputs or any(_uses(inner, value) for inner in node.blocks)
        for node in block.nodes
    )


def _operator(full_name: str, inputs: Sequence[Value], type: Attribute) -> Node:
    found = schema(full_name)
    return Node(found.name, inputs, (type,), schema=found)


def _as_while(loop: Node) -> list[Node]:
    """A for loop that may break counts for itself, so that it reads as a while loop."""
    trips, condition = loop.inputs[:2]
    zero, one, endless = (draft.constant(held, INT) for held in (0, 1, draft.MAX_TRIPS))
    enters = _operator("aten::gt.int", [trips, zero.output], BOOL)
    before = [zero, one, enters, endless]
    entering = enters.output
    if not draft.is_bool_constant(condition, True):
        before.append(both := _operator("aten::__and__.bool", [entering, condition], BOOL))
        entering = both.output
    loop.inputs[:2] = [endless.output, entering]
    loop.inputs.append(zero.output)
    loop.add_output(INT)
    body = loop.blocks[0]
    counter = body.add_param(INT)
    body.params[0].name = ""
    _substitute(body, {body.params[0]: counter})
    following = _operator("aten::add.int", [counter, one.output], INT)
    more = _operator("aten::lt.int", [following.output, trips], BOOL)
    both = _operator("aten::__and__.bool", [more.output, body.outputs[0]], BOOL)
    body.nodes += [following, more, both]
    body.outputs[0] = both.output
    body.outputs.append(following.output)
    return before


def _canonicalize_loops(block: Block) -> None:
    out: list[Node] = []
    for node in block.nodes:
        for inner in node.blocks:
            _canonicalize_loops(inner)
        if node.kind == draft.LOOP and _is_modified(node):
            out += _as_while(node)
        out.append(node)
    block.nodes = out


def _nest_contexts(block: Block) -> None:
    """`Enter(c); ...; Exit(c)` becomes one node: whoever leaves the body still passes the exit."""
    contexts: list[Node] = []
    current = block
    nodes, block.nodes = block.nodes, []
    for node in nodes:
        for inner in node.blocks:
            _nest_contexts(inner)
        if node.kind == draft.EXIT:
            contexts.pop().add_block().nodes.append(node)
            current = contexts[-1].blocks[0] if contexts else block
            continue
        current.nodes.append(node)
        if node.kind == draft.ENTER:
            contexts.append(context := Node(draft.WITH, (), (), node.span))
            current.nodes.append(context)
            current = context.add_block()


def _flatten_contexts(block: Block) -> None:
    out: list[Node] = []
    for node in block.nodes:
        for inner in node.blocks:
            _flatten_contexts(inner)
        is_context = node.kind == draft.WITH
        out += [n for part in node.blocks for n in part.nodes] if is_context else [node]
    block.nodes = out


def lower_exits(graph: Draft) -> None:
    """Rewrite `graph` (in SSA form) in place so that no exit is left."""
    _nest_contexts(graph.block)
    _Lowering(graph, draft.LEAVE_LOOP).run()
    _Lowering(graph, draft.RETURN).run()
    _fuse_ifs(graph.block, {})
    _flatten_contexts(graph.block)
    _canonicalize_loops(graph.block)
