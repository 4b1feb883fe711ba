"""Ops of `tg` around those that compute: functions, kernels, control flow, assertions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from tensorscript.dialects.te.buffers import ExprsAttr
from tensorscript.dialects.te.expr import Expr

from .bases import FormattedOp, TGOp
from .types import ScalarType


def _numbers(numbers: Sequence[int]) -> ArrayAttr[IntAttr] | None:
    return ArrayAttr([IntAttr(n) for n in numbers]) if numbers else None


@irdl_op_definition
class FuncOp(TGOp):
    """The specialised program. Block arguments: tensors and scalars, then one i64 scalar per name
    in `sizes` (the symbols that stand in tensor shapes). `input_strides` holds, per tensor
    argument, its strides in elements (`te.exprs`) or unit for contiguous. `complex_arguments` and
    `complex_results` number those whose last dimension, of 2, holds the parts of what the caller
    calls complex numbers."""

    name = "tg.func"
    sym_name = prop_def(StringAttr)
    argument_names = prop_def(ArrayAttr[StringAttr])
    sizes = prop_def(ArrayAttr[StringAttr])
    input_strides = prop_def(ArrayAttr[Attribute])
    complex_arguments = opt_prop_def(ArrayAttr[IntAttr])
    complex_results = opt_prop_def(ArrayAttr[IntAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    def __init__(
        self,
        name: str,
        argument_names: Sequence[str],
        sizes: Sequence[str],
        block: Block,
        input_strides: Sequence[tuple[Expr, ...] | None] | None = None,
        complex_arguments: Sequence[int] = (),
        complex_results: Sequence[int] = (),
    ) -> None:
        if input_strides is None:
            input_strides = [None] * len(argument_names)
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "argument_names": ArrayAttr([StringAttr(n) for n in argument_names]),
                "sizes": ArrayAttr([StringAttr(n) for n in sizes]),
                "input_strides": ArrayAttr(
                    [UnitAttr() if s is None else ExprsAttr(s) for s in input_strides]
                ),
                "complex_arguments": _numbers(complex_arguments),
                "complex_results": _numbers(complex_results),
            },
            regions=[Region(block)],
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(n.data for n in self.argument_names)

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(n.data for n in self.sizes)

    @property
    def strides(self) -> tuple[tuple[Expr, ...] | None, ...]:
        return tuple(s.data if isinstance(s, ExprsAttr) else None for s in self.input_strides)

    @property
    def complex_numbers(self) -> tuple[frozenset[int], frozenset[int]]:
        """Which arguments and which results hold parts of complex numbers."""
        found = (self.complex_arguments, self.complex_results)
        arguments, results = (frozenset(n.data for n in a or ()) for a in found)
        return arguments, results

    @property
    def return_op(self) -> ReturnOp:
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        return last

    def verify_(self) -> None:
        if len(self.argument_names) != len(self.block.args):
            raise VerifyException("one name per argument")


@irdl_op_definition
class ReturnOp(FormattedOp):
    """Ends a function with its results."""

    name = "tg.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    FORMAT: ClassVar[str] = "$values attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class YieldOp(FormattedOp):
    """Ends a block of `tg.if`, `tg.loop` or `tg.kernel` with its results."""

    name = "tg.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    FORMAT: ClassVar[str] = "$values attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class IfOp(TGOp):
    """One of two blocks, whose yielded values are the results."""

    name = "tg.if"
    condition = operand_def(ScalarType)
    outputs = var_result_def()
    true_region = region_def("single_block")
    false_region = region_def("single_block")

    def __init__(
        self, condition: SSAValue, types: Sequence[Attribute], true: Block, false: Block
    ) -> None:
        super().__init__(
            operands=[condition], result_types=[types], regions=[Region(true), Region(false)]
        )


@irdl_op_definition
class LoopOp(TGOp):
    """Runs while the condition holds and the counter (from 0) is below `max_trip`."""

    name = "tg.loop"
    max_trip = operand_def(ScalarType)
    condition = operand_def(ScalarType)
    carried = var_operand_def()
    outputs = var_result_def()
    body = region_def("single_block")

    def __init__(
        self, max_trip: SSAValue, condition: SSAValue, carried: Sequence[SSAValue], body: Block
    ) -> None:
        super().__init__(
            operands=[max_trip, condition, carried],
            result_types=[[a.type for a in body.args[1:]]],
            regions=[Region(body)],
        )


@irdl_op_definition
class AssertOp(FormattedOp):
    """Stops the program with an error unless the condition holds; ordered with other effects."""

    name = "tg.assert"
    condition = operand_def(ScalarType)
    message = prop_def(StringAttr)
    FORMAT: ClassVar[str] = "$condition $message attr-dict `:` type($condition)"

    def __init__(self, condition: SSAValue, message: str) -> None:
        super().__init__(operands=[condition], properties={"message": StringAttr(message)})


@irdl_op_definition
class KernelOp(TGOp):
    """What one kernel computes; `category` names the schedule family it was formed for. Its stages
    share their first `shared` dimensions: they read each other there only at (i0, i1, ...); and so
    their last `shared_last` ones, if there are such: all stages are of one rank then."""

    name = "tg.kernel"
    inputs = var_operand_def()
    sym_name = prop_def(StringAttr)
    category = prop_def(StringAttr)
    shared = prop_def(IntAttr)
    shared_last = opt_prop_def(IntAttr)
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    def __init__(
        self,
        name: str,
        category: str,
        shared: int,
        inputs: Sequence[SSAValue],
        types: Sequence[Attribute],
        body: Block,
        shared_last: int = 0,
    ) -> None:
        super().__init__(
            operands=[inputs],
            result_types=[types],
            properties={
                "sym_name": StringAttr(name),
                "category": StringAttr(category),
                "shared": IntAttr(shared),
                "shared_last": IntAttr(shared_last) if shared_last else None,
            },
            regions=[Region(body)],
        )

    @property
    def block(self) -> Block:
        return self.body.block


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The tg.func ops of a module, in order."""
    return (op for op in module.body.block.ops if isinstance(op, FuncOp))
