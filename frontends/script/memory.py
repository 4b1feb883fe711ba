"""Which memory the nodes of a draft may write, and which values may lie in it.

Every mutable value points to places. A value made fresh is a place of its own; a view points to
what it views, results of ifs and loops to what the blocks hand out. What enters a container, an
attribute or a task, and what comes out of one, shares one place for each type: the wildcard, in
which the arguments of the function lie, too. As TorchScript's alias analysis does it (its
`alias_analysis.cpp` describes the scheme); what classes hold is not followed any further.

The analysis of the lowering (`lowering/ts/aliases.py`) is another one on purpose. This one decides
which nodes a graph text shows, so it has to be as coarse as TorchScript's, and it reads drafts,
which are no ops yet; that one follows single values of finished functions, as far as it can.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from xdsl.ir import Attribute

from tensorscript.base.schema import Alias
from tensorscript.dialects.ts.types import (
    AnyType,
    AwaitType,
    ClassType,
    DictType,
    FutureType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    UnionType,
)
from tensorscript.dialects.ts.typing import types_inside

from . import draft
from .draft import Block, Node, Value

Places = frozenset[int]

_FRESH = frozenset({
    draft.CONSTANT, draft.UNINITIALIZED, "prim::CreateObject", "prim::tolist",
})  # fmt: skip
_CONTAINERS = frozenset({"prim::TupleConstruct", "prim::DictConstruct", "prim::ListConstruct"})
_READERS = frozenset({"prim::Print", "prim::isinstance"})
_TAKE_LISTS = frozenset({
    "aten::broadcast_tensors", "aten::cat", "aten::dstack", "aten::hstack", "aten::stack",
    "aten::vstack",
})  # fmt: skip
"""Operators that read the elements of a list and keep none."""

_CALLS = frozenset({
    draft.CALL, "prim::CallMethod", "prim::PythonOp", draft.ENTER, draft.EXIT,
})  # fmt: skip
"""Nodes that may write whatever they are given."""
_HAND_OVER = frozenset({*draft.TASKS, draft.ENTER, draft.EXIT})
"""Nodes behind which somebody else has what they are given."""

_NORMS = {"aten::batch_norm": (3, 5), "aten::instance_norm": (3, 5)}
"""Operators that write their running statistics: where these and the flag of training stand."""


def _mutable(type: Attribute) -> tuple[Hashable, ...]:
    """What of a value of `type` can be written: nothing, one kind, or the kinds of a union."""
    match type:
        case TensorType():
            return ("Tensor",)
        case ListType() | DictType() | ClassType() | AnyType():
            return (type,)
        case OptionalType(element=element):
            return _mutable(element)
        case UnionType(members=members):
            return tuple(dict.fromkeys(kind for m in members for kind in _mutable(m)))
        case FutureType(element=element):
            inner = _mutable(element)
            return (("Future", inner),) if inner else ()
        case AwaitType(element=element):
            inner = _mutable(element)
            return (("Await", inner),) if inner else ()
        case TupleType(elements=elements):
            parts = tuple(kind for e in elements for kind in _mutable(e))
            return (("Tuple", parts),) if parts else ()
    return ()


def _inside(kind: Hashable) -> list[tuple[Hashable, ...]]:
    """The kinds of what a value of one kind may hold."""
    match kind:
        case ListType() | DictType():
            return [kinds for t in types_inside(kind) if (kinds := _mutable(t))]
        case ("Tuple", tuple() as parts):
            return [(part,) for part in parts]
        case ("Future" | "Await", inner):
            return [inner] if isinstance(inner, tuple) else []
    return []


class Memory:
    """The places of the values under `block`, the body of a function."""

    def __init__(self, block: Block) -> None:
        self._points_to: list[set[int]] = []
        self._kinds_at: list[tuple[Hashable, ...]] = []
        self._element: dict[Value, int] = {}
        self._kinds: dict[Value, tuple[Hashable, ...]] = {}
        self._wildcards: dict[Hashable, int] = {}
        self._escaped: dict[Value, None] = {}
        self._written: dict[Node, list[Value]] = {}
        self._holds: dict[int, set[int]] = {}
        self._readers: dict[Value, list[Node | Block]] = {}
        self._body = block
        self._survey(block)
        for param in block.params:
            self._escape(param)
        self._block(block)
        self._leaves: dict[int, Places] = {}
        self._shared: dict[int, set[int]] = {}
        for value in self._escaped:
            wildcard = self._wildcard(self._kinds[value])
            self._shared.setdefault(wildcard, set()).update(self._reach(self._element[value]))

    # --- asking -------------------------------------------------------------------------------

    def places(self, value: Value) -> Places:
        """Where a value may lie; nowhere if it cannot change."""
        element = self._element.get(value)
        if element is None:
            return frozenset()
        found = self._reach(element)
        wildcard = self._wildcards.get(self._kinds[value])
        if wildcard is None or found.isdisjoint(self._shared.get(wildcard, ())):
            return found
        return found | {wildcard}

    def writes(self, node: Node) -> Places:
        """What a node may write, without its blocks."""
        values = self._written.get(node, ())
        return frozenset().union(*map(self.places, values)) if values else frozenset()

    def calls_write(self, node: Node) -> Places:
        """What a node may write that `writes` leaves out, since such nodes stay anyway: of a call
        whatever it is given, of a wait whatever a task may have."""
        if node.kind in draft.WAITS:
            return frozenset(self._wildcards.values())
        found: Iterable[Value] = node.inputs if node.kind in _CALLS else ()
        return frozenset().union(*map(self.reach, found))

    def reach(self, value: Value) -> Places:
        """Where a value may lie and what it may hold, and what that holds, and so on."""
        found, pending = set[int](), set[int]()
        if (element := self._element.get(value)) is not None:
            pending |= self._elements_behind(element)
        while pending:
            at = pending.pop()
            found.add(at)
            pending |= {w for w, shared in self._shared.items() if at in shared} - found
            for held in self._held(at):
                pending |= self._elements_behind(held) - found
        return frozenset(found)

    def _held(self, element: int) -> Iterable[int]:
        """What the container at an element holds: if it was not made here, what escaped."""
        if element in self._holds:
            return self._holds[element]
        own = self._kinds_at[element]
        inner = [kinds for kind in own for kinds in _inside(kind)]
        if any(isinstance(kind, ClassType | AnyType) for kinds in (own, *inner) for kind in kinds):
            return self._wildcards.values()
        return [self._wildcards[kinds] for kinds in inner if kinds in self._wildcards]

    def points_to(self, value: Value) -> list[Value | Hashable]:
        """The values, and types of wildcards, that a value points to at once."""
        element = self._element.get(value)
        aims = [] if element is None else self.named(self._points_to[element])
        return [*aims, self._kinds[value]] if value in self._escaped else aims

    def holds(self, value: Value) -> list[Value | Hashable]:
        """The values, and types of wildcards, that a container holds."""
        element = self._element.get(value)
        return [] if element is None else self.named(self._held(element))

    def named(self, elements: Iterable[int]) -> list[Value | Hashable]:
        """What elements are: values, or the types of wildcards."""
        names: dict[int, Value | Hashable] = {at: kinds for kinds, at in self._wildcards.items()}
        names |= {at: value for value, at in self._element.items()}
        return [names[at] for at in sorted(elements)]

    def is_wildcard(self, places: Places) -> bool:
        """Whether something outside may lie in one of the places."""
        return not places.isdisjoint(self._wildcards.values())

    def _reach(self, element: int) -> Places:
        """The places behind an element: those that point to nothing further."""
        if element not in self._leaves:
            behind = self._elements_behind(element)
            self._leaves[element] = frozenset(at for at in behind if not self._points_to[at])
        return self._leaves[element]

    def _elements_behind(self, element: int) -> set[int]:
        seen, pending = {element}, [element]
        while pending:
            new = self._points_to[pending.pop()] - seen
            seen |= new
            pending += new
        return seen

    # --- building -----------------------------------------------------------------------------

    def _survey(self, block: Block) -> None:
        for node in block.nodes:
            for value in node.inputs:
                self._readers.setdefault(value, []).append(node)
            for inner in node.blocks:
                self._survey(inner)
        for value in block.outputs:
            self._readers.setdefault(value, []).append(block)

    def _new(self, kinds: tuple[Hashable, ...]) -> int:
        """A new element; one of a union points to the wildcards of its members."""
        self._points_to.append(set())
        self._kinds_at.append(kinds)
        element = len(self._points_to) - 1
        if len(kinds) > 1:
            self._points_to[element].update([self._wildcard((kind,)) for kind in kinds])
        return element

    def _wildcard(self, kinds: tuple[Hashable, ...]) -> int:
        if kinds not in self._wildcards:
            self._wildcards[kinds] = self._new(kinds)
        return self._wildcards[kinds]

    def _fresh(self, value: Value) -> int | None:
        """The element of a value, made if need be; None if it cannot change."""
        if value not in self._element:
            kinds = _mutable(value.type)
            if not kinds:
                return None
            self._kinds[value] = kinds
            self._element[value] = self._new(kinds)
        return self._element[value]

    def _escape(self, value: Value) -> None:
        if self._fresh(value) is not None:
            self._wildcard(self._kinds[value])
            self._escaped[value] = None

    def _point(self, value: Value, target: Value) -> None:
        source, aim = self._fresh(value), self._fresh(target)
        if source is None or aim is None or _aliases_nothing(value) or _aliases_nothing(target):
            return
        if source != aim:
            self._points_to[source].add(aim)

    def _write(self, node: Node, value: Value) -> None:
        if self._fresh(value) is not None:
            self._written.setdefault(node, []).append(value)

    def _block(self, block: Block) -> None:
        for node in block.nodes:
            self._node(node)

    def _node(self, node: Node) -> None:
        if node.kind == draft.IF:
            self._if(node)
        elif node.kind == draft.LOOP:
            self._loop(node)
        elif node.kind in _NORMS:
            self._norm(node, *_NORMS[node.kind])
        elif node.kind in _FRESH:
            self._all_fresh(node.outputs)
        elif node.kind in _CONTAINERS:
            self._container(node)
        elif node.kind == "prim::unchecked_cast":
            self._point(node.output, node.inputs[0])
        elif node.kind in draft.WAITS:
            self._all_escape(node.outputs)
        elif node.kind == "prim::awaitable_nowait":
            self._all_escape(node.inputs)
            self._all_fresh(node.outputs)
        elif node.kind == "prim::SetAttr":
            self._write(node, node.inputs[0])
            self._escape(node.inputs[1])
        elif node.schema is not None:
            self._by_schema(node)
        elif node.kind not in _READERS:
            self._unknown(node)

    def _container(self, node: Node) -> None:
        made = self._fresh(node.output)
        if made is None:
            return
        if not self._keeps_to_itself(node.output):
            self._all_escape(node.inputs)
            return
        inputs = map(self._fresh, node.inputs)
        self._holds[made] = {element for element in inputs if element is not None}

    def _keeps_to_itself(self, container: Value) -> bool:
        """Whether nobody takes anything out of a container: it is returned, or its elements read
        by the one that reads it."""
        readers = self._readers.get(container, [])
        if len(readers) != 1:
            return False
        if isinstance(container.type, TupleType):
            return readers[0] is self._body
        reader = readers[0]
        if not (isinstance(container.type, ListType) and isinstance(reader, Node)):
            return False
        return reader.kind in _TAKE_LISTS

    def _all_fresh(self, values: Iterable[Value]) -> None:
        for value in values:
            self._fresh(value)

    def _all_escape(self, values: Iterable[Value]) -> None:
        for value in values:
            self._escape(value)

    def _unknown(self, node: Node) -> None:
        """What takes a composite apart, and calls: the worst is assumed."""
        if node.kind.startswith("prim::Call") or node.kind in _HAND_OVER:
            self._all_escape(node.inputs)
        if node.kind in draft.TASKS:
            self._all_fresh(node.outputs)
        else:
            self._all_escape(node.outputs)

    def _if(self, node: Node) -> None:
        for inner in node.blocks:
            self._block(inner)
        for at, out in enumerate(node.outputs):
            for inner in node.blocks:
                self._point(out, inner.outputs[at])

    def _loop(self, node: Node) -> None:
        body = node.blocks[0]
        for param, given in zip(body.params[1:], node.inputs[2:], strict=True):
            self._point(param, given)
        self._block(body)
        for out, result in zip(node.outputs, body.outputs[1:], strict=True):
            self._point(out, result)

    def _norm(self, node: Node, statistics: int, training: int) -> None:
        self._all_fresh(node.outputs)
        if not draft.is_bool_constant(node.inputs[training], False):
            for value in node.inputs[statistics : statistics + 2]:
                self._write(node, value)

    def _by_schema(self, node: Node) -> None:
        assert node.schema is not None
        bound: dict[tuple[str, ...], Value] = {}
        for formal, value in zip(node.schema.arguments, node.inputs, strict=False):
            alias = formal.alias
            if alias is None or alias.before in bound or self._fresh(value) is None:
                continue
            bound[alias.before] = value
            if alias.is_write:
                self._write(node, value)
            if alias.after == ("*",):
                self._escape(value)
        for result, value in zip(node.schema.returns, node.outputs, strict=False):
            self._result(value, result.alias, bound)

    def _result(
        self, value: Value, alias: Alias | None, bound: dict[tuple[str, ...], Value]
    ) -> None:
        if alias is not None and "*" in alias.before:
            self._escape(value)
            return
        self._fresh(value)
        for name in alias.before if alias is not None else ():
            if (name,) in bound:
                self._point(value, bound[name,])


def _aliases_nothing(value: Value) -> bool:
    if draft.is_constant(value):
        return draft.constant_of(value) is None
    return value.node is not None and value.node.kind == draft.UNINITIALIZED
