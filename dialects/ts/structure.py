"""Structure of `ts`: functions, classes, branches, loops, calls, and what a program does besides.

The grammar is in `ops.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from .types import BOOL, INT


class TSOp(IRDLOperation):
    """Base of the dialect's ops. `KIND` is the TorchScript node kind that `.graph` prints."""

    KIND: ClassVar[str] = ""

    @property
    def node_kind(self) -> str:
        return self.KIND


@irdl_op_definition
class FuncOp(TSOp):
    """A function or method. `argument_names`, `defaults` (a ts.value or unit per argument) and the
    result annotation make its schema; `self` is the first argument of a method, and
    `keyword_only` names those that are given by name alone. A traced one prints its names as
    tracing gives them."""

    name = "ts.func"
    sym_name = prop_def(StringAttr)
    argument_names = prop_def(ArrayAttr[StringAttr])
    defaults = prop_def(ArrayAttr[Attribute])
    return_type = prop_def(Attribute)
    keyword_only = opt_prop_def(ArrayAttr[StringAttr])
    is_method = opt_prop_def(Attribute)
    is_traced = opt_prop_def(Attribute)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def return_op(self) -> ReturnOp:
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        return last

    def verify_(self) -> None:
        if len(self.argument_names) != len(self.block.args):
            raise VerifyException("one name per argument")
        if not isinstance(self.block.last_op, ReturnOp):
            raise VerifyException("a function ends in ts.return")


@irdl_op_definition
class ClassOp(TSOp):
    """The declaration of a nominal type.

    `category` is module, class, interface, enum or namedtuple. `attributes_` maps names to types in
    order; `constants` (a dictionary of ts.value) holds Final attributes or enum members;
    `methods` lists the names of methods, whose functions are `ts.func @"<sym_name>.<method>"`.
    `parameters` and `buffers` name those attributes of a module.
    """

    name = "ts.class"
    sym_name = prop_def(StringAttr)
    category = prop_def(StringAttr)
    attribute_names = prop_def(ArrayAttr[StringAttr])
    attribute_types = prop_def(ArrayAttr[Attribute])
    constant_names = prop_def(ArrayAttr[StringAttr])
    constant_values = prop_def(ArrayAttr[Attribute])
    methods = prop_def(ArrayAttr[StringAttr])
    parameters = prop_def(ArrayAttr[StringAttr])
    buffers = prop_def(ArrayAttr[StringAttr])

    def verify_(self) -> None:
        if len(self.attribute_names) != len(self.attribute_types):
            raise VerifyException("one type per attribute")


@irdl_op_definition
class ReturnOp(TSOp):
    """Ends a function; one operand (a tuple for several results, none for a void function)."""

    name = "ts.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class YieldOp(TSOp):
    """Ends a block of ts.if (results) or ts.loop (condition, carried values)."""

    name = "ts.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class IfOp(TSOp):
    """One of two blocks; what it yields is the results."""

    name = "ts.if"
    KIND: ClassVar[str] = "prim::If"
    condition = operand_def(BOOL)
    outputs = var_result_def()
    true_region = region_def("single_block")
    false_region = region_def("single_block")

    def __init__(
        self, condition: SSAValue, types: Sequence[Attribute], true: Region, false: Region
    ) -> None:
        super().__init__(operands=[condition], result_types=[types], regions=[true, false])

    def verify_(self) -> None:
        for region in (self.true_region, self.false_region):
            last = region.block.last_op
            if not isinstance(last, YieldOp) or len(last.values) != len(self.outputs):
                raise VerifyException("each branch yields one value per result")


@irdl_op_definition
class LoopOp(TSOp):
    """Runs while the condition holds and the counter (from 0) is below `max_trip`; the body takes
    the counter and the carried values, and yields the next condition and values."""

    name = "ts.loop"
    KIND: ClassVar[str] = "prim::Loop"
    max_trip = operand_def(INT)
    condition = operand_def(BOOL)
    carried = var_operand_def()
    outputs = var_result_def()
    body = region_def("single_block")

    def __init__(
        self, max_trip: SSAValue, condition: SSAValue, carried: Sequence[SSAValue], body: Region
    ) -> None:
        types = [value.type for value in body.block.args[1:]]
        super().__init__(
            operands=[max_trip, condition, carried], result_types=[types], regions=[body]
        )

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or len(last.values) != len(self.outputs) + 1:
            raise VerifyException("the body yields a condition and one value per result")
        if len(self.body.block.args) != len(self.outputs) + 1:
            raise VerifyException("the body takes the counter and one value per result")


