"""Run-time values as the pickled state of an archive; `restore` is the way back.

What is shared stays shared: an object, tensor or container is captured once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArchiveError
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.dialects.ts.types import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    STRING,
    TENSOR,
    AnyListType,
    AnyType,
    ClassType,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    UnionType,
)
from tensorscript.eager.device import device
from tensorscript.eager.storage import Array
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.frontends.torchscript import pickled
from tensorscript.frontends.torchscript.storages import StorageTable
from tensorscript.runtime.instances import is_instance
from tensorscript.runtime.values import EnumValue, ScriptObject


class Capturer:
    """Captures the objects below one root.

    Args:
        root: the module that will be saved, or objects that its code names.
        class_info: declarations by name.
        get_state: calls the `__getstate__` of an object.
        prefix: the folder of the storages in the archive.
        others: further arrays that will be stored.
    """

    def __init__(
        self,
        root: ScriptObject | tuple[ScriptObject, ...],
        class_info: Callable[[str], ClassInfo],
        get_state: Callable[[ScriptObject], Any],
        prefix: str = "data",
        others: Iterable[tuple[Array, DType]] = (),
    ) -> None:
        self._class_info = class_info
        self._get_state = get_state
        self._states: dict[int, Any] = {}
        self._captured: dict[int, tuple[object, pickled.Value]] = {}
        self.storages = StorageTable(prefix, [*others, *self._arrays(root)])

    def _arrays(self, root: Any) -> Iterator[tuple[Array, DType]]:
        """What is stored of every tensor below `root`."""
        for tensor in self._survey(root):
            if tensor._sparse is not None:
                yield from ((part._array, part.dtype) for part in tensor._sparse.parts)
                continue
            yield tensor._array, tensor.dtype
            if (held := tensor._quantizer) is not None and held.axis is not None:
                yield from zip((held.scale, held.zero_point), held.dtypes, strict=True)

    def _survey(self, root: Any) -> list[Tensor]:
        """Every tensor below `root`; calls each `__getstate__` once on the way."""
        tensors: list[Tensor] = []
        todo: list[Any] = [root]
        seen: set[int] = set()
        while todo:
            value = todo.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Tensor):
                tensors.append(value)
            elif isinstance(value, ScriptObject) and self._has_state(value):
                state = self._states[id(value)] = self._get_state(value)
                todo.append(state)
            else:
                todo += _inside(value)
        return tensors

    def _has_state(self, value: ScriptObject) -> bool:
        return "__getstate__" in self._class_info(value.class_name).methods

    def constant(self, value: object) -> pickled.Value:
        """The state of an object that the code names."""
        return self.value(value, ANY)

    def object(self, value: ScriptObject) -> pickled.ObjectState:
        """The state of an object: its attributes in class order, or what `__getstate__` gave.

        Raises:
            ArchiveError: it holds what archives cannot.
        """
        made = pickled.ObjectState(value.class_name)
        self._captured[id(value)] = value, made
        info = self._class_info(value.class_name)
        if id(value) in self._states:
            type = info.compiled["__getstate__"].returns[0]
            made.state = self.value(self._states[id(value)], type)
        else:
            attributes = info.attributes.items()
            made.state = {name: self.value(value.attributes[name], t) for name, t in attributes}
        return made

    def value(self, value: Any, type: Attribute) -> pickled.Value:
        """The pickled form of a value.

        Args:
            type: the declared type of the place that holds it.

        Raises:
            ArchiveError: archives cannot hold it.
        """
        match value:
            case bool() | int() | float() | complex() | str() | None:
                return value
            case device():
                return pickled.DeviceRef(str(value))
            case EnumValue():
                return pickled.EnumRef(value.class_name, value.value)
            case tuple():
                inner = _own_type(value, type)
                types = inner.elements if isinstance(inner, TupleType) else [ANY] * len(value)
                return tuple(self.value(v, t) for v, t in zip(value, types, strict=True))
        if (known := self._captured.get(id(value))) is not None:
            return known[1]
        made = self._shared(value, type)
        self._captured[id(value)] = value, made
        return made

    def _shared(self, value: Any, type: Attribute) -> pickled.Value:
        inner = _own_type(value, type)
        match value:
            case ScriptObject():
                return self.object(value)
            case Tensor():
                return self._tensor(value)
            case list():
                element = inner.element if isinstance(inner, ListType) else ANY
                listed = [self.value(v, element) for v in value]
                return pickled.TaggedList(listed, annotation_text(inner))
            case dict():
                key, item = (inner.key, inner.value) if isinstance(inner, DictType) else (ANY, ANY)
                items = {self.value(k, key): self.value(v, item) for k, v in value.items()}
                return pickled.TaggedDict(items, annotation_text(inner))
        raise ArchiveError(f"Cannot serialize a value of type {value.__class__.__name__}")

    def _tensor(self, value: Tensor) -> pickled.TensorRef | pickled.SparseRef:
        if (placed := value._sparse) is not None:
            held_as = tuple(map(self.storages.ref_of, placed.parts))
            return pickled.SparseRef(value._array.shape, value.requires_grad, held_as)
        made = self.storages.ref_of(value)
        if (held := value._quantizer) is None:
            return made
        if held.axis is None:
            numbers = pickled.QuantizerRef(float(held.scale), int(held.zero_point))
            return replace(made, quantizer=numbers)
        parts = zip((held.scale, held.zero_point), held.dtypes, strict=True)
        scales, zeros = (self.storages.ref(part, dtype) for part, dtype in parts)
        return replace(made, quantizer=pickled.QuantizerRef(scales, zeros, held.axis))


def _inside(value: Any) -> Iterable[Any]:
    match value:
        case ScriptObject():
            return value.attributes.values()
        case list() | tuple():
            return value
        case dict():
            return [*value, *value.values()]
    return ()


def _own_type(value: Any, type: Attribute) -> Attribute:
    """The type of the value itself in a place of type `type`."""
    match type:
        case OptionalType():
            return _own_type(value, type.element)
        case UnionType():
            return next((m for m in type.members if is_instance(value, m)), ANY)
        case AnyType() | AnyListType():
            return _dynamic_type(value)
    return type


def _dynamic_type(value: Any) -> Attribute:
    """The type that a value in an `Any` place seems to have."""
    match value:
        case list():
            return ListType(_joined(value))
        case dict():
            return DictType(_joined(value), _joined(value.values()))
        case tuple():
            return TupleType.of(map(_dynamic_type, value))
        case ScriptObject():
            return ClassType(StringAttr(value.class_name))
    return _PLAIN.get(type(value), ANY)


_PLAIN: dict[type, Attribute] = {
    bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STRING, Tensor: TENSOR,
}  # fmt: skip


def _joined(values: Iterable[Any]) -> Attribute:
    """One type for all elements of a container; tensors where there are none."""
    types = list(map(_dynamic_type, values))
    return typing.unify_all(types) or ANY if types else TENSOR
