"""Methods with constant attributes: the passes of freezing in order, and folding before compiling.

inline calls, numbers of self to constants, fold what that decides; then the tensors that nobody
writes to constants, fold again, and fold batch norms and the like into layers
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import (
    Device,
    DictLiteral,
    EnumRef,
    ListLiteral,
    TensorLiteral,
)
from tensorscript.dialects.walks import walk_ops
from tensorscript.eager.device import device
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.ts.constant_types import forget_shapes
from tensorscript.lowering.ts.convolution_ranks import fold_convolution_ranks
from tensorscript.lowering.ts.dce import remove_dead_code
from tensorscript.lowering.ts.fold_constants import FoldConstants, constant_of
from tensorscript.lowering.ts.fold_convolution import fold_into_layers
from tensorscript.lowering.ts.freeze import ModuleTree
from tensorscript.lowering.ts.merge_equal import merge_equal
from tensorscript.lowering.ts.peephole import simplify_patterns
from tensorscript.lowering.ts.pool_constants import pool_constants
from tensorscript.lowering.ts.remove_detach import remove_detach
from tensorscript.lowering.ts.remove_dropout import remove_dropout
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import EnumValue

from .program import Program, object_value

Rewrite = Callable[[ts.FuncOp], bool]


def optimize(
    function: ts.FuncOp,
    interpreter: Interpreter,
    optimize_numerics: bool,
    for_native: bool = False,
) -> None:
    """Fold until nothing changes.

    Args:
        interpreter: evaluates operators on constants.
        optimize_numerics: also fold what changes results by roundings.
        for_native: fold what native code gains from, and nothing that leaves out a check; else
            what PyTorch's freezing folds.
    """
    passes: list[Rewrite] = [
        FoldConstants(lambda op: evaluated(op, interpreter)),
        simplify_patterns,
        merge_equal,
        remove_dropout,
        # Dead readers of a layer's result would keep it from being folded into.
        remove_dead_code,
    ]
    if not (for_native or optimize_numerics):
        passes.insert(0, fold_convolution_ranks)
    if optimize_numerics:
        passes.append(partial(fold_into_layers, for_native=for_native))
    while any([run(function) for run in passes]):
        pass


def freeze_methods(
    tree: ModuleTree,
    methods: Collection[ts.FuncOp],
    interpreter: Interpreter,
    optimize_numerics: bool,
    for_native: bool = False,
) -> None:
    """Make attributes of inlined methods constants, in place; `tree.kept` learns which are not."""
    if not for_native:
        for method in methods:
            forget_shapes(method)
    tree.keep_set(methods)
    # What only happens in training is gone before it counts as writing a buffer.
    for method in methods:
        tree.fold_attributes(method, only_numbers=True)
        optimize(method, interpreter, False, for_native)
        if not for_native:
            pool_constants(method)
    tree.keep_written(methods, in_evaluation=not for_native)
    for method in methods:
        tree.fold_attributes(method)
        optimize(method, interpreter, False, for_native)
        if optimize_numerics:
            optimize(method, interpreter, True, for_native)
        if not for_native:
            remove_detach(method)
            pool_constants(method)


def folded_program(program: Program) -> Program:
    """A program whose layers have absorbed the batch norms behind them.

    The receiver stays the same object: what the program changes is still read from it. A program
    without a batch norm, or that is no method, is given back as it is.
    """
    functions = program.interpreter.functions
    if program.receiver is None or not any(map(_has_batch_norm, functions.values())):
        return program
    tree = ModuleTree(object_value(program.receiver), functions)
    method = tree.inlined(program.function)
    freeze_methods(tree, [method], program.interpreter, optimize_numerics=True, for_native=True)
    symbol = f"{program.entry}.folded"
    method.properties["sym_name"] = StringAttr(symbol)
    # Most methods call nothing any more; then only the classes are needed.
    needed = ts.FuncOp | ts.ClassOp if _calls(method) else ts.ClassOp
    others = [op.clone() for op in program.module.body.block.ops if isinstance(op, needed)]
    made = ModuleOp([*others, method])
    return Program(made, symbol, program.receiver, program.python_calls)


def _has_batch_norm(function: ts.FuncOp) -> bool:
    return any(
        isinstance(op, ts.OperatorOp) and op.schema.data == "aten::batch_norm"
        for op in walk_ops(function)
    )


def _calls(method: ts.FuncOp) -> bool:
    """Whether a method still runs other functions of its module."""
    calls = ts.CallOp | ts.CallMethodOp | ts.TaskOp | ts.EnterOp | ts.ExitOp
    return any(isinstance(op, calls) for op in walk_ops(method))


def evaluated(op: Operation, interpreter: Interpreter) -> list[object] | None:
    """The results of an op on constants as constants; None where a result cannot be one."""
    operands = [interpreter.constant(constant_of(operand)) for operand in op.operands]
    try:
        return [literal_of(value) for value in interpreter.evaluate(op, operands)]
    except NotConstant:
        return None


class NotConstant(Exception):
    """A run-time value that is no constant of the dialect."""


def literal_of(value: Any) -> object:
    """A run-time value as a constant of the dialect.

    Raises:
        NotConstant: it is none.
    """
    match value:
        case Tensor() if not (value.is_quantized or value.is_sparse or value.is_sparse_csr):
            return TensorLiteral(shown(value), value.dtype)
        case device():
            return Device(str(value))
        case EnumValue():
            return EnumRef(value.class_name, value.name)
        case list():
            return ListLiteral(tuple(map(literal_of, value)))
        case dict():
            return DictLiteral(tuple((k, literal_of(v)) for k, v in value.items()))
        case tuple() if not hasattr(value, "_fields"):
            return tuple(map(literal_of, value))
        case bool() | int() | float() | complex() | str() | None:
            return value
    raise NotConstant