@irdl_op_definition
class CallOp(TSOp):
    """Calls the function `callee` (a `ts.func` symbol).

    In a graph text the function is a constant. `constants_before` says how many others stood before
    it when the caller was made, and 0 where nobody noted it; only that text reads it.
    """

    name = "ts.call"
    KIND: ClassVar[str] = "prim::CallFunction"
    callee = prop_def(StringAttr)
    constants_before = opt_prop_def(IntAttr)
    arguments = var_operand_def()
    result = result_def()

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue],
        type: Attribute,
        constants_before: int = 0,
    ) -> None:
        super().__init__(
            operands=[arguments],
            result_types=[type],
            properties={
                "callee": StringAttr(callee),
                "constants_before": IntAttr(constants_before) if constants_before else None,
            },
        )

    @property
    def place(self) -> int:
        """How many constants stand before the function's in the graph text."""
        return self.constants_before.data if self.constants_before is not None else 0


@irdl_op_definition
class CallMethodOp(TSOp):
    """Calls a method; the first operand is the object, whose type names the class.

    An object of one of several classes is called through the interface that `interface` says; only
    code text shows it, for there the class of an object decides what its methods are.
    """

    name = "ts.call_method"
    KIND: ClassVar[str] = "prim::CallMethod"
    method = prop_def(StringAttr)
    interface = opt_prop_def(Attribute)
    arguments = var_operand_def()
    result = result_def()

    def __init__(
        self,
        method: str,
        arguments: Sequence[SSAValue],
        type: Attribute,
        interface: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[arguments],
            result_types=[type],
            properties={"method": StringAttr(method), "interface": interface},
        )


@irdl_op_definition
class PythonOp(TSOp):
    """A call back into Python (`@ignore`); runs in the interpreter only and cannot be saved."""

    name = "ts.python_op"
    KIND: ClassVar[str] = "prim::PythonOp"
    callee = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()


class TaskOp(TSOp):
    """Calls the function `callee` some time: the result stands for what it will return."""

    KIND: ClassVar[str]
    callee = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()

    def __init__(self, callee: str, arguments: Sequence[SSAValue], type: Attribute) -> None:
        super().__init__(
            operands=[arguments], result_types=[type], properties={"callee": StringAttr(callee)}
        )


@irdl_op_definition
class ForkOp(TaskOp):
    """Runs the function `callee` as a task; the result is a Future."""

    name = "ts.fork"
    KIND: ClassVar[str] = "prim::fork"


@irdl_op_definition
class AwaitableOp(TaskOp):
    """Runs the function `callee` when `prim::awaitable_wait` first asks; the result is an Await."""

    name = "ts.awaitable"
    KIND: ClassVar[str] = "prim::awaitable"


@irdl_op_definition
class PrintOp(TSOp):
    """Prints its arguments with a space between, and ends the line."""

    name = "ts.print"
    KIND: ClassVar[str] = "prim::Print"
    arguments = var_operand_def()

    def __init__(self, arguments: Sequence[SSAValue]) -> None:
        super().__init__(operands=[arguments])


@irdl_op_definition
class RaiseOp(TSOp):
    """Raises; `message` and `exception` are strings (exception None for assert)."""

    name = "ts.raise"
    KIND: ClassVar[str] = "prim::RaiseException"
    message = operand_def()
    exception = operand_def()

    def __init__(self, message: SSAValue, exception: SSAValue) -> None:
        super().__init__(operands=[message, exception])


@irdl_op_definition
class NodeOp(TSOp):
    """A node that is none of the other ops: of a kind that no operator has, or without what its
    kind asks for. A graph that is being edited or was read from text may have some; they print,
    and do not run.

    `fields` are its attributes under TorchScript's names: a `ts.value` or a type, or an array of
    them. Each of its blocks ends in ts.yield.
    """

    name = "ts.node"
    kind = prop_def(StringAttr)
    fields = prop_def(DictionaryAttr)
    arguments = var_operand_def()
    outputs = var_result_def()
    inner = var_region_def("single_block")

    def __init__(
        self,
        kind: str,
        arguments: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        fields: Mapping[str, Attribute] | None = None,
        inner: Sequence[Region] = (),
    ) -> None:
        super().__init__(
            operands=[arguments],
            result_types=[result_types],
            properties={"kind": StringAttr(kind), "fields": DictionaryAttr(dict(fields or {}))},
            regions=[inner],
        )

    @property
    def node_kind(self) -> str:
        return self.kind.data
