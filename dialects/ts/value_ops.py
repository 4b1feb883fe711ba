"""Operations of `ts` that make values: constants, operators, containers, objects.

The grammar is in `ops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from .constants import ValueAttr
from .structure import TSOp
from .types import BOOL


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


class Gather(TSOp):
    """Base: any operands to one result."""

    arguments = var_operand_def()
    result = result_def()

    def __init__(self, arguments: Sequence[SSAValue], type: Attribute) -> None:
        super().__init__(operands=[arguments], result_types=[type])


@irdl_op_definition
class ListConstructOp(Gather):
    name = "ts.list"
    KIND: ClassVar[str] = "prim::ListConstruct"


@irdl_op_definition
class TupleConstructOp(Gather):
    name = "ts.tuple"
    KIND: ClassVar[str] = "prim::TupleConstruct"


@irdl_op_definition
class DictConstructOp(Gather):
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


class Convert(TSOp):
    """Base: one operand to one result."""

    argument = operand_def()
    result = result_def()

    def __init__(self, argument: SSAValue, type: Attribute) -> None:
        super().__init__(operands=[argument], result_types=[type])


@irdl_op_definition
class UncheckedCastOp(Convert):
    """A refinement the compiler has proved (`x is not None`, `isinstance`)."""

    name = "ts.unchecked_cast"
    KIND: ClassVar[str] = "prim::unchecked_cast"


@irdl_op_definition
class EnterOp(Convert):
    name = "ts.enter"
    KIND: ClassVar[str] = "prim::Enter"


@irdl_op_definition
class ExitOp(Convert):
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
