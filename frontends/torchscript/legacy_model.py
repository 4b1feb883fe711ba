"""`model.json` of PyTorch 1.0 to 1.2: the modules and tensors of an archive, checked.

It is the protocol buffer `torch.ModelDef` (`caffe2/proto/torch.proto` of PyTorch 1.13) as JSON:
64-bit integers are strings, and a field that has its default may be missing.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from tensorscript.base import dtypes
from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Fields: TypeAlias = dict[str, Json]

_MAX_BYTES = 1 << 23
_MAX_MODULES = 1 << 16
_INTEGER_DIGITS = 20
_DTYPES: dict[str, DType] = {
    "FLOAT": dtypes.float32,
    "INT32": dtypes.int32,
    "BYTE": dtypes.uint8,
    "BOOL": dtypes.bool_,
    "UINT8": dtypes.uint8,
    "INT8": dtypes.int8,
    "INT16": dtypes.int16,
    "INT64": dtypes.int64,
    "FLOAT16": dtypes.float16,
    "DOUBLE": dtypes.float64,
}
"""`caffe2.TensorProto.DataType` to dtypes."""


@dataclass(frozen=True)
class TensorDef:
    """A tensor of the table: a strided view of the record `key`."""

    dims: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: DType
    requires_grad: bool
    key: str
    device: str


@dataclass(frozen=True)
class ParameterDef:
    """A parameter, or a buffer of PyTorch 1.0: a tensor of the table by number, -1 for none."""

    name: str
    tensor: int
    is_buffer: bool


@dataclass(frozen=True)
class AttributeDef:
    """Another attribute: its type as text, and its number in `attributes.pkl`, -1 for none."""

    name: str
    type_text: str
    number: int


@dataclass(frozen=True)
class ModuleDef:
    """A module: `code` is the record of its methods' text, `state` what `__getstate__` gave."""

    name: str
    submodules: tuple[ModuleDef, ...]
    parameters: tuple[ParameterDef, ...]
    attributes: tuple[AttributeDef, ...]
    code: str | None
    state: int | None


@dataclass(frozen=True)
class ModelDef:
    """The whole file."""

    version: int
    main: ModuleDef
    tensors: tuple[TensorDef, ...]


def read_model(data: memoryview) -> ModelDef:
    """The contents of a `model.json`.

    Raises:
        ArchiveError: it is too large, no JSON, nested too deep, or not of that form.
    """
    if len(data) > _MAX_BYTES:
        raise ArchiveError(f"model.json has {len(data)} bytes, over the limit of {_MAX_BYTES}")
    try:
        root = json.loads(bytes(data))
        model = _fields(root)
        count = _Counter(_MAX_MODULES)
        main = _module(_fields(model.get("mainModule")), count)
    except RecursionError:
        raise ArchiveError("model.json is nested too deep") from None
    except ValueError as error:
        raise ArchiveError(f"model.json is no JSON: {error}") from None
    tensors = tuple(_tensor(_fields(item)) for item in _items(model, "tensors"))
    return ModelDef(_integer(model, "protoVersion"), main, tensors)


@dataclass
class _Counter:
    """Modules that may still be read."""

    left: int

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise ArchiveError(f"model.json holds more than {_MAX_MODULES} modules")


def _module(fields: Fields, count: _Counter) -> ModuleDef:
    count.take()
    has_state = "getStateAttributeId" in fields
    return ModuleDef(
        _text(fields, "name"),
        tuple(_module(_fields(item), count) for item in _items(fields, "submodules")),
        tuple(_parameter(_fields(item)) for item in _items(fields, "parameters")),
        tuple(_attribute(_fields(item)) for item in _items(fields, "attributes")),
        _record(fields, "torchscriptArena"),
        _integer(fields, "getStateAttributeId") if has_state else None,
    )


def _parameter(fields: Fields) -> ParameterDef:
    tensor, is_buffer = _integer(fields, "tensorId"), _flag(fields, "isBuffer")
    return ParameterDef(_text(fields, "name"), tensor, is_buffer)


def _attribute(fields: Fields) -> AttributeDef:
    return AttributeDef(_text(fields, "name"), _text(fields, "type"), _integer(fields, "id"))


def _tensor(fields: Fields) -> TensorDef:
    word = _text(fields, "dataType")
    if _flag(fields, "isQuantized"):
        raise ArchiveError("the archive holds quantized tensors, which are not supported")
    if word not in _DTYPES:
        raise ArchiveError(f"the archive holds tensors of {word!r}, which are not supported")
    return TensorDef(
        tuple(_as_integer(item) for item in _items(fields, "dims")),
        tuple(_as_integer(item) for item in _items(fields, "strides")),
        _integer(fields, "offset"),
        _DTYPES[word],
        _flag(fields, "requiresGrad"),
        _record(fields, "data") or "",
        _text(fields, "device"),
    )


def _record(fields: Fields, name: str) -> str | None:
    """The record that a `RecordRef` names; None where there is no such field."""
    return _text(_fields(fields[name]), "key") if name in fields else None


def _fields(value: Json) -> Fields:
    if isinstance(value, dict):
        return value
    raise ArchiveError("model.json has something else where an object belongs")


def _items(fields: Fields, name: str) -> list[Json]:
    value = fields.get(name, [])
    if isinstance(value, list):
        return value
    raise ArchiveError(f"model.json has something else where the list {name!r} belongs")


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "")
    if isinstance(value, str):
        return value
    raise ArchiveError(f"model.json has something else where the text {name!r} belongs")


def _flag(fields: Fields, name: str) -> bool:
    value = fields.get(name, False)
    if isinstance(value, bool):
        return value
    raise ArchiveError(f"model.json has something else where the flag {name!r} belongs")


def _integer(fields: Fields, name: str) -> int:
    return _as_integer(fields.get(name, 0))


def _as_integer(value: Json) -> int:
    """An integer as such, or as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= _INTEGER_DIGITS:
        digits = value.removeprefix("-")
        if digits.isascii() and digits.isdigit():
            return int(value)
    raise ArchiveError("model.json has something else where an integer belongs")
