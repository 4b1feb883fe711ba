"""Graphs without calls as TorchScript shows them.

What a function calls is simplified before it takes the place of the call: calls in it are inlined,
numbers and strings that are known are computed, branches on them vanish. The function itself is
left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.compiler.folding import evaluated
from tensorscript.dialects.ts.ops import (
    ConstantOp,
    FuncOp,
    GetAttrOp,
    IfOp,
    OperatorOp,
    UninitializedOp,
    YieldOp,
)
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    DeviceType,
    OptionalType,
    TupleType,
)
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.ts.dce import remove_dead_code
from tensorscript.lowering.ts.fold_constants import FoldConstants
from tensorscript.lowering.ts.inline import inline_calls, inline_in_place
from tensorscript.lowering.ts.peephole import simplify_patterns
from tensorscript.runtime.interpreter import Interpreter

_IMMUTABLE = (BOOL, INT, FLOAT, COMPLEX, NUMBER, STRING, NONE)

_OF_ANY_NUMBER = frozenset({"aten::format"})
_DIMS_OF_CONVOLVED = {"aten::conv1d": 3, "aten::conv2d": 4, "aten::conv3d": 5}


class Simplified(Mapping[str, FuncOp]):
    """The functions of a program, simplified when they are first asked for.

    Args:
        interpreter: knows the functions, and computes what is constant.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._made: dict[str, FuncOp] = {}

    def __getitem__(self, name: str) -> FuncOp:
        if name not in self._made:
            self._made[name] = self._simplified(self._interpreter.functions[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._interpreter.functions)

    def __len__(self) -> int:
        return len(self._interpreter.functions)

    def _simplified(self, function: FuncOp) -> FuncOp:
        made = inline_calls(function, self, is_deep=False)
        # What is dead stays where nothing else changes.
        if any([known_values(made), simplify_patterns(made, tuples=False)]):
            remove_dead(made)
        if FoldConstants(partial(evaluated_immutable, interpreter=self._interpreter))(made):
            remove_dead(made)
        return made


def evaluated_immutable(op: Operation, interpreter: Interpreter) -> Sequence[object] | None:
    """The results of an op on constants, of types that nobody can write to; None for others."""
    values = (*op.operands, *op.results)
    if not all(_is_immutable(value.type) for value in values) or _takes_any_number(op):
        return None
    return evaluated(op, interpreter)


def _is_immutable(kind: Attribute) -> bool:
    match kind:
        case OptionalType():
            return _is_immutable(kind.element)
        case TupleType():
            return all(map(_is_immutable, kind.elements))
    return isinstance(kind, DeviceType) or kind in _IMMUTABLE


def _takes_any_number(op: Operation) -> bool:
    return isinstance(op, OperatorOp) and op.node_kind in _OF_ANY_NUMBER


def known_values(function: FuncOp) -> bool:
    """What is known without computing becomes a constant or another value."""
    changed = False
    for op in list(walk_ops(function)):
        if not any(result.first_use is not None for result in op.results):
            continue
        if isinstance(op, GetAttrOp | UninitializedOp) and op.result.type == NONE:
            _become_constant(op, None)
        elif isinstance(op, OperatorOp) and op.node_kind == "aten::dim" and _is_convolved(op):
            _become_constant(op, _DIMS_OF_CONVOLVED[_kind_of(op.arguments[0])])
        elif (left := _left_number(op)) is not None:
            op.results[0].replace_all_uses_with(left)
        else:
            continue
        changed = True
    return changed


def _kind_of(value: SSAValue) -> str:
    return value.owner.node_kind if isinstance(value.owner, OperatorOp) else ""


def _is_convolved(op: OperatorOp) -> bool:
    return _kind_of(op.arguments[0]) in _DIMS_OF_CONVOLVED


_NEUTRAL = {"aten::add": 0, "aten::sub": 0, "aten::mul": 1, "aten::floordiv": 1}
"""Operators on ints to the second argument that leaves the first one as it is."""

_COMMUTATIVE = frozenset({"aten::add", "aten::mul"})


def _left_number(op: Operation) -> SSAValue | None:
    """The argument that an op on ints gives back, if the other one is neutral."""
    if not isinstance(op, OperatorOp) or op.node_kind not in _NEUTRAL or len(op.arguments) != 2:
        return None
    if any(value.type != INT for value in (*op.arguments, *op.outputs)):
        return None
    first, second = op.arguments
    neutral = _NEUTRAL[op.node_kind]
    if _is_number(second, neutral):
        return first
    return second if op.node_kind in _COMMUTATIVE and _is_number(first, neutral) else None


def _is_number(value: SSAValue, wanted: int) -> bool:
    return isinstance(value.owner, ConstantOp) and value.owner.value.data == wanted


def _become_constant(op: Operation, value: object) -> None:
    made = ConstantOp(value, op.results[0].type)
    made.location = op.location
    _block_of(op).insert_op_before(made, op)
    op.results[0].replace_all_uses_with(made.result)


def _block_of(op: Operation) -> Block:
    block = op.parent_block()
    assert block is not None
    return block


def remove_dead(function: FuncOp) -> None:
    """Remove dead code, and the results of branches that nobody reads."""
    remove_dead_code(function)
    while any([_narrowed(op) for op in list(walk_ops(function)) if isinstance(op, IfOp)]):
        remove_dead_code(function)


def _narrowed(op: IfOp) -> bool:
    """Replace a branch by one with the results that are read; whether it had others."""
    read = [at for at, output in enumerate(op.outputs) if output.uses.get_length()]
    if len(read) == len(op.outputs):
        return False
    branches = [op.detach_region(region) for region in (op.true_region, op.false_region)]
    for branch in branches:
        last = branch.block.last_op
        assert isinstance(last, YieldOp)
        values = list(last.values)
        last.operands = [values[at] for at in read]
    outputs = [op.outputs[at] for at in read]
    made = IfOp(op.condition, [output.type for output in outputs], *branches)
    made.location = op.location
    _block_of(op).insert_op_before(made, op)
    for output, result in zip(outputs, made.outputs, strict=True):
        result.name_hint = output.name_hint
        output.replace_all_uses_with(result)
    op.detach()
    op.erase()
    return True


def inline(function: FuncOp, interpreter: Interpreter) -> None:
    """As `inlined`, without a copy."""
    inline_in_place(function, Simplified(interpreter), is_deep=False)


def inlined(function: FuncOp, interpreter: Interpreter) -> FuncOp:
    """A copy of a function with every call replaced by what it calls."""
    return inline_calls(function, Simplified(interpreter), is_deep=False)
