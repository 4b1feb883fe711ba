"""The types of a graph's values, as TorchScript's `torch._C.Type` tells of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.dtypes import BY_CODE, DType
from tensorscript.base.errors import GuardError, OperatorError
from tensorscript.dialects.ts import types as ts
from tensorscript.dialects.ts.type_text import annotation_text, ir_text
from tensorscript.dialects.ts.typing import is_subtype, make_optional, make_union, members_of
from tensorscript.eager.device import device as Device
from tensorscript.frontends.script.python_names import python_constant
from tensorscript.frontends.trace.facts import type_of

_KINDS: dict[type[Attribute], str] = {ts.DeviceType: "DeviceObjType"}
"""Kinds that TorchScript calls otherwise than our class of the type."""


class Type:
    """A type as graphs print it; `annotation_str` is its annotation.

    Attributes:
        attribute: the type of the dialect.
    """

    attribute: Attribute

    @property
    def annotation_str(self) -> str:
        return annotation_text(self.attribute)

    def kind(self) -> str:
        """`TensorType`, `IntType`, `ListType`, ..."""
        found = type(self.attribute)
        return _KINDS.get(found, found.__name__)

    def isSubtypeOf(self, other: Type) -> bool:
        return is_subtype(self.attribute, other.attribute)

    def containedTypes(self) -> list[Type]:
        """The types that this one is made of."""
        match self.attribute:
            case ts.ListType() | ts.OptionalType() | ts.FutureType() | ts.AwaitType() as holder:
                return [shown_type(holder.element)]
            case ts.DictType() as mapping:
                return [shown_type(mapping.key), shown_type(mapping.value)]
            case ts.TupleType() as parts:
                return list(map(shown_type, parts.elements))
            case ts.UnionType() as union:
                return list(map(shown_type, members_of(union)))
        return []

    def getElementType(self) -> Type:
        """What a list, an optional or a future holds."""
        holders = ts.ListType | ts.OptionalType | ts.FutureType | ts.AwaitType
        if not isinstance(self.attribute, holders):
            raise AttributeError(f"{self.kind()} has no element type")
        return shown_type(self.attribute.element)

    def getKeyType(self) -> Type:
        return self._of_dict()[0]

    def getValueType(self) -> Type:
        return self._of_dict()[1]

    def elements(self) -> list[Type]:
        """The types of a tuple's parts."""
        if not isinstance(self.attribute, ts.TupleType):
            raise AttributeError(f"{self.kind()} has no elements")
        return self.containedTypes()

    def _of_dict(self) -> list[Type]:
        if not isinstance(self.attribute, ts.DictType):
            raise AttributeError(f"{self.kind()} has no types of keys and values")
        return self.containedTypes()

    # Of tensors: what a trace has seen of them; None is unknown

    def dtype(self) -> DType | None:
        return self._info().dtype

    def scalarType(self) -> str | None:
        """The dtype as graphs print it: `Float`."""
        found = self._info().dtype
        return None if found is None else found.word

    def sizes(self) -> list[int] | None:
        """The sizes, if all of them are known."""
        known = self._info().sizes
        if known is None:
            return None
        sizes = [size for size in known if isinstance(size, int)]
        return sizes if len(sizes) == len(known) else None

    def strides(self) -> list[int] | None:
        found = self._info().strides
        return None if found is None else list(found)

    def dim(self) -> int | None:
        return self._info().rank

    def device(self) -> Device | None:
        found = self._info().device
        return None if found is None else Device(found)

    def requires_grad(self) -> bool:
        """Whether values may require a gradient; of containers, whether their parts may."""
        if not isinstance(self.attribute, ts.TensorType):
            return any(part.requires_grad() for part in self.containedTypes())
        return self.attribute.info.requires_grad is not False

    def required_grad(self) -> bool | None:
        """Whether values require a gradient, if that is known."""
        return self._info().requires_grad

    def is_complete(self) -> bool:
        """Whether dtype, device, sizes and strides of a tensor are known."""
        if not isinstance(self.attribute, ts.TensorType):
            return False
        return None not in (self.dtype(), self.device(), self.sizes(), self.strides())

    def _info(self) -> ts.TensorInfo:
        if not isinstance(self.attribute, ts.TensorType):
            raise GuardError(f"{self.kind()} is not the type of a tensor")
        return self.attribute.info

    def symbolic_sizes(self) -> list[int | None] | None:
        """A size for each dimension, None where it is not known."""
        known = self._info().sizes
        return None if known is None else [s if isinstance(s, int) else None for s in known]

    varyingSizes = symbolic_sizes

    def undefined(self) -> bool:
        """Whether a tensor is known to be none; never the case here."""
        self._info()
        return False

    def with_dtype(self, dtype: Any) -> Type:
        """The type with a dtype, ours or PyTorch's."""
        code = python_constant(dtype)
        assert isinstance(code, int)
        return self._with(dtype=BY_CODE[code])

    def with_device(self, device: Any) -> Type:
        return self._with(device=str(device))

    def with_sizes(self, sizes: Sequence[int | None]) -> Type:
        """The type with sizes, without gaps between the elements."""
        return self._with(sizes=tuple(sizes), strides=_dense(sizes))

    def contiguous(self) -> Type:
        """The type without gaps between the elements."""
        return self.with_sizes(self.sizes() or [])

    def _with(self, **known: Any) -> Type:
        return shown_type(ts.TensorType(replace(self._info(), **known)))

    def is_interface_type(self) -> bool:
        return isinstance(self.attribute, ts.InterfaceType)

    def __repr__(self) -> str:
        return self.annotation_str

    def str(self) -> str:
        """The type as graphs print it."""
        return ir_text(self.attribute)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and other.attribute == self.attribute

    def __hash__(self) -> int:
        return hash(self.attribute)


