"""Attributes of a module that its methods never change become constants.

    %fc = ts.get_attr %self "fc"            -->      %w = constant <tensor>
    %w = ts.get_attr %fc "weight"

The module's tree is known while its methods are frozen: `self` is its root, and reading a submodule
from a known module gives a known module. An attribute stays what it is if a preserved method sets
it, may write its memory, or if its object goes where it cannot be followed (a container).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

import numpy as np
from xdsl.ir import BlockArgument, Operation, SSAValue

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import (
    DictLiteral,
    ListLiteral,
    QuantizedLiteral,
    SparseLiteral,
    TensorLiteral,
)
from tensorscript.dialects.ts.types import (
    BoolType,
    ComplexType,
    DeviceType,
    EnumType,
    FloatType,
    IntType,
    NoneType,
    StringType,
)
from tensorscript.dialects.ts.value_names import set_hint
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.ts_to_tg.values import ObjectValue

from .aliases import fate_of
from .constant_types import constant_type
from .inline import declared_class, inline_in_place

_IMMUTABLE = (
    BoolType,
    IntType,
    FloatType,
    ComplexType,
    StringType,
    NoneType,
    DeviceType,
    EnumType,
)

Place = tuple[int, str]
"""An attribute: the identity of its object, and its name."""


@dataclass
class ModuleTree:
    """A module while its methods are frozen.

    Attributes:
        root: what `self` is, the first argument of every method.
        functions: all functions by name.
        kept: attributes that stay attributes where they are read.
        asked: attributes that stay even if nothing reads them.
        whole: identities of objects that stay as they are, with all that is below them.
        tasks: functions that forks run, and which objects their arguments are.
        owners: methods of submodules that are frozen, too, and whose they are.
    """

    root: ObjectValue
    functions: Mapping[str, ts.FuncOp]
    kept: set[Place] = field(default_factory=set)
    asked: set[Place] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)
    tasks: dict[ts.FuncOp, tuple[ObjectValue | None, ...]] = field(default_factory=dict)
    owners: dict[ts.FuncOp, ObjectValue] = field(default_factory=dict)

    def object_of(self, value: SSAValue) -> ObjectValue | None:
        """The object that a value is, if it is a known one."""
        if isinstance(value, BlockArgument):
            parent = value.block.parent_op()
            if not isinstance(parent, ts.FuncOp):
                return None
            if (given := self.tasks.get(parent)) is not None:
                return given[value.index]
            is_self = value.index == 0
            return self.owners.get(parent, self.root) if is_self else None
        owner = value.owner
        if isinstance(owner, ts.ModuleContainerIndexOp):
            return None
        if not isinstance(owner, ts.GetAttrOp):
            return None
        holder = self.object_of(owner.object)
        found = None if holder is None else holder.attributes.get(owner.attribute.data)
        return found if isinstance(found, ObjectValue) else None

    def class_of(self, value: SSAValue) -> str:
        """The class of an object: its own if it is known, else the declared one."""
        found = self.object_of(value)
        return declared_class(value) if found is None else found.class_name

    def inlined(self, method: ts.FuncOp, owner: ObjectValue | None = None) -> ts.FuncOp:
        """A copy of a method with everything it calls in place.

        Args:
            owner: whose method it is, if not the root's.
        """
        copy = method.clone()
        if owner is not None:
            self.owners[copy] = owner
        inline_in_place(copy, self.functions, self.class_of)
        return copy

    def keep_set(self, methods: Iterable[ts.FuncOp]) -> None:
        """Add to `kept` what inlined methods set, and objects that they hand out of sight."""
        for method in methods:
            for op in walk_ops(method):
                if isinstance(op, ts.SetAttrOp):
                    target = self.object_of(op.object)
                    if target is not None:
                        self.kept.add((id(target), op.attribute.data))
                elif not isinstance(op, ts.GetAttrOp) and not self._is_task(op):
                    for operand in op.operands:
                        if (target := self.object_of(operand)) is not None:
                            self.keep_whole(target)

    def _is_task(self, op: Operation) -> bool:
        """Whether an op runs a function that is frozen with the methods."""
        return isinstance(op, ts.TaskOp) and any(
            task.sym_name.data == op.callee.data for task in self.tasks
        )

    def keep_written(self, methods: Iterable[ts.FuncOp], in_evaluation: bool = False) -> None:
        """Add to `kept` the tensors and containers that inlined methods may write.

        Args:
            in_evaluation: see `fate_of`.
        """
        for method in methods:
            for op in walk_ops(method):
                if not isinstance(op, ts.GetAttrOp) or isinstance(op.result.type, _IMMUTABLE):
                    continue
                holder = self.object_of(op.object)
                is_object = self.object_of(op.result) is not None
                if holder is None or is_object:
                    continue
                fate = fate_of(op.result, in_evaluation)
                # Who waits for a task may write what the task returns.
                if fate.written or (fate.leaves and method in self.tasks):
                    self.kept.add((id(holder), op.attribute.data))
        self._keep_shared()

    def keep(self, path: str) -> None:
        """Keep an attribute by its dotted path.

        Raises:
            LookupError: there is none.
        """
        owner, _, name = path.rpartition(".")
        holder = self.keep_object(owner)
        if name not in holder.attributes:
            raise LookupError(path)
        self.kept.add((id(holder), name))
        self.asked.add((id(holder), name))
        if isinstance(value := holder.attributes[name], ObjectValue):
            self.keep_whole(value)

    def keep_object(self, path: str) -> ObjectValue:
        """Keep the object at a dotted path, and nothing in it; the root has an empty one.

        Raises:
            LookupError: there is none.
        """
        found, passed = self.root, set()
        for name in path.split(".") if path else ():
            value = found.attributes.get(name)
            if not isinstance(value, ObjectValue):
                raise LookupError(path)
            passed.add((id(found), name))
            found = value
        self.asked |= passed
        return found

    def keep_whole(self, target: ObjectValue) -> None:
        """Keep an object that is out of sight, and everything below it."""
        if id(target) in self.whole:
            return
        self.whole.add(id(target))
        for name, value in target.attributes.items():
            self.kept.add((id(target), name))
            if isinstance(value, ObjectValue):
                self.keep_whole(value)

    def read_by(self, methods: Iterable[ts.FuncOp]) -> set[Place]:
        """The attributes that frozen methods still read or set."""
        out: set[Place] = set()
        for method in methods:
            for op in walk_ops(method):
                if isinstance(op, ts.GetAttrOp | ts.SetAttrOp):
                    holder = self.object_of(op.object)
                    if holder is not None:
                        out.add((id(holder), op.attribute.data))
        return out

    def _keep_shared(self) -> None:
        """Keep what shares memory with something that may be written."""
        places = list(_tensors(self.root))
        written = [held for place, held in places if place in self.kept]
        for place, held in places:
            if any(np.may_share_memory(held.array, other.array) for other in written):
                self.kept.add(place)

    def fold_attributes(self, method: ts.FuncOp, only_numbers: bool = False) -> None:
        """Replace the attributes of an inlined method that are not kept by constants.

        Args:
            only_numbers: and strings and the like: what cannot be written in place.
        """
        made: dict[Place, SSAValue] = {}
        for op in list(walk_ops(method)):
            if not isinstance(op, ts.GetAttrOp):
                continue
            holder, name = self.object_of(op.object), op.attribute.data
            if holder is None or (id(holder), name) in self.kept or name not in holder.attributes:
                continue
            value = holder.attributes[name]
            is_later = only_numbers and not isinstance(op.result.type, _IMMUTABLE)
            if is_later or not _is_foldable(value):
                continue
            place = id(holder), name
            if place not in made:
                made[place] = _constant(method, _path(op), value, op)
            op.result.replace_all_uses_with(made[place])


def _constant(method: ts.FuncOp, path: str, value: object, read: ts.GetAttrOp) -> SSAValue:
    """A constant in front of everything, named by the path of its attribute."""
    literal = _literal(value)
    op = ts.ConstantOp(literal, constant_type(literal, read.result.type))
    set_hint(op.result, path if SSAValue.is_valid_name(path) else None)
    first = method.block.first_op
    assert first is not None
    method.block.insert_op_before(op, first)
    return op.result


def _path(op: ts.GetAttrOp) -> str:
    names = [op.attribute.data]
    while isinstance(op.object.owner, ts.GetAttrOp):
        op = op.object.owner
        names.append(op.attribute.data)
    return ".".join(["self", *reversed(names)])


def _is_foldable(value: object) -> bool:
    match value:
        case ObjectValue() | QuantizedLiteral() | SparseLiteral():  # constants are plain
            return False
        case list() | tuple():
            return not hasattr(value, "_fields") and all(map(_is_foldable, value))
        case dict():
            return all(map(_is_foldable, value.values()))
    return True


def _literal(value: object) -> object:
    """An attribute's value as a constant; weights are no parameters any more."""
    match value:
        case TensorLiteral():
            return TensorLiteral(value.array, value.dtype)
        case list():
            return ListLiteral(tuple(map(_literal, value)))
        case tuple():
            return tuple(map(_literal, value))
        case dict():
            return DictLiteral(tuple((k, _literal(v)) for k, v in value.items()))
    return value


def _tensors(root: ObjectValue) -> Iterator[tuple[Place, TensorLiteral]]:
    """Every tensor in an attribute of the tree, also inside containers."""
    seen: set[int] = set()
    objects = [root]
    while objects:
        target = objects.pop()
        if id(target) in seen:
            continue
        seen.add(id(target))
        for name, value in target.attributes.items():
            for held in leaves_of(value):
                if isinstance(held, ObjectValue):
                    objects.append(held)
                elif isinstance(held, QuantizedLiteral):
                    yield (id(target), name), held.integers
                elif isinstance(held, TensorLiteral):
                    yield (id(target), name), held


def leaves_of(value: object) -> Iterator[object]:
    """What a value holds that is no container; itself, if it is none."""
    match value:
        case list() | tuple():
            for item in value:
                yield from leaves_of(item)
        case dict():
            for item in value.values():
                yield from leaves_of(item)
        case _:
            yield value
