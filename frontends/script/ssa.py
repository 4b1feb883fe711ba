"""Removes variables: Load and Store become SSA values, If and Loop hand on what they assign.

    while c: x = x + 1  -->  %x = loop(max, %c, %x0) (i, %x1) { %x2 = add(%x1, 1); -> (%c2, %x2) }

The emitter leaves on every If and Loop the list of variables assigned inside (`variables`), on a
Loop a second block with the condition, which is copied before the loop, behind its body, and to
every `continue`.

What is handed on has the type of what was stored, and not that which the variable is declared to
have: of an interface's variable the class of the object, if there is but one.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import field

from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.types import BOOL
from tensorscript.dialects.ts.typing import unify

from . import draft
from .draft import Block, Draft, Node, Value


@dataclass(frozen=True)
class _Stored:
    """What a variable holds, and as what it was stored."""

    value: Value
    type: Attribute


Environment = ChainMap[str, _Stored]


@dataclass
class _Loop:
    """The loop being walked: what break and continue hand on."""

    names: list[str]
    header: Block


def _variables(node: Node) -> list[str]:
    found = node.attributes.pop("variables", [])
    assert isinstance(found, list)
    return found


@dataclass
class _Eraser:
    graph: Draft
    values: dict[Value, Value]
    stop: Node = field(default_factory=lambda: draft.constant(False, BOOL))

    def _of(self, value: Value) -> Value:
        return self.values.get(value, value)

    def walk(self, nodes: list[Node], env: Environment, loop: _Loop | None) -> list[Node]:
        out: list[Node] = []
        for node in nodes:
            given = node.inputs
            node.inputs = [self._of(v) for v in given]
            match node.kind:
                case draft.LOAD:
                    self.values[node.output] = env[str(node.attributes["name"])].value
                case draft.STORE:
                    env[str(node.attributes["name"])] = _Stored(node.inputs[0], given[0].type)
                case draft.IF:
                    self._if(node, env, loop)
                    out.append(node)
                case draft.LOOP:
                    self._loop(node, env, out)
                case draft.BREAK | draft.CONTINUE:
                    self._leave(node, env, loop, out)
                case _:
                    for block in node.blocks:
                        block.nodes = self.walk(block.nodes, env.new_child(), None)
                        block.outputs = [self._of(v) for v in block.outputs]
                    out.append(node)
        return out

    def _if(self, node: Node, env: Environment, loop: _Loop | None) -> None:
        variables = _variables(node)
        ends: list[Environment] = []
        for block in node.blocks:
            ends.append(inner := env.new_child())
            block.nodes = self.walk(block.nodes, inner, loop)
            block.outputs = [self._of(v) for v in block.outputs]
            block.outputs += [inner[name].value for name in variables]
        for name in variables:
            joined = self._joined(*(end[name].type for end in ends))
            env[name] = _Stored(node.add_output(joined, name), joined)

    def _joined(self, a: Attribute, b: Attribute) -> Attribute:
        found = unify(a, b, to_union=True, fulfils=self.graph.fulfils)
        assert found is not None
        return found

    def _condition(self, header: Block, env: Environment, out: list[Node]) -> Value:
        """A copy of the loop's condition, evaluated here."""
        mapping: dict[Value, Value] = {}
        nodes = draft.clone_nodes(header.nodes, mapping)
        out += self.walk(nodes, env.new_child(), None)
        result = header.outputs[0]
        return self._of(mapping.get(result, result))

    def _loop(self, node: Node, env: Environment, out: list[Node]) -> None:
        variables = _variables(node)
        body, header = node.blocks
        node.blocks = [body]
        node.inputs.append(self._condition(header, env, out))
        inner = env.new_child()
        for name in variables:
            held = env[name]
            node.inputs.append(held.value)
            inner[name] = _Stored(body.add_param(held.type, name), held.type)
        body.nodes = self.walk(body.nodes, inner, _Loop(variables, header))
        condition = self._condition(header, inner, body.nodes)
        body.outputs = [condition, *(inner[name].value for name in variables)]
        for param, name in zip(body.params[1:], variables, strict=True):
            # What holds from the second iteration on is known only now.
            param.type = self._joined(env[name].type, inner[name].type)
            env[name] = _Stored(node.add_output(param.type, name), param.type)
        out.append(node)

    def _leave(self, node: Node, env: Environment, loop: _Loop | None, out: list[Node]) -> None:
        assert loop is not None
        if node.kind == draft.BREAK:
            condition = self.stop.output
        else:
            condition = self._condition(loop.header, env, out)
        values = [condition, *(env[name].value for name in loop.names)]
        out.append(Node(draft.LEAVE_LOOP, values, (), node.span))


def to_ssa(graph: Draft) -> None:
    """Rewrite `graph` in place; only exits (`Return`, `LoopContinuation`) are left to lower."""
    eraser = _Eraser(graph, {})
    block = graph.block
    env: Environment = ChainMap()
    block.nodes = [eraser.stop, *eraser.walk(block.nodes, env, None)]
    block.outputs = [eraser.values.get(v, v) for v in block.outputs]