def _dense(sizes: Sequence[int | None]) -> tuple[int, ...] | None:
    """Strides of elements that lie one behind the other; None if a size is not known."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    return tuple(math.prod(known[at + 1 :]) for at in range(len(known)))


class _Single(Type):
    """A type of which there is one."""

    ONLY: ClassVar[Attribute]

    def __init__(self) -> None:
        self.attribute = self.ONLY

    @classmethod
    def get(cls) -> Self:
        """The type."""
        return cls()


def _single(name: str, only: Attribute) -> type[Type]:
    return type(name, (_Single,), {"ONLY": only, "__doc__": f"The type `{ir_text(only)}`."})


AnyType = _single("AnyType", ts.ANY)
BoolType = _single("BoolType", ts.BOOL)
ComplexType = _single("ComplexType", ts.COMPLEX)
DeviceObjType = _single("DeviceObjType", ts.DEVICE)
FloatType = _single("FloatType", ts.FLOAT)
IntType = _single("IntType", ts.INT)
NoneType = _single("NoneType", ts.NONE)
NumberType = _single("NumberType", ts.NUMBER)
StringType = _single("StringType", ts.STRING)


class TensorType(_Single):
    """The type of a tensor."""

    ONLY: ClassVar[Attribute] = ts.TENSOR

    @staticmethod
    def getInferred() -> Type:
        """The type of an argument that is not annotated."""
        return shown_type(ts.INFERRED_TENSOR)

    @staticmethod
    def create_from_tensor(tensor: Any) -> Type:
        """The type of a tensor, with sizes and strides."""
        return shown_type(type_of(tensor))


class ListType(Type):
    def __init__(self, element: Type | None) -> None:
        if element is None:
            raise OperatorError("Can not create ListType with None type")
        self.attribute = ts.ListType(element.attribute)

    @staticmethod
    def ofInts() -> Type:
        return shown_type(ts.ListType(ts.INT))

    @staticmethod
    def ofFloats() -> Type:
        return shown_type(ts.ListType(ts.FLOAT))

    @staticmethod
    def ofComplexDoubles() -> Type:
        return shown_type(ts.ListType(ts.COMPLEX))

    @staticmethod
    def ofBools() -> Type:
        return shown_type(ts.ListType(ts.BOOL))

    @staticmethod
    def ofStrings() -> Type:
        return shown_type(ts.ListType(ts.STRING))

    @staticmethod
    def ofTensors() -> Type:
        return shown_type(ts.ListType(ts.TENSOR))


class OptionalType(Type):
    def __init__(self, element: Type) -> None:
        self.attribute = make_optional(element.attribute)

    @staticmethod
    def ofTensor() -> Type:
        return shown_type(ts.OptionalType(ts.TENSOR))


class FutureType(Type):
    def __init__(self, element: Type) -> None:
        self.attribute = ts.FutureType(element.attribute)


class AwaitType(Type):
    def __init__(self, element: Type) -> None:
        self.attribute = ts.AwaitType(element.attribute)


class DictType(Type):
    def __init__(self, key: Type, value: Type) -> None:
        self.attribute = ts.DictType(key.attribute, value.attribute)


class TupleType(Type):
    def __init__(self, elements: Sequence[Type]) -> None:
        self.attribute = ts.TupleType.of(each.attribute for each in elements)


class UnionType(Type):
    def __init__(self, members: Sequence[Type]) -> None:
        self.attribute = make_union(each.attribute for each in members)


class _Nominal(Type):
    """A type known by its name."""

    def qualified_name(self) -> str:
        return self._name().data

    def name(self) -> str:
        """The last part of its name."""
        return self.qualified_name().rpartition(".")[2]

    def _name(self) -> StringAttr:
        assert isinstance(self.attribute, ts.ClassType | ts.InterfaceType | ts.EnumType)
        return self.attribute.class_name

    def __hash__(self) -> int:
        return hash(self.name())

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


class ClassType(_Nominal):
    def __init__(self, name: str) -> None:
        self.attribute = ts.ClassType(StringAttr(name))


class ModuleType(ClassType):
    """The type of a module that was compiled apart from others.

    Args:
        key: what is equal for modules of one type, whatever program they are of.
    """

    def __init__(self, attribute: ts.ClassType, key: object) -> None:
        self.attribute = attribute
        self.key = key

    def kind(self) -> str:
        return "ClassType"

    def __hash__(self) -> int:
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ModuleType):
            return self.key == other.key
        return super().__eq__(other)


class InterfaceType(_Nominal):
    def __init__(self, name: str) -> None:
        self.attribute = ts.InterfaceType(StringAttr(name))


class EnumType(_Nominal):
    """The type of an enum's members."""


_FACES: dict[type[Attribute], type[Type]] = {
    ts.AnyType: AnyType,
    ts.BoolType: BoolType,
    ts.ComplexType: ComplexType,
    ts.DeviceType: DeviceObjType,
    ts.FloatType: FloatType,
    ts.IntType: IntType,
    ts.NoneType: NoneType,
    ts.NumberType: NumberType,
    ts.StringType: StringType,
    ts.TensorType: TensorType,
    ts.ListType: ListType,
    ts.OptionalType: OptionalType,
    ts.FutureType: FutureType,
    ts.AwaitType: AwaitType,
    ts.DictType: DictType,
    ts.TupleType: TupleType,
    ts.UnionType: UnionType,
    ts.ClassType: ClassType,
    ts.InterfaceType: InterfaceType,
    ts.EnumType: EnumType,
}


def shown_type(attribute: Attribute) -> Type:
    """A type of the dialect as Python sees it."""
    kind = _FACES.get(type(attribute), Type)
    made = kind.__new__(kind)
    made.attribute = attribute
    return made
