"""Removes variables: Load and Store become SSA values, If and Loop hand on what they assign.

    while c: x = x + 1  -->  %x = loop(max, %c, %x0) (i, %x1) { %x2 = add(%x1, 1); -> (%c2, %x2) }

The emitter leaves on every If and Loop the list of variables assigned inside (`variables`), on a
Loop a second block with the condition, which is copied before the loop, behind its body, and to
every `continue`.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass

from . import draft
from .draft import Block, Draft, Node, Value, Variable

Environment = ChainMap[str, Value]


@dataclass
class _Loop:
    """The loop being walked: what break and continue hand on."""

    names: list[str]
    header: Block


def _variables(node: Node) -> list[Variable]:
    found = node.attributes.pop("variables", [])
    assert isinstance(found, list)
    return found


@dataclass
class _Eraser:
    graph: Draft
    values: dict[Value, Value]

    def _of(self, value: Value) -> Value:
        return self.values.get(value, value)

    def walk(self, nodes: list[Node], env: Environment, loop: _Loop | None) -> list[Node]:
        out: list[Node] = []
        for node in nodes:
            node.inputs = [self._of(v) for v in node.inputs]
            match node.kind:
                case draft.LOAD:
                    self.values[node.output] = env[str(node.attributes["name"])]
                case draft.STORE:
                    env[str(node.attributes["name"])] = node.inputs[0]
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
        for block in node.blocks:
            inner = env.new_child()
            block.nodes = self.walk(block.nodes, inner, loop)
            block.outputs = [self._of(v) for v in block.outputs]
            for variable in variables:
                block.outputs.append(inner[variable.name])
        for variable in variables:
            env[variable.name] = node.add_output(variable.joined, variable.name)

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
        names = [v.name for v in variables]
        for variable in variables:
            node.inputs.append(env[variable.name])
            inner[variable.name] = body.add_param(variable.joined, variable.name)
        body.nodes = self.walk(body.nodes, inner, _Loop(names, header))
        condition = self._condition(header, inner, body.nodes)
        body.outputs = [condition, *(inner[name] for name in names)]
        for variable in variables:
            env[variable.name] = node.add_output(variable.joined, variable.name)
        out.append(node)

    def _leave(self, node: Node, env: Environment, loop: _Loop | None, out: list[Node]) -> None:
        assert loop is not None
        if node.kind == draft.BREAK:
            condition = self.graph.false()
        else:
            condition = self._condition(loop.header, env, out)
        values = [condition, *(env[name] for name in loop.names)]
        out.append(Node(draft.LEAVE_LOOP, values, (), node.span))


def to_ssa(graph: Draft) -> None:
    """Rewrite `graph` in place; only exits (`Return`, `LoopContinuation`) are left to lower."""
    eraser = _Eraser(graph, {})
    block = graph.block
    env: Environment = ChainMap()
    block.nodes = eraser.walk(block.nodes, env, None)
    block.outputs = [eraser.values.get(v, v) for v in block.outputs]
