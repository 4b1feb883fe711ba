"""Dropping what nothing reads.

A node stays if one of its results is read by a node that stays, if it calls a function, or if it
writes to memory that something else sees: an input, an attribute, or a value that stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tensorscript.frontends.script.draft import Block, Node, Value

_CALLS = frozenset({"prim::CallFunction", "prim::CallMethod"})
_OUTSIDE = frozenset({"prim::GetAttr", "prim::Constant"})
"""Nodes whose result's memory was there before the program ran."""


def sweep(block: Block, memory: Mapping[Value, int]) -> None:
    """Drop dead nodes of a body without inner blocks, in place.

    Args:
        memory: the storage that a value shares, by the id of its owner.
    """
    seen = {memory[v] for v in _from_outside(block) if v in memory}
    live: set[Value] = set(block.outputs)
    seen |= _storages(live, memory)
    kept: list[Node] = []
    for node in reversed(block.nodes):
        if not (node.kind in _CALLS or live & set(node.outputs) or _writes(node, memory) & seen):
            continue
        kept.append(node)
        live.update(node.inputs)
        seen |= _storages((*node.inputs, *node.outputs), memory)
    block.nodes = kept[::-1]


def _from_outside(block: Block) -> Iterable[Value]:
    yield from block.params
    for node in block.nodes:
        if node.kind in _OUTSIDE or node.kind.endswith("Unpack"):
            yield from node.outputs


def _storages(values: Iterable[Value], memory: Mapping[Value, int]) -> set[int]:
    return {memory[v] for v in values if v in memory}


def _writes(node: Node, memory: Mapping[Value, int]) -> set[int]:
    """The storages that a node writes to."""
    if node.schema is None or not node.schema.is_mutable:
        return set()
    pairs = zip(node.schema.arguments, node.inputs, strict=True)
    return _storages((v for a, v in pairs if a.is_write), memory)
