"""Tasks that a traced program forks: what they did becomes a function that `prim::fork` calls.

While recording, what a task does stands where it ran, between two marks. Then a task is moved into
a function of its own, and what it reads from around becomes its arguments:

    before                                  after
    TracedForkBegin                         %f = prim::fork[callee=..](%x)
    %y = aten::relu(%x)                     ..
    %f = TracedForkEnd(%y)                  %z = aten::wait(%f)
    ..
    %z = aten::wait(%f)

A task whose values the program sees by another way than `wait` (it wrote to a tensor, or put one
aside) stays in place: as a task it could run too late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from tensorscript.base.records import dataclass
from tensorscript.base.schema import schema
from tensorscript.dialects.ts.types import FutureType
from tensorscript.frontends.script.dead_code import drop_dead
from tensorscript.frontends.script.draft import CONSTANT, FORK, Block, Node, Value
from tensorscript.frontends.script.program import Program

from .calls import define
from .function import compiled_block
from .nesting import built, is_traceable
from .places import here
from .tracer import Tracer

BEGIN, END = "prim::TracedForkBegin", "prim::TracedForkEnd"
WAIT = "aten::wait"


# -- recording ------------------------------------------------------------------------------------
def record_fork(tracer: Tracer, run: Callable[[], Any]) -> tuple[Any, Value | None]:
    """Run a task now; gives its result, and the value of its future (None: it gave no tensors)."""
    begin = tracer.add(BEGIN, (), ())
    result = run()
    if not is_traceable(result):
        tracer.block.nodes.remove(begin)
        return result, None
    value = built(tracer, result)
    end = tracer.add(END, [value], [FutureType(value.type)], begin=begin)
    return result, end.output


def record_wait(tracer: Tracer, result: Any, future: Value) -> None:
    """Go on with what a task gave as the results of waiting for it."""
    kind = future.type
    assert isinstance(kind, FutureType)
    define(tracer, result, tracer.add(WAIT, [future], [kind.element], here(), schema(WAIT)).output)


# -- tasks that stay in place ---------------------------------------------------------------------
Path = tuple[Node, ...]
"""The tasks around a place, by their first marks, outermost first."""


@dataclass
class _Uses:
    """Finds tasks whose values are read elsewhere."""

    made_in: dict[Value, Path] = field(default_factory=dict)
    seen: set[Node] = field(default_factory=set)

    def walk(self, block: Block, path: Path) -> None:
        for node in block.nodes:
            self._read(node.inputs, path)
            if node.kind == BEGIN:
                path = (*path, node)
            elif node.kind == END:
                path = path[:-1]
            for inner in node.blocks:
                self.walk(inner, path)
            self.made_in.update(dict.fromkeys(node.outputs, path))
        self._read(block.outputs, path)

    def _read(self, values: list[Value], path: Path) -> None:
        for value in values:
            self.seen.update(b for b in self.made_in.get(value, ()) if b not in path)


def settle_forks(body: Block) -> None:
    """Take the marks off tasks that stay in place; waiting for one gives what it made."""
    uses = _Uses()
    uses.walk(body, ())
    ends = [n for n in _all_nodes(body) if n.kind == END and n.attributes["begin"] in uses.seen]
    made = {end.output: end.inputs[0] for end in ends}
    if not made:
        return
    same = {n.output: made[n.inputs[0]] for n in _all_nodes(body)
            if n.kind == WAIT and n.inputs[0] in made}  # fmt: skip
    gone = {*ends, *uses.seen, *(v.node for v in same)}
    _rewrite(body, gone, same)


def _all_nodes(block: Block) -> Iterator[Node]:
    for node in block.nodes:
        yield node
        for inner in node.blocks:
            yield from _all_nodes(inner)


def _rewrite(block: Block, gone: set[Node | None], same: Mapping[Value, Value]) -> None:
    block.nodes = [n for n in block.nodes if n not in gone]
    for node in block.nodes:
        node.inputs = [same.get(v, v) for v in node.inputs]
        for inner in node.blocks:
            _rewrite(inner, gone, same)
    block.outputs = [same.get(v, v) for v in block.outputs]


# -- tasks as functions ---------------------------------------------------------------------------
def outline_forks(program: Program, name: str, block: Block) -> None:
    """Make functions of the tasks in a body without inner blocks, inner tasks first.

    Args:
        name: of the function that the body is of.
    """
    stack: list[list[Node]] = [[]]
    for node in block.nodes:
        match node.kind:
            case k if k == BEGIN:
                stack.append([])
            case k if k == END:
                task = stack.pop()
                stack[-1].append(_outlined(program, name, task, node))
            case _:
                stack[-1].append(node)
    (block.nodes,) = stack


def _outlined(program: Program, name: str, task: list[Node], end: Node) -> Node:
    """The node that starts a task."""
    body = Block()
    made = {v for node in task for v in node.outputs}
    constants: list[Node] = []
    arguments: dict[Value, Value] = {}

    def local(value: Value) -> Value:
        if value in made:
            return value
        if value not in arguments:
            arguments[value] = _passed(value, body, constants)
        return arguments[value]

    for node in task:
        node.inputs = [local(v) for v in node.inputs]
    body.outputs = [local(end.inputs[0])]
    body.nodes = [*constants, *task]
    for value in made:
        value.block = body
    drop_dead(body)
    compiled = compiled_block(program.unique(f"{name}.__forked_function"), body)
    program.add(compiled)
    given = [v for v, inside in arguments.items() if inside.node is None]
    fork = Node(FORK, given, (), None, None, callee=compiled.name)
    fork.scope = end.scope
    fork.outputs = end.outputs
    for value in fork.outputs:
        value.node = fork
    return fork


def _passed(value: Value, body: Block, constants: list[Node]) -> Value:
    """What stands for an outer value inside a task: a constant again, or an argument."""
    node = value.node
    if node is None or node.kind != CONSTANT:
        return body.add_param(value.type, value.name)
    again = Node(CONSTANT, (), (value.type,), node.span, None, **node.attributes)
    constants.append(again)
    return again.output
