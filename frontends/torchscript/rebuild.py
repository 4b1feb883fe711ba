"""What the globals of archives' and checkpoints' pickles mean: all that either may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tensorscript.base.dtypes import BY_NAME
from tensorscript.base.errors import ArchiveError

from .pickled import (
    DeviceRef,
    DTypeRef,
    ParameterRef,
    PickleLimits,
    SizeRef,
    SparseRef,
    TaggedDict,
    TaggedList,
    TensorRef,
    Value,
)
from .rebuild_tensors import (
    CLASSES,
    DEVICE,
    QUANTIZED_STORAGES,
    SCHEMES,
    STORAGES,
    extents,
    quantized_tensor,
    sparse_tensor,
    tensor,
    tensor_over_bytes,
)
from .vocabulary import Item, Rebuilder, Vocabulary

_LISTS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "torch.jit._pickle.build_intlist": ("List[int]", int),
    "torch.jit._pickle.build_doublelist": ("List[float]", float),
    "torch.jit._pickle.build_boollist": ("List[bool]", bool),
    "torch.jit._pickle.build_tensorlist": ("List[Tensor]", (TensorRef, SparseRef, type(None))),
}


def _tagged_list(name: str) -> Callable[[Item, PickleLimits], Value]:
    type_str, kinds = _LISTS[name]

    def build(args: Item, limits: PickleLimits) -> Value:
        match args:
            case (TaggedList() as value,):
                if not all(_is_exactly(element, kinds) for element in value.elements):
                    raise ArchiveError(f"a {type_str} in the archive holds another type")
                return _tag(value, type_str)
        raise ArchiveError(f"`{name}` needs one list")

    return build


def _is_exactly(value: Value, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (kinds is not int or not isinstance(value, bool))


def _restore_tag(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (TaggedList() | TaggedDict() as value, str(type_str)) if type_str:
            return _tag(value, type_str)
    raise ArchiveError("a type tag in the archive belongs to no list or dict")


def _tag(value: TaggedList | TaggedDict, type_str: str) -> Value:
    if value.type_str not in ("", type_str):
        raise ArchiveError(f"a container has two types, {value.type_str} and {type_str}")
    value.type_str = type_str
    return value


def _ordered_dict(args: Item, limits: PickleLimits) -> Value:
    if args == ():
        return TaggedDict()
    raise ArchiveError("`collections.OrderedDict` in the archive has arguments")


def _device(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (str(text),):
            pass
        case (str(kind), int(index)):
            text = f"{kind}:{index}"
        case _:
            text = ""
    if not DEVICE.fullmatch(text):
        raise ArchiveError("the archive holds a malformed device")
    return DeviceRef(text)


def _complex(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (int() | float() as real, int() | float() as imag):
            return complex(real, imag)
    raise ArchiveError("the archive holds a malformed complex number")


def _ordered(args: Item, limits: PickleLimits) -> Value:
    if args == ():
        return TaggedDict(ordered=True)
    raise ArchiveError("`collections.OrderedDict` in the checkpoint has arguments")


def _parameter(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (TensorRef() as tensor, bool(grad), TaggedDict(items=hooks)) if not hooks:
            return ParameterRef(tensor, grad)
    raise ArchiveError("the checkpoint holds a malformed parameter")


def _size(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (tuple(sizes),):
            return SizeRef(extents(sizes))
    raise ArchiveError("the checkpoint holds a malformed torch.Size")


def _bytes(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (str(text), "latin1") if text.isascii() or max(map(ord, text)) < 256:
            return text.encode("latin1")
    raise ArchiveError("the checkpoint holds malformed bytes")


_TENSORS: dict[str, Rebuilder] = {
    "torch._utils._rebuild_tensor_v2": tensor,
    "torch.device": _device,
    "builtins.complex": _complex,
}
ARCHIVE = Vocabulary(
    {
        **_TENSORS,
        "torch._utils._rebuild_qtensor": quantized_tensor,
        "torch._utils._rebuild_sparse_tensor": sparse_tensor,
        "torch.jit._pickle.restore_type_tag": _restore_tag,
        "collections.OrderedDict": _ordered_dict,
        **{name: _tagged_list(name) for name in _LISTS},
    },
    {*STORAGES, *QUANTIZED_STORAGES, *SCHEMES},
    {},
    True,
    "an archive may only refer to tensors, containers, devices and the classes in its own code",
)
"""What TorchScript writes."""


def archive_vocabulary(more: Mapping[str, Rebuilder]) -> Vocabulary:
    """`ARCHIVE` with further functions."""
    return replace(ARCHIVE, calls={**ARCHIVE.calls, **more})


CHECKPOINT = Vocabulary(
    {
        **_TENSORS,
        "__builtin__.complex": _complex,
        "collections.OrderedDict": _ordered,
        "torch._utils._rebuild_parameter": _parameter,
        "torch._utils._rebuild_tensor_v3": tensor_over_bytes,
        "torch.Size": _size,
        "_codecs.encode": _bytes,
    },
    CLASSES,
    {f"torch.{name}": DTypeRef(dtype) for name, dtype in BY_NAME.items()},
    False,
    "a checkpoint may only hold tensors, parameters, containers, numbers, strings, devices, dtypes "
    "and sizes; whole modules are never loaded",
    long_integers=True,
)
"""What `torch.save` writes of plain data."""
