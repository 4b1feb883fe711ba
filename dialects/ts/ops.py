"""Operations of `ts`: TorchScript's graph in SSA form with structured control flow.

```
module    ::= (ts.class | ts.func)*
ts.func   @"__torch__.f" (args) -> types { one block ending in ts.return }
ts.op     "aten::add.Tensor"(%a, %b, %one) : every schema argument is an operand, defaults included
ts.if     %cond -> (types) { ... ts.yield } { ... ts.yield }
ts.loop   %max_trip, %condition, (carried) -> (types) { ^(%i, carried): .. ts.yield %cond, .. }
```

Invariants: operand and result types obey the schema; both branches of `ts.if` yield the result
types; `ts.loop` is TorchScript's `prim::Loop`: it runs while the condition holds and the trip
counter is below `max_trip`. Every op's `location` is a `SpanLoc` where its source is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
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
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator
from xdsl.utils.exceptions import VerifyException

from .constants import ValueAttr
from .types import BOOL, INT, TYPES


class TSOp(IRDLOperation):
    """Base of the dialect's ops. `KIND` is the TorchScript node kind that `.graph` prints."""

    KIND: ClassVar[str] = ""

    @property
    def node_kind(self) -> str:
        return self.KIND


@irdl_op_definition
class FuncOp(TSOp):
    """A function or method. `argument_names`, `defaults` (a ts.value or unit per argument) and the
    result annotation make its schema; `self` is the first argument of a method. A traced one prints
    its names as tracing gives them."""

    name = "ts.func"
    sym_name = prop_def(StringAttr)
    argument_names = prop_def(ArrayAttr[StringAttr])
    defaults = prop_def(ArrayAttr[Attribute])
    return_type = prop_def(Attribute)
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
class ConstantOp(TSOp):
    """A constant; `prim::Constant[value=...]`."""

    name = "ts.constant"
    KIND: ClassVar[str] = "prim::Constant"
    value = prop_def(ValueAttr)
    result = result_def()

    def __init__(self, value: object, type: Attribute) -> None:
        super().__init__(properties={"value": ValueAttr(value)}, result_types=[type])


