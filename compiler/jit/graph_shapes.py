"""What is known of the tensors of a graph: their dtypes, sizes and strides.

    graph(%x : Float(2, 3)):                     graph(%x : Float(2, 3)):
      %y : Tensor = aten::neg(%x)      -->         %y : Float(2, 3) = aten::neg(%x)

Operators are run on stand-ins, in several trials: tensors of the types that are known, where a size
is not known of another one in each trial, filled with other elements. What the results of all
trials agree on holds for any: so no operator needs a rule, and a size that depends on elements is
not taken for known. A trial in which an operator fails says nothing of it. Where ways meet, what
holds on both stays.

Memory may be given other sizes in place (`resize_`, `t_`, `out=`). The types hold at any time, so
nothing is said of what may lie in such memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import reduce
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.base.dtypes import BY_NAME, Category
from tensorscript.base.errors import TensorScriptError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    TENSOR,
    TensorInfo,
    TensorType,
    TupleType,
)
from tensorscript.dialects.walks import walk_ops
from tensorscript.eager.kernels.creation import strided
from tensorscript.eager.memory_format import dense_strides, row_order
from tensorscript.eager.random_state import fork_rng
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script import draft
from tensorscript.frontends.script.dead_code import has_side_effects
from tensorscript.frontends.script.memory import Places
from tensorscript.frontends.trace.facts import type_of
from tensorscript.lowering.ts.aliases import schema_of
from tensorscript.lowering.ts.fold_constants import constant_of
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.rules import yielded

from .graph_memory import GraphMemory

_RESHAPING = frozenset({
    "aten::resize_", "aten::resize_as_", "aten::set_", "aten::set_data", "aten::as_strided_",
    "aten::t_", "aten::transpose_", "aten::swapaxes_", "aten::swapdims_", "aten::squeeze_",
    "aten::unsqueeze_", "aten::detach_",
})  # fmt: skip
"""Operators that give a tensor other sizes or another memory; those with `out` do so, too."""


def known_types(function: ts.FuncOp, interpreter: Interpreter) -> dict[SSAValue, Attribute]:
    """The types of the tensors in a function, and of tuples of them, by what its inputs are.

    Args:
        interpreter: of its module; runs the operators.
    """
    shapes = _Shapes(interpreter, GraphMemory(function))
    shapes.run(function)
    return shapes.types


@dataclass(frozen=True)
class _Trial:
    """What stands in for values that are not known.

    Attributes:
        elements: of tensors, repeated as often as they are needed.
        size: of dimensions.
        rank: of tensors.
    """

    elements: tuple[int, ...]
    size: int
    rank: int
    number: int
    flag: bool


_TRIALS = (
    _Trial((0,), size=1, rank=1, number=1, flag=False),
    _Trial((1,), size=2, rank=2, number=2, flag=True),
    _Trial((0, 1, 2, 3, 4, 5, 6), size=3, rank=3, number=0, flag=False),
)


_DIFFERENTIABLE = (Category.FLOATING, Category.COMPLEX)


class _Unknown(Exception):
    """Nothing can stand in for a value."""


@dataclass
class _Shapes:
    """One run of the pass.

    Attributes:
        types: of the values that something is known of.
        values: what the program computes in each trial, as far as it is no tensor.
        certain: those of them that are the same in all trials, whatever the inputs are.
        reshaped: the memory that is given other sizes.
    """

    interpreter: Interpreter
    memory: GraphMemory
    types: dict[SSAValue, Attribute] = field(default_factory=dict)
    values: list[dict[SSAValue, Any]] = field(default_factory=lambda: [{} for _ in _TRIALS])
    certain: set[SSAValue] = field(default_factory=set)
    reshaped: Places = frozenset()

    def run(self, function: ts.FuncOp) -> None:
        self.reshaped = self.memory.written_by_any(filter(_gives_other_sizes, walk_ops(function)))
        for value in function.block.args:
            self._note(value, value.type)
        with fork_rng(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._block(function.block)

    def type_of(self, value: SSAValue) -> Attribute:
        return self.types.get(value, TENSOR if isinstance(value.type, TensorType) else value.type)

    def _note(self, value: SSAValue, found: Attribute) -> bool:
        """Note the type of a value; whether that is news."""
        if isinstance(found, TensorType) and self.memory.lies_in(value, self.reshaped):
            found = TENSOR
        is_news = self.type_of(value) != found
        self.types[value] = found
        return is_news

    # -- the program -----------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case ts.ConstantOp():
                if isinstance(op.result.type, TensorType):
                    self._note(op.result, type_of(self.interpreter.constant(op.value.data)))
            case ts.IfOp():
                self._if(op)
            case ts.LoopOp():
                self._loop(op)
            case ts.TupleConstructOp():
                self._tuple(op)
            case ts.TupleUnpackOp():
                self._unpack(op)
            case ts.UncheckedCastOp():
                found = self.type_of(op.argument)
                if isinstance(op.result.type, TensorType) and isinstance(found, TensorType):
                    self._note(op.result, found)
            case ts.OperatorOp() | ts.ListUnpackOp():
                self._compute(op)

    def _if(self, op: ts.IfOp) -> None:
        for region in (op.true_region, op.false_region):
            self._block(region.block)
        first, second = (yielded(r.block) for r in (op.true_region, op.false_region))
        for output, one, other in zip(op.outputs, first, second, strict=True):
            self._note(output, _joined(self.type_of(one), self.type_of(other), output.type))

    def _loop(self, op: ts.LoopOp) -> None:
        formals, last = op.body.block.args[1:], yielded(op.body.block)[1:]
        for formal, start in zip(formals, op.carried, strict=True):
            self._note(formal, _joined(self.type_of(start), self.type_of(start), formal.type))
        is_news = True
        while is_news:
            self._block(op.body.block)
            ends = zip(formals, last, strict=True)
            is_news = any([self._note(at, self._widened(at, end)) for at, end in ends])
        for output, formal in zip(op.outputs, formals, strict=True):
            self._note(output, self.type_of(formal))

    def _widened(self, formal: SSAValue, end: SSAValue) -> Attribute:
        return _joined(self.type_of(formal), self.type_of(end), formal.type)

    def _tuple(self, op: ts.TupleConstructOp) -> None:
        known = op.result.type
        if isinstance(known, TupleType) and not known.class_name.data:
            self._note(op.result, known.with_elements(map(self.type_of, op.arguments)))

    def _unpack(self, op: ts.TupleUnpackOp) -> None:
        found = self.type_of(op.argument)
        if isinstance(found, TupleType):
            for output, kind in zip(op.outputs, found.elements, strict=True):
                self._note(output, kind)

    # -- operators -------------------------------------------------------------------------------

    def _compute(self, op: Operation) -> None:
        found = list(self._results(op)) if _is_run(op) else []
        is_certain = len(found) > 1 and all(map(self._is_certain, op.operands))
        for at, output in enumerate(op.results):
            made = [results[at] for results in found]
            if isinstance(output.type, TensorType):
                self._note(output, self._agreed(op, made, is_certain))
            elif is_certain and _are_equal(made):
                self.certain.add(output)

    def _agreed(self, op: Operation, made: Sequence[object], is_certain: bool) -> TensorType:
        """What the results of an operator have in common; sizes, if none was made up for it."""
        types = [type_of(result) for result in made if isinstance(result, Tensor)]
        if not types or len(types) < len(made):
            return TENSOR
        info = replace(reduce(_common, types).info, requires_grad=self._requires_grad(op))
        if is_certain:
            return TensorType(info)
        ranked = all(self._info(value).rank is not None for value in _tensors(op.operands))
        is_made_up = len(made) == 1 and not ranked
        return TensorType(
            replace(info, sizes=None, strides=None) if is_made_up else info.without_sizes()
        )

    def _is_certain(self, value: SSAValue) -> bool:
        """Whether what stands in for a value is not made up, but for the elements of tensors."""
        if isinstance(value.type, TensorType):
            sizes = self._info(value).sizes
            return sizes is not None and None not in sizes
        if isinstance(value.owner, ts.ListConstructOp):
            return all(map(self._is_certain, value.owner.arguments))
        return isinstance(value.owner, ts.ConstantOp) or value in self.certain

    def _results(self, op: Operation) -> Iterator[list[Any]]:
        """The results of an operator in each trial that it gets through."""
        for trial, values in zip(_TRIALS, self.values, strict=True):
            for output in op.results:
                values.pop(output, None)
            try:
                operands = [self._stand_in(value, trial, values) for value in op.operands]
                results = self.interpreter.evaluate(op, operands)
            except (_Unknown, TensorScriptError):
                continue
            pairs = zip(op.results, results, strict=True)
            values.update((o, r) for o, r in pairs if self._is_kept(o, r))
            yield results

    def _is_kept(self, value: SSAValue, result: object = None) -> bool:
        """Whether a value stays what it was when it was made; tensors are made anew."""
        return not isinstance(result, Tensor) and not self.memory.has_writers(value)

    def _stand_in(self, value: SSAValue, trial: _Trial, values: dict[SSAValue, Any]) -> Any:
        """Something that a value may be.

        Raises:
            _Unknown: there is nothing.
        """
        if value in values:
            return list(values[value]) if isinstance(values[value], list) else values[value]
        if isinstance(value.owner, ts.ConstantOp) and not isinstance(value.type, TensorType):
            return self.interpreter.constant(constant_of(value), value.type)
        if isinstance(value.owner, ts.ListConstructOp) and self._is_kept(value):
            return [self._stand_in(each, trial, values) for each in value.owner.arguments]
        match value.type:
            case TensorType():
                return _tensor(self._info(value), trial)
            case kind if kind in (INT, NUMBER):
                return trial.number
            case kind if kind == FLOAT:
                return trial.number + 0.5
            case kind if kind == COMPLEX:
                return complex(trial.number)
            case kind if kind == BOOL:
                return trial.flag
            case kind if kind == NONE:
                return None
        raise _Unknown

    def _info(self, value: SSAValue) -> TensorInfo:
        found = self.type_of(value)
        return found.info if isinstance(found, TensorType) else TensorInfo()

    def _requires_grad(self, op: Operation) -> bool | None:
        """Whether the results of an operator require gradients, where one operand decides that."""
        infos = [self._info(value) for value in _tensors(op.operands)]
        deciding = [i for i in infos if i.dtype and i.dtype.category in _DIFFERENTIABLE] or infos
        return deciding[0].requires_grad if len(deciding) == 1 else None


def _gives_other_sizes(op: Operation) -> bool:
    if not isinstance(op, ts.OperatorOp):
        return False
    found = schema_of(op)
    return op.node_kind in _RESHAPING or (found is not None and found.is_out)


def _is_run(op: Operation) -> bool:
    return isinstance(op, ts.TSOp) and not has_side_effects(draft.Node(op.node_kind))


def _are_equal(values: Sequence[object]) -> bool:
    """Whether values are the same number, text or list of them."""
    first = values[0]
    if isinstance(first, list):
        lists = [value for value in values if isinstance(value, list)]
        return len({*map(len, lists)}) == 1 and all(map(_are_equal, zip(*lists, strict=True)))
    return not isinstance(first, Tensor) and all(value == first for value in values)


def _tensors(values: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """The tensors among values, and in lists that are put together of them."""
    for value in values:
        if isinstance(value.type, TensorType):
            yield value
        elif isinstance(value.owner, ts.ListConstructOp):
            yield from _tensors(value.owner.arguments)


def _tensor(info: TensorInfo, trial: _Trial) -> Tensor:
    """A tensor of a type in a trial.

    Raises:
        _Unknown: its dtype is not known.
    """
    if info.dtype is None:
        raise _Unknown
    known = (None,) * trial.rank if info.sizes is None else info.sizes
    sizes = tuple(size if isinstance(size, int) else trial.size for size in known)
    strides = info.strides or dense_strides(sizes, row_order(len(sizes)))
    made: Tensor = strided(sizes, strides, info.dtype)
    if trial.elements == (0,):
        return made
    filled = Tensor(np.resize(np.array(trial.elements, np.int64), sizes), BY_NAME["int64"])
    made.copy_(filled)
    return made


def _joined(one: Attribute, other: Attribute, declared: Attribute) -> Attribute:
    """What is known where two ways meet."""
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        return _common(one, other)
    return one if one == other else declared


def _common(one: TensorType, other: TensorType) -> TensorType:
    a, b = one.info, other.info
    sizes = None
    if a.sizes is not None and b.sizes is not None and len(a.sizes) == len(b.sizes):
        sizes = tuple(m if m == n else None for m, n in zip(a.sizes, b.sizes, strict=True))
    is_whole = sizes is not None and None not in sizes
    return TensorType(
        TensorInfo(
            a.dtype if a.dtype == b.dtype else None,
            sizes,
            a.strides if is_whole and a.strides == b.strides else None,
            a.requires_grad if a.requires_grad == b.requires_grad else None,
            a.device if a.device == b.device else None,
        )
    )
