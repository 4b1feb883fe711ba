"""TorchScript's types as xDSL attributes.

| class | MLIR text | TorchScript IR text | annotation |
|---|---|---|---|
| TensorType | `!ts.tensor`, `!ts.tensor<"f32[2,3]">` | `Tensor`, `Float(2, 3, ...)` | `Tensor` |
| IntType, FloatType, ... | `!ts.int` | `int` | `int` |
| ListType | `!ts.list<!ts.int>` | `int[]` | `List[int]` |
| DictType | `!ts.dict<!ts.str, !ts.int>` | `Dict(str, int)` | `Dict[str, int]` |
| TupleType | `!ts.tuple<[..], [], "">` | `(int, str)` | `Tuple[int, str]` |
| OptionalType | `!ts.optional<!ts.int>` | `int?` | `Optional[int]` |
| ClassType (also modules) | `!ts.class<"__torch__.Net">` | `__torch__.Net` | `__torch__.Net` |

A tuple with field names is a NamedTuple; it is nominal through its `class_name`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tensorscript.base.dtypes import BY_SHORT, DType
from tensorscript.base.records import dataclass


class TSType(Attribute):
    """Base of all types of the dialect."""


@dataclass(frozen=True)
class TensorInfo:
    """What is known of a tensor; None means unknown.

    `sizes` holds an int, a symbol name, or None per dimension; `strides` are in elements.
    `inferred` marks a parameter without annotation; it shows in messages and never compares.
    """

    dtype: DType | None = None
    sizes: tuple[int | str | None, ...] | None = None
    strides: tuple[int, ...] | None = None
    requires_grad: bool | None = None
    device: str | None = None
    inferred: bool = field(default=False, compare=False)

    @property
    def rank(self) -> int | None:
        return None if self.sizes is None else len(self.sizes)

    def without_sizes(self) -> TensorInfo:
        """The same with the rank alone."""
        sizes = None if self.sizes is None else (None,) * len(self.sizes)
        return replace(self, sizes=sizes, strides=None)


def _info_text(info: TensorInfo) -> str:
    out = info.dtype.short if info.dtype else "?"
    if info.sizes is not None:
        out += "[" + ",".join("*" if s is None else str(s) for s in info.sizes) + "]"
    if info.strides is not None:
        out += "{" + ",".join(map(str, info.strides)) + "}"
    if info.requires_grad is not None:
        out += f" grad={int(info.requires_grad)}"
    if info.device is not None:
        out += f" on {info.device}"
    return out


def _size_of(word: str) -> int | str | None:
    return None if word == "*" else int(word) if word.lstrip("-").isdigit() else word


def _parse_info(text: str) -> TensorInfo:
    text, _, device = text.partition(" on ")
    text, _, grad = text.partition(" grad=")
    text, _, strides = text.rstrip("}").partition("{") if "{" in text else (text, "", None)
    name, _, sizes = text.rstrip("]").partition("[") if "[" in text else (text, "", None)
    return TensorInfo(
        None if name == "?" else BY_SHORT[name],
        None if sizes is None else tuple(_size_of(w) for w in sizes.split(",") if w),
        None if strides is None else tuple(int(w) for w in strides.split(",") if w),
        bool(int(grad)) if grad else None,
        device or None,
    )


@irdl_attr_definition
class TensorType(Data[TensorInfo], TSType, TypeAttribute):
    """A tensor; `data` says what is known of it."""

    name = "ts.tensor"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorInfo:
        if parser.parse_optional_punctuation("<") is None:
            return TensorInfo()
        text = parser.parse_str_literal()
        parser.parse_punctuation(">")
        return _parse_info(text)

    def print_parameter(self, printer: Printer) -> None:
        if self.data != TensorInfo():
            with printer.in_angle_brackets():
                printer.print_string_literal(_info_text(self.data))

    @property
    def info(self) -> TensorInfo:
        return self.data


class _SimpleType(ParametrizedAttribute, TSType, TypeAttribute):
    """A type without parameters; `WORD` is its TorchScript spelling."""

    WORD: ClassVar[str]


@irdl_attr_definition
class IntType(_SimpleType):
    name = "ts.int"
    WORD: ClassVar[str] = "int"


@irdl_attr_definition
class FloatType(_SimpleType):
    name = "ts.float"
    WORD: ClassVar[str] = "float"


@irdl_attr_definition
class ComplexType(_SimpleType):
    name = "ts.complex"
    WORD: ClassVar[str] = "complex"


@irdl_attr_definition
class BoolType(_SimpleType):
    name = "ts.bool"
    WORD: ClassVar[str] = "bool"


@irdl_attr_definition
class StringType(_SimpleType):
    name = "ts.str"
    WORD: ClassVar[str] = "str"


@irdl_attr_definition
class NoneType(_SimpleType):
    name = "ts.none"
    WORD: ClassVar[str] = "NoneType"


@irdl_attr_definition
class NumberType(_SimpleType):
    """int, float or complex: `Scalar` in schemas, `number` in annotations."""

    name = "ts.number"
    WORD: ClassVar[str] = "Scalar"


@irdl_attr_definition
class DeviceType(_SimpleType):
    name = "ts.device"
    WORD: ClassVar[str] = "Device"


@irdl_attr_definition
class GeneratorType(_SimpleType):
    name = "ts.generator"
    WORD: ClassVar[str] = "Generator"


@irdl_attr_definition
class AnyType(_SimpleType):
    name = "ts.any"
    WORD: ClassVar[str] = "Any"


@irdl_attr_definition
class AnyListType(_SimpleType):
    name = "ts.any_list"
    WORD: ClassVar[str] = "list"


@irdl_attr_definition
class AnyTupleType(_SimpleType):
    name = "ts.any_tuple"
    WORD: ClassVar[str] = "tuple"


@irdl_attr_definition
class FunctionType(_SimpleType):
    """The type of a function constant."""

    name = "ts.function"
    WORD: ClassVar[str] = "Function"


@irdl_attr_definition
class ListType(ParametrizedAttribute, TSType, TypeAttribute):
    name = "ts.list"
    element: Attribute


@irdl_attr_definition
class OptionalType(ParametrizedAttribute, TSType, TypeAttribute):
    name = "ts.optional"
    element: Attribute


@irdl_attr_definition
class FutureType(ParametrizedAttribute, TSType, TypeAttribute):
    """The result of a task, of type `element` when it is there."""

    name = "ts.future"
    element: Attribute


@irdl_attr_definition
class AwaitType(ParametrizedAttribute, TSType, TypeAttribute):
    """The result of a call that is made when somebody waits for it, of type `element`."""

    name = "ts.await"
    element: Attribute


@irdl_attr_definition
class DictType(ParametrizedAttribute, TSType, TypeAttribute):
    """`Dict[key, value]`."""

    name = "ts.dict"
    key: Attribute
    value: Attribute


@irdl_attr_definition
class UnionType(ParametrizedAttribute, TSType, TypeAttribute):
    """Members are flat, without duplicates, and sorted by their text; never just {T, None}."""

    name = "ts.union"
    members: ArrayAttr[Attribute]


@irdl_attr_definition
class TupleType(ParametrizedAttribute, TSType, TypeAttribute):
    """A tuple; with `fields` and `class_name` a NamedTuple.

    `defaults` are the texts of its last fields' defaults, as graphs print them.
    """

    name = "ts.tuple"
    elements: ArrayAttr[Attribute]
    fields: ArrayAttr[StringAttr]
    class_name: StringAttr
    defaults: ArrayAttr[StringAttr]

    @staticmethod
    def of(
        elements: Iterable[Attribute],
        fields: Iterable[str] = (),
        class_name: str = "",
        defaults: Iterable[str] = (),
    ) -> TupleType:
        names = ArrayAttr([StringAttr(f) for f in fields])
        texts = ArrayAttr([StringAttr(d) for d in defaults])
        return TupleType(ArrayAttr(list(elements)), names, StringAttr(class_name), texts)

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(f.data for f in self.fields)

    def with_elements(self, elements: Iterable[Attribute]) -> TupleType:
        """This tuple with other element types."""
        return TupleType(ArrayAttr(list(elements)), self.fields, self.class_name, self.defaults)


class _NominalType(ParametrizedAttribute, TSType, TypeAttribute):
    """A type known by its qualified name; its declaration is a `ts.class` of the module."""


@irdl_attr_definition
class ClassType(_NominalType):
    """A script class or an nn.Module type."""

    name = "ts.class"
    class_name: StringAttr


@irdl_attr_definition
class InterfaceType(_NominalType):
    name = "ts.interface"
    class_name: StringAttr


@irdl_attr_definition
class EnumType(_NominalType):
    """A script enum; its members hold values of one type."""

    name = "ts.enum"
    class_name: StringAttr
    value_type: Attribute


@irdl_attr_definition
class VarType(ParametrizedAttribute, TSType, TypeAttribute):
    """A type variable of an operator schema (`t`)."""

    name = "ts.var"
    var_name: StringAttr


TENSOR = TensorType(TensorInfo())
INFERRED_TENSOR = TensorType(TensorInfo(inferred=True))
INT = IntType()
FLOAT = FloatType()
COMPLEX = ComplexType()
BOOL = BoolType()
STRING = StringType()
NONE = NoneType()
NUMBER = NumberType()
DEVICE = DeviceType()
GENERATOR = GeneratorType()
ANY = AnyType()
ANY_LIST = AnyListType()
ANY_TUPLE = AnyTupleType()
FUNCTION = FunctionType()

OPEN_TYPES = AnyType | OptionalType | UnionType
"""Types whose values are of several."""

TYPES: list[type[Attribute]] = [
    TensorType, IntType, FloatType, ComplexType, BoolType, StringType, NoneType, NumberType,
    DeviceType, GeneratorType, AnyType, AnyListType, AnyTupleType, FunctionType, ListType,
    OptionalType, FutureType, AwaitType, DictType, UnionType, TupleType, ClassType, InterfaceType,
    EnumType, VarType,
]  # fmt: skip
