"""Constants are computed in a graph as TorchScript's `ConstantPropagation` does it.

    %k = aten::mul(%two, %three)      -->     %k = constant 6
    %y = ts.if %true {A} {B}          -->     the ops of A

What may be written is left alone: the whole memory of the graph is asked, or, for the pass of
immutable types, the types alone. A constant has the type of what it is, not the declared one.
The lowering folds by another rule (`lowering/ts/fold_constants.py`): it makes no constant of a
tensor that a caller might write.
"""

from __future__ import annotations

from dataclasses import field

from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.base.errors import TensorScriptError
from tensorscript.base.records import dataclass
from tensorscript.compiler.folding import NotConstant, literal_of
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import DictLiteral, ListLiteral
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    AnyType,
    DeviceType,
    EnumType,
    OptionalType,
    TupleType,
    UnionType,
)
from tensorscript.dialects.ts.typing import is_subtype
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script import draft
from tensorscript.frontends.script.dead_code import has_side_effects
from tensorscript.frontends.script.signature import constant_type
from tensorscript.frontends.trace.facts import type_of
from tensorscript.lowering.ts.aliases import is_random, schema_of
from tensorscript.lowering.ts.fold_constants import (
    constant_of,
    fold_if,
    fold_loop,
    is_small,
    replace_by_constant,
)
from tensorscript.runtime.interpreter import Interpreter

from .graph_dce import remove_dead
from .graph_memory import GraphMemory

_NEVER = (ts.ConstantOp, ts.UninitializedOp, ts.NodeOp, ts.CreateObjectOp, ts.GetAttrOp,
          ts.ReturnOp, ts.YieldOp, ts.TaskOp)  # fmt: skip
_NEVER_KINDS = frozenset({"aten::dequantize", "prim::unchecked_unwrap_optional"})
_IMMUTABLE = (BOOL, INT, FLOAT, COMPLEX, NUMBER, STRING, NONE)


def fold(function: ts.FuncOp, interpreter: Interpreter) -> bool:
    """Compute what is constant and never written, and remove what is dead then; whether anything
    was computed."""
    return _Fold(interpreter, GraphMemory(function)).run(function)


def fold_immutable(function: ts.FuncOp, interpreter: Interpreter) -> bool:
    """As `fold`, of types that cannot be written: numbers, strings, tuples of them."""
    return _Fold(interpreter, None).run(function)


@dataclass
class _Fold:
    """One run of the pass.

    Attributes:
        memory: of the function; without it only immutable types are folded.
    """

    interpreter: Interpreter
    memory: GraphMemory | None
    changed: bool = field(default=False)

    def run(self, function: ts.FuncOp) -> bool:
        self._block(function.block)
        if self.changed:
            remove_dead(function)
        return self.changed

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if op.parent is not None:
                self._op(op)

    def _op(self, op: Operation) -> None:
        if isinstance(op, ts.IfOp) and isinstance(op.condition.owner, ts.ConstantOp):
            self._block_chosen(op)
            return
        if isinstance(op, ts.LoopOp) and fold_loop(op):
            self.changed = True
            return
        for region in op.regions:
            self._block(region.block)
        if isinstance(op, ts.IfOp):
            self.changed |= fold_if(op)
        elif isinstance(op, ts.LoopOp):
            self.changed |= _drop_unchanged(op)
        elif self._is_computed(op):
            self._compute(op)

    def _block_chosen(self, op: ts.IfOp) -> None:
        """Fold the branch that runs, and put it in the place of the `if`."""
        chosen = op.true_region if constant_of(op.condition) else op.false_region
        self._block(chosen.block)
        self.changed |= fold_if(op)

    def _is_computed(self, op: Operation) -> bool:
        if isinstance(op, _NEVER) or op.regions or not op.results:
            return False
        if not all(map(_is_given, op.operands)) or not _is_run(op):
            return False
        if self.memory is None:
            return all(is_immutable(value.type) for value in (*op.operands, *op.results))
        return not self.memory.has_writers_of(op)

    def _compute(self, op: Operation) -> None:
        operands = [self.interpreter.constant(constant_of(v), v.type) for v in op.operands]
        try:
            values = self.interpreter.evaluate(op, operands)
        except TensorScriptError:
            # It fails when the program runs, and only if it is reached.
            return
        if any(isinstance(value, Tensor) and value.requires_grad for value in values):
            return
        for result, value in zip(op.results, values, strict=True):
            self._become(op, result, value)

    def _become(self, op: Operation, result: SSAValue, value: object) -> None:
        try:
            literal = _literal_of(value)
            type_ = _type_of(value, literal, result.type, op)
        except (NotConstant, TypeError):
            return
        if result.first_use is not None and is_small(op, [literal]):
            replace_by_constant(op, result, literal, type_)
            self.changed = True