@irdl_op_definition
class OperatorOp(TSOp):
    """An operator of the schema table, `aten::add.Tensor` or `prim::dtype`."""

    name = "ts.op"
    schema = prop_def(StringAttr)
    arguments = var_operand_def()
    outputs = var_result_def()

    def __init__(
        self, schema: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> None:
        super().__init__(
            operands=[arguments],
            result_types=[result_types],
            properties={"schema": StringAttr(schema)},
        )

    @property
    def node_kind(self) -> str:
        return self.schema.data.partition(".")[0]


class _Gather(TSOp):
    """Base: any operands to one result."""

    arguments = var_operand_def()
    result = result_def()

    def __init__(self, arguments: Sequence[SSAValue], type: Attribute) -> None:
        super().__init__(operands=[arguments], result_types=[type])


@irdl_op_definition
class ListConstructOp(_Gather):
    name = "ts.list"
    KIND: ClassVar[str] = "prim::ListConstruct"


@irdl_op_definition
class TupleConstructOp(_Gather):
    name = "ts.tuple"
    KIND: ClassVar[str] = "prim::TupleConstruct"


@irdl_op_definition
class DictConstructOp(_Gather):
    """Operands alternate key, value."""

    name = "ts.dict"
    KIND: ClassVar[str] = "prim::DictConstruct"


@irdl_op_definition
class ListUnpackOp(TSOp):
    """The elements of a list of as many elements as there are results."""

    name = "ts.list_unpack"
    KIND: ClassVar[str] = "prim::ListUnpack"
    argument = operand_def()
    outputs = var_result_def()

    def __init__(self, argument: SSAValue, types: Sequence[Attribute]) -> None:
        super().__init__(operands=[argument], result_types=[types])


@irdl_op_definition
class TupleUnpackOp(TSOp):
    """The elements of a tuple."""

    name = "ts.tuple_unpack"
    KIND: ClassVar[str] = "prim::TupleUnpack"
    argument = operand_def()
    outputs = var_result_def()

    def __init__(self, argument: SSAValue, types: Sequence[Attribute]) -> None:
        super().__init__(operands=[argument], result_types=[types])


class _Convert(TSOp):
    """Base: one operand to one result."""

    argument = operand_def()
    result = result_def()

    def __init__(self, argument: SSAValue, type: Attribute) -> None:
        super().__init__(operands=[argument], result_types=[type])


@irdl_op_definition
class UncheckedCastOp(_Convert):
    """A refinement the compiler has proved (`x is not None`, `isinstance`)."""

    name = "ts.unchecked_cast"
    KIND: ClassVar[str] = "prim::unchecked_cast"


@irdl_op_definition
class EnterOp(_Convert):
    name = "ts.enter"
    KIND: ClassVar[str] = "prim::Enter"


@irdl_op_definition
class ExitOp(_Convert):
    name = "ts.exit"
    KIND: ClassVar[str] = "prim::Exit"


@irdl_op_definition
class IsInstanceOp(TSOp):
    """Whether a value is of one of `types`, as a bool."""

    name = "ts.isinstance"
    KIND: ClassVar[str] = "prim::isinstance"
    types = prop_def(ArrayAttr[Attribute])
    argument = operand_def()
    result = result_def()

    def __init__(self, argument: SSAValue, types: Sequence[Attribute]) -> None:
        super().__init__(
            operands=[argument],
            result_types=[BOOL],
            properties={"types": ArrayAttr(list(types))},
        )


@irdl_op_definition
class TupleIndexOp(TSOp):
    """`argument[index]`; `index` is an int operand as in TorchScript."""

    name = "ts.tuple_index"
    KIND: ClassVar[str] = "prim::TupleIndex"
    argument = operand_def()
    index = operand_def()
    result = result_def()

    def __init__(self, argument: SSAValue, index: SSAValue, type: Attribute) -> None:
        super().__init__(operands=[argument, index], result_types=[type])


@irdl_op_definition
class ModuleContainerIndexOp(TSOp):
    """A child of a module list or dict, chosen at run time; the result is of a module interface."""

    name = "ts.module_container_index"
    KIND: ClassVar[str] = "prim::ModuleContainerIndex"
    container = operand_def()
    index = operand_def()
    result = result_def()

    def __init__(self, container: SSAValue, index: SSAValue, type: Attribute) -> None:
        super().__init__(operands=[container, index], result_types=[type])


@irdl_op_definition
class TupleSliceOp(TSOp):
    """`argument[begin:end]`, of bounds known when compiled."""

    name = "ts.tuple_slice"
    KIND: ClassVar[str] = "prim::TupleSlice"
    begin = prop_def(ValueAttr)
    end = prop_def(ValueAttr)
    argument = operand_def()
    result = result_def()

    def __init__(self, argument: SSAValue, begin: int, end: int, type: Attribute) -> None:
        super().__init__(
            operands=[argument],
            result_types=[type],
            properties={"begin": ValueAttr(begin), "end": ValueAttr(end)},
        )


@irdl_op_definition
class GetAttrOp(TSOp):
    """The value of an attribute of an object."""

    name = "ts.get_attr"
    KIND: ClassVar[str] = "prim::GetAttr"
    attribute = prop_def(StringAttr)
    object = operand_def()
    result = result_def()

    def __init__(self, object: SSAValue, attribute: str, type: Attribute) -> None:
        super().__init__(
            operands=[object],
            result_types=[type],
            properties={"attribute": StringAttr(attribute)},
        )


@irdl_op_definition
class SetAttrOp(TSOp):
    """Gives an attribute of an object a value."""

    name = "ts.set_attr"
    KIND: ClassVar[str] = "prim::SetAttr"
    attribute = prop_def(StringAttr)
    object = operand_def()
    value = operand_def()

    def __init__(self, object: SSAValue, attribute: str, value: SSAValue) -> None:
        super().__init__(operands=[object, value], properties={"attribute": StringAttr(attribute)})


@irdl_op_definition
class CreateObjectOp(TSOp):
    """An object of the result's class, without attributes so far."""

    name = "ts.create_object"
    KIND: ClassVar[str] = "prim::CreateObject"
    result = result_def()

    def __init__(self, type: Attribute) -> None:
        super().__init__(result_types=[type])


@irdl_op_definition
class UninitializedOp(TSOp):
    """A placeholder of a branch that leaves early; its value is never read."""

    name = "ts.uninitialized"
    KIND: ClassVar[str] = "prim::Uninitialized"
    result = result_def()

    def __init__(self, type: Attribute) -> None:
        super().__init__(result_types=[type])


@irdl_op_definition
class CallOp(TSOp):
    """Calls the function `callee` (a `ts.func` symbol)."""

    name = "ts.call"
    KIND: ClassVar[str] = "prim::CallFunction"
    callee = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()

    def __init__(self, callee: str, arguments: Sequence[SSAValue], type: Attribute) -> None:
        super().__init__(
            operands=[arguments], result_types=[type], properties={"callee": StringAttr(callee)}
        )


@irdl_op_definition
class CallMethodOp(TSOp):
    """Calls a method; the first operand is the object, whose type names the class."""

    name = "ts.call_method"
    KIND: ClassVar[str] = "prim::CallMethod"
    method = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()

    def __init__(self, method: str, arguments: Sequence[SSAValue], type: Attribute) -> None:
        super().__init__(
            operands=[arguments], result_types=[type], properties={"method": StringAttr(method)}
        )


@irdl_op_definition
class PythonOp(TSOp):
    """A call back into Python (`@ignore`); runs in the interpreter only and cannot be saved."""

    name = "ts.python_op"
    KIND: ClassVar[str] = "prim::PythonOp"
    callee = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()


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
class ForkOp(TSOp):
    """Runs the function `callee` as a task; the result is a Future."""

    name = "ts.fork"
    KIND: ClassVar[str] = "prim::fork"
    callee = prop_def(StringAttr)
    arguments = var_operand_def()
    result = result_def()

    def __init__(self, callee: str, arguments: Sequence[SSAValue], type: Attribute) -> None:
        super().__init__(
            operands=[arguments], result_types=[type], properties={"callee": StringAttr(callee)}
        )


TS = Dialect(
    "ts",
    [
        FuncOp, ClassOp, ReturnOp, YieldOp, ConstantOp, OperatorOp, ListConstructOp,
        TupleConstructOp, DictConstructOp, ListUnpackOp, TupleUnpackOp, UncheckedCastOp, EnterOp,
        ExitOp, IsInstanceOp, TupleIndexOp, TupleSliceOp, GetAttrOp, SetAttrOp, CreateObjectOp,
        ModuleContainerIndexOp, UninitializedOp, CallOp, CallMethodOp, PythonOp, IfOp, LoopOp,
        PrintOp, RaiseOp, ForkOp,
    ],
    [*TYPES, ValueAttr],
)  # fmt: skip
