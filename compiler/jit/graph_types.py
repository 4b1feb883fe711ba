"""The types of a graph's values, as TorchScript's `torch._C.Type` tells of them."""

from __future__ import annotations

from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts import types as ts
from tensorscript.dialects.ts.type_text import annotation_text, ir_text
from tensorscript.dialects.ts.typing import is_subtype, members_of
from tensorscript.eager.device import device as Device

_KINDS: dict[type[Attribute], str] = {ts.DeviceType: "DeviceObjType"}
"""Kinds that TorchScript calls otherwise than our class of the type."""


class Type:
    """A type as graphs print it; `annotation_str` is its annotation."""

    def __init__(self, type: Attribute) -> None:
        self.attribute = type

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
            case ts.ListType() | ts.OptionalType() | ts.FutureType() as holder:
                return [Type(holder.element)]
            case ts.DictType() as mapping:
                return [Type(mapping.key), Type(mapping.value)]
            case ts.TupleType() as parts:
                return list(map(Type, parts.elements))
            case ts.UnionType() as union:
                return list(map(Type, members_of(union)))
        return []

    def getElementType(self) -> Type:
        """What a list, an optional or a future holds."""
        if not isinstance(self.attribute, ts.ListType | ts.OptionalType | ts.FutureType):
            raise AttributeError(f"{self.kind()} has no element type")
        return Type(self.attribute.element)

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

    def __str__(self) -> str:
        return ir_text(self.attribute)

    __repr__ = str = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and other.attribute == self.attribute

    def __hash__(self) -> int:
        return hash(self.attribute)
