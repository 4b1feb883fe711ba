"""Operations that compute the same of the same operands become one (as TorchScript's CSE).

    %1 = aten::size(%x, %zero)          -->      %1 = aten::size(%x, %zero)
    %2 = aten::size(%x, %zero)          -->      (nothing; %1 is read for %2)

An op that reads memory is merged only in a function that never writes such memory, and one that
makes memory only if nobody can tell the two apart: nothing writes the second, and it does not leave
the function.
"""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    DictType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
)
from tensorscript.dialects.walks import walk_ops

from .aliases import fate_of, is_pure, schema_of, writes_statistics

Key: TypeAlias = tuple[object, ...]

_PLAIN = frozenset({INT, FLOAT, COMPLEX, BOOL, STRING, NONE, NUMBER, DEVICE})
_SHAPE_FACTS = frozenset({"aten::size", "aten::dim", "aten::len", "prim::dtype", "prim::device"})
"""Operators that read nothing of a tensor's elements."""

_RESHAPING = frozenset({"resize_", "resize_as_", "set_", "squeeze_", "unsqueeze_", "transpose_",
                        "t_", "swapaxes_", "swapdims_", "as_strided_"})  # fmt: skip
"""Operators that change the shape of the tensor that they write; those with `out` may, too."""

_STRUCTURE = (ts.IfOp, ts.LoopOp, ts.YieldOp, ts.ReturnOp, ts.PrintOp, ts.RaiseOp,
              ts.UninitializedOp, ts.GetAttrOp)  # fmt: skip
"""Ops that are not pure and write nothing."""


def merge_equal(function: ts.FuncOp) -> bool:
    """Merge what is equal; whether anything was."""
    merger = _Merger(_Writes.of(function))
    merger.block(function.block, {})
    return merger.changed


@dataclass
class _Writes:
    """What a function may write: elements of tensors, their shapes, contents of containers."""

    tensors: bool = False
    shapes: bool = False
    containers: bool = False

    @staticmethod
    def of(function: ts.FuncOp) -> _Writes:
        out = _Writes()
        for op in walk_ops(function):
            if op is not function:
                out.note(op)
        return out

    def note(self, op: Operation) -> None:
        if isinstance(op, _STRUCTURE) or (is_pure(op) and not writes_statistics(op)):
            return
        if isinstance(op, ts.SetAttrOp):
            self.containers = True
            return
        found = schema_of(op) if isinstance(op, ts.OperatorOp) else None
        if found is None:
            self.tensors = self.shapes = self.containers = True
            return
        self.tensors |= writes_statistics(op)
        for argument, value in zip(found.arguments, op.operands, strict=False):
            if argument.alias is not None and argument.alias.is_write:
                is_container = isinstance(value.type, ListType | DictType)
                self.containers |= is_container
                self.tensors |= not is_container
                self.shapes |= found.base_name in _RESHAPING or argument.name == "out"


@dataclass
class _Merger:
    """Goes through blocks; an op is known to all that it dominates."""

    writes: _Writes
    changed: bool = False

    def block(self, block: Block, outer: dict[Key, Operation]) -> None:
        known = dict(outer)
        for op in list(block.ops):
            for region in op.regions:
                self.block(region.block, known)
            if not self._may_merge(op):
                continue
            key = key_of(op)
            if key is None:
                continue
            first = known.setdefault(key, op)
            if first is not op and all(map(self._is_replaceable, op.results)):
                self._merge(op, first)

    def _merge(self, op: Operation, first: Operation) -> None:
        for result, value in zip(op.results, first.results, strict=True):
            result.replace_all_uses_with(value)
        Rewriter.erase_op(op)
        self.changed = True

    def _may_merge(self, op: Operation) -> bool:
        if not op.results or isinstance(op, ts.GetAttrOp) or not is_pure(op):
            return False
        if writes_statistics(op):
            return False
        if isinstance(op, ts.ConstantOp):
            return not _is_memory(op.result.type)
        if isinstance(op, ts.OperatorOp) and op.node_kind in _SHAPE_FACTS:
            is_container = any(isinstance(o.type, ListType | DictType) for o in op.operands)
            return not self.writes.shapes and not is_container
        return all(map(self._is_still, op.operands))

    def _is_still(self, operand: SSAValue) -> bool:
        """Whether what an operand holds is the same wherever the function reads it."""
        if not _is_memory(operand.type):
            return True
        if isinstance(operand.type, TensorType):
            return not self.writes.tensors
        if isinstance(operand.type, ListType):
            made = isinstance(operand.owner, ts.ListConstructOp | ts.ConstantOp)
            if made and not _holds_tensors(operand.type):
                fate = fate_of(operand)
                return not fate.written and not fate.leaves
        return not (self.writes.tensors or self.writes.containers)

    def _is_replaceable(self, result: SSAValue) -> bool:
        if not _is_memory(result.type):
            return True
        fate = fate_of(result)
        return not fate.written and not fate.leaves


def _is_memory(type_: Attribute) -> bool:
    """Whether values of a type have contents that may change, or an identity."""
    inner = type_.element if isinstance(type_, OptionalType) else type_
    if isinstance(inner, TupleType):
        return any(map(_is_memory, inner.elements))
    return inner not in _PLAIN


def _holds_tensors(type_: ListType) -> bool:
    return _is_memory(type_.element)


def key_of(op: Operation) -> Key | None:
    """What equal ops have in common; None for what has no such key."""
    types = tuple(result.type for result in op.results)
    if isinstance(op, ts.ConstantOp):
        data = op.value.data
        # 1, 1.0 and True are equal in Python, and so are 0.0 and -0.0.
        return (type(op), type(data), repr(data), types)
    named = tuple(sorted((name, str(value)) for name, value in op.properties.items()))
    return (type(op), named, tuple(op.operands), types)
