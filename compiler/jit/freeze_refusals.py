"""What TorchScript's freezing refuses, in its words and its order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from xdsl.ir import Block, Operation

from tensorscript.base.array_memory import owner
from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.types import InterfaceType
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.lowering.ts.aliases import fate_of, schema_of
from tensorscript.lowering.ts.freeze import ModuleTree, leaves_of

ClassOf = Callable[[str], ClassInfo]


def refuse_self(forward: ts.FuncOp) -> None:
    """Refuse a module whose `forward` gives the module itself.

    Raises:
        GuardError: it does.
    """
    if any(value.type == forward.block.args[0].type for value in forward.return_op.values):
        raise GuardError("attempted to freeze a module that return itself")


def refuse_interfaces(
    tree: ModuleTree, methods: Iterable[ts.FuncOp], class_of: ClassOf, allowed: bool
) -> None:
    """Refuse modules behind interfaces that are exchanged.

    Args:
        allowed: interfaces that are only read are fine.

    Raises:
        GuardError: one is set, or read although that is not allowed.
    """
    for op in _all_operations(methods):
        if not isinstance(op, ts.SetAttrOp | ts.GetAttrOp):
            continue
        holder, name = tree.object_of(op.object), op.attribute.data
        if holder is None or not _is_interface(class_of(holder.class_name), name):
            continue
        if isinstance(op, ts.SetAttrOp):
            raise GuardError(
                "Freezing does not support SetAttr on an interface type. SetAttr is attempted on "
                f"'{name}'"
            )
        if not allowed:
            raise GuardError("attempted to freeze a module that uses interface attributes")


def refuse_structure(tree: ModuleTree, methods: Iterable[ts.FuncOp]) -> None:
    """Refuse modules chosen by the program, and attributes that hold each other's tensors.

    Raises:
        GuardError: there are some.
    """
    seen = _Seen(tree)
    for op in _all_operations(methods):
        if isinstance(op, ts.ModuleContainerIndexOp):
            raise GuardError(
                "Freezing modules containing prim::ModuleContainerIndex is not supported"
            )
        if isinstance(op, ts.SetAttrOp | ts.GetAttrOp):
            seen.meet(op)
    seen.refuse_overlaps()


def _is_interface(info: ClassInfo, name: str) -> bool:
    return isinstance(info.attributes.get(name), InterfaceType)


def _all_operations(methods: Iterable[ts.FuncOp]) -> Iterator[Operation]:
    for method in methods:
        yield from _operations(method.block)


def _operations(block: Block) -> Iterator[Operation]:
    """The operations of a block, and then those of the blocks within, the last one first."""
    inner = [region.block for op in block.ops for region in op.regions]
    yield from block.ops
    for each in reversed(inner):
        yield from _operations(each)


class _Seen:
    """The attributes that methods use, as TorchScript comes to know them one by one.

    What is written counts as an attribute that stays, and so does what shares its memory; the
    tensors of all other attributes must be apart. Of a container TorchScript sees the writes to
    itself, and not those to what it holds.
    """

    def __init__(self, tree: ModuleTree) -> None:
        self._tree = tree
        self._used: dict[int, object] = {}
        self._written: list[object] = []

    def meet(self, op: ts.GetAttrOp | ts.SetAttrOp) -> None:
        holder = self._tree.object_of(op.object)
        value = None if holder is None else holder.attributes.get(op.attribute.data)
        if not isinstance(value, TensorLiteral | list | dict | tuple):
            return
        if any(_overlap(value, other) for other in self._written):
            return
        if isinstance(op, ts.GetAttrOp):
            self._used.setdefault(_identity(value), value)
        if isinstance(op, ts.SetAttrOp) or _is_written(op, value):
            self._written.append(value)

    def refuse_overlaps(self) -> None:
        known: list[TensorLiteral] = []
        for value in self._used.values():
            held = _tensors(value)
            if any(_share(mine, other) for mine in held for other in known):
                raise GuardError("module contains attributes values that overlaps")
            known += held


def _identity(value: object) -> int:
    """Tensors of one storage are one attribute, containers are themselves."""
    return id(owner(value.array)) if isinstance(value, TensorLiteral) else id(value)


def _is_written(op: ts.GetAttrOp, value: object) -> bool:
    if isinstance(value, TensorLiteral):
        return fate_of(op.result, in_evaluation=True).written
    for use in op.result.uses:
        found = schema_of(use.operation) if isinstance(use.operation, ts.OperatorOp) else None
        if found is not None and not found.is_vararg and use.index < len(found.arguments):
            alias = found.arguments[use.index].alias
            if alias is not None and alias.is_write:
                return True
    return False


def _tensors(value: object) -> list[TensorLiteral]:
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, TensorLiteral)]


def _overlap(one: object, other: object) -> bool:
    if one is other:
        return True
    return any(_share(mine, theirs) for mine in _tensors(one) for theirs in _tensors(other))


def _share(one: TensorLiteral, other: TensorLiteral) -> bool:
    """Whether tensors are of one storage, even where they are apart in it."""
    mine, theirs = owner(one.array), owner(other.array)
    return mine is theirs or bool(np.may_share_memory(mine, theirs))
