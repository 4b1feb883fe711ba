"""Pickled state of an archive as run-time values: objects, tensors, containers, enums.

What the archive shares stays shared: the same tensor, container or object is made once.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import ArchiveError
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.dialects.ts.types import (
    ANY,
    DictType,
    EnumType,
    InterfaceType,
    ListType,
    OptionalType,
    TensorType,
    TupleType,
    UnionType,
)
from tensorscript.eager.device import device
from tensorscript.frontends.torchscript import pickled
from tensorscript.frontends.torchscript.load import OpenArchive
from tensorscript.runtime.instances import is_instance
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import EnumValue, ScriptObject, named_tuple


class Restorer:
    """Makes the run-time values of one archive.

    Args:
        interpreter: runs `__setstate__` of the classes that have it.
    """

    def __init__(self, archive: OpenArchive, interpreter: Interpreter) -> None:
        self.archive = archive
        self.interpreter = interpreter
        self._made: dict[int, tuple[object, Any]] = {}

    def value(self, value: pickled.Value, type_: Attribute = ANY, where: str = "data.pkl") -> Any:
        """The run-time value.

        Args:
            type_: the declared type of the place that holds it.
            where: names that place in errors.

        Raises:
            ArchiveError: it is not of that type, or refers to what is not in the code.
        """
        match value:
            case pickled.TensorRef():
                made: Any = self.archive.tensors.tensor(value)
            case pickled.SparseRef():
                made = self.archive.tensors.sparse(value)
            case pickled.DeviceRef():
                made = device(value.text)
            case pickled.EnumRef():
                made = self._enum(value, where)
            case pickled.ObjectState() | pickled.TaggedList() | pickled.TaggedDict():
                made = self._shared(value, type_, where)
            case tuple():
                made = self._tuple(value, type_, where)
            case _:
                made = value
        self._check(made, type_, where)
        return made

    def constant(self, value: pickled.ObjectState) -> ScriptObject:
        """The object that the code names as a constant.

        Raises:
            ArchiveError: its class is not in the code, or it is a module.
        """
        if (category := self.archive.class_info(value.type_name).category) != "class":
            raise ArchiveError(f"constants.pkl holds an object of the {category} {value.type_name}")
        made: ScriptObject = self.value(value, where="constants.pkl")
        return made

    def _check(self, made: Any, type_: Attribute, where: str) -> None:
        if isinstance(type_, InterfaceType) or (made is None and isinstance(type_, TensorType)):
            return
        # Containers were checked element by element while they were made.
        if isinstance(made, list | dict | tuple) and not isinstance(type_, UnionType):
            fits = type_ == ANY or isinstance(_inner(type_), _CONTAINERS[_container(made)])
        else:
            fits = is_instance(made, type_)
        if not fits:
            raise ArchiveError(
                f"{where} holds a {type(made).__name__} where the code declares "
                f"{annotation_text(type_)}"
            )

    def _shared(self, value: Any, type_: Attribute, where: str) -> Any:
        if (known := self._made.get(id(value))) is not None:
            return known[1]
        if isinstance(value, pickled.ObjectState):
            return self._object(value)
        inner = _inner(type_)
        if isinstance(value, pickled.TaggedList):
            element = inner.element if isinstance(inner, ListType) else ANY
            listed: list[Any] = []
            self._made[id(value)] = value, listed
            listed += (self.value(v, element, where) for v in value.elements)
            return listed
        key, item = (inner.key, inner.value) if isinstance(inner, DictType) else (ANY, ANY)
        table: dict[Any, Any] = {}
        self._made[id(value)] = value, table
        for k, v in value.items.items():
            table[self.value(k, key, where)] = self.value(v, item, where)
        return table

    def _tuple(self, value: tuple[pickled.Value, ...], type_: Attribute, where: str) -> Any:
        inner = _inner(type_)
        if not isinstance(inner, TupleType):
            return tuple(self.value(v, ANY, where) for v in value)
        if len(inner.elements) != len(value):
            raise ArchiveError(
                f"{where} holds {len(value)} elements where the code declares "
                f"{annotation_text(inner)}"
            )
        pairs = zip(value, inner.elements, strict=True)
        parts = [self.value(v, t, where) for v, t in pairs]
        if inner.field_names:
            return named_tuple(inner.class_name.data, inner.field_names)(*parts)
        return tuple(parts)

    def _enum(self, value: pickled.EnumRef, where: str) -> EnumValue:
        type_ = self.archive.world.named_type(value.type_name)
        if isinstance(type_, EnumType):
            for member, constant in self.archive.class_info(value.type_name).constants.items():
                if type(constant) is type(value.value) and constant == value.value:
                    return EnumValue(value.type_name, member, value.value)
        raise ArchiveError(
            f"{where} holds {value.value!r}, which is no member of {value.type_name}"
        )

    def _object(self, value: pickled.ObjectState) -> ScriptObject:
        info = self.archive.class_info(value.type_name)
        if info.category not in ("module", "class"):
            raise ArchiveError(f"data.pkl holds an object of the {info.category} {info.name}")
        made = ScriptObject(value.type_name)
        self._made[id(value)] = value, made
        if "__setstate__" in info.methods:
            self._set_state(made, value)
            return made
        if not isinstance(value.state, dict):
            raise ArchiveError(f"object of {info.name} has a state but no __setstate__")
        if unknown := value.state.keys() - info.attributes.keys():
            raise ArchiveError(
                f"{info.name} has no attribute {min(unknown)!r}, which data.pkl sets"
            )
        for name, type_ in info.attributes.items():
            where = f"{info.name}.{name}"
            if name not in value.state:
                raise ArchiveError(f"data.pkl has no value for the attribute {where}")
            made.attributes[name] = self.value(value.state[name], type_, where)
        return made

    def _set_state(self, made: ScriptObject, value: pickled.ObjectState) -> None:
        types = self.archive.class_info(value.type_name).attributes
        for name, attribute in value.before.items():
            wanted = ANY if attribute is None else types.get(name, ANY)
            made.attributes[name] = self.value(attribute, wanted, f"{value.type_name}.{name}")
        symbol = self.archive.compile_method(value.type_name, "__setstate__")
        signature = self.archive.class_info(value.type_name).compiled["__setstate__"]
        if isinstance(value.state, dict) or len(signature.arguments) != 2:
            raise ArchiveError(f"object of {value.type_name} has no state for its __setstate__")
        state = self.value(value.state, signature.arguments[1].type, symbol)
        self.interpreter.call(symbol, [made, state])


def _inner(type_: Attribute) -> Attribute:
    return type_.element if isinstance(type_, OptionalType) else type_


_CONTAINERS: dict[type, type[Attribute]] = {list: ListType, dict: DictType, tuple: TupleType}


def _container(made: object) -> type:
    return next(kind for kind in _CONTAINERS if isinstance(made, kind))