def _literal_of(value: object) -> object:
    """As `literal_of`; a NamedTuple is one by its type alone.

    Raises:
        NotConstant: the value is no constant.
    """
    match value:
        case tuple():
            return tuple(map(_literal_of, value))
        case list():
            return ListLiteral(tuple(map(_literal_of, value)))
    return literal_of(value)


def _is_given(value: SSAValue) -> bool:
    """Whether a value is a constant, and no None where dead code would read something else."""
    if not isinstance(value.owner, ts.ConstantOp):
        return False
    is_nothing = value.owner.value.data is None
    return not is_nothing or value.type == NONE or isinstance(value.type, OptionalType | AnyType)


def _is_run(op: Operation) -> bool:
    """Whether an op can be run ahead: it does the same each time, and only computes."""
    if not isinstance(op, ts.OperatorOp):
        return isinstance(op, ts.TSOp) and not has_side_effects(draft.Node(op.node_kind))
    if op.node_kind in _NEVER_KINDS or is_random(op) or has_side_effects(draft.Node(op.node_kind)):
        return False
    found = schema_of(op)
    return found is not None and not found.is_vararg


def _type_of(value: object, literal: object, declared: Attribute, op: Operation) -> Attribute:
    """The type of a result as a constant.

    Raises:
        TypeError: it has none.
    """
    if isinstance(value, Tensor):
        return type_of(value)
    if value is None:
        return declared
    is_named = isinstance(declared, TupleType) and declared.class_name.data
    if isinstance(op, ts.TupleConstructOp) and not is_named:
        known = zip(op.operands, literal if isinstance(literal, tuple) else (), strict=True)
        return TupleType.of([NONE if held is None else part.type for part, held in known])
    kind = declared.element if isinstance(declared, OptionalType) else declared
    if not isinstance(kind, AnyType | UnionType) and kind != NUMBER:
        return kind
    if isinstance(op, ts.UncheckedCastOp):
        return op.argument.type
    if isinstance(literal, ListLiteral | DictLiteral) and isinstance(kind, UnionType):
        fitting = [each for each in kind.members if _may_be(literal, each)]
        if len(fitting) == 1:
            return fitting[0]
    return constant_type(literal)


def _may_be(literal: ListLiteral | DictLiteral, kind: Attribute) -> bool:
    try:
        return is_subtype(constant_type(literal, kind), kind)
    except TypeError:
        return False


def is_immutable(kind: Attribute) -> bool:
    """Whether nobody can write to values of a type."""
    match kind:
        case OptionalType():
            return is_immutable(kind.element)
        case TupleType():
            return all(map(is_immutable, kind.elements))
    return isinstance(kind, DeviceType | EnumType) or kind in _IMMUTABLE


def _drop_unchanged(op: ts.LoopOp) -> bool:
    """Read what goes into a loop for carried values that no turn changes."""
    last = op.body.block.last_op
    assert isinstance(last, ts.YieldOp)
    changed = False
    turns = zip(op.body.block.args[1:], last.values[1:], op.carried, op.outputs, strict=True)
    for start, end, before, after in list(turns):
        if start is end and (after.first_use is not None or start.uses.get_length() > 1):
            after.replace_all_uses_with(before)
            start.replace_uses_with_if(before, lambda use: use.operation is not last)
            changed = True
    return changed
