"""What the globals of a file's pickles mean: the whole list of what a pickle may ask for.

A `Vocabulary` answers a REDUCE (a call in pickle's terms) by looking at the name and building a
plain value of `pickled`. A name that is not in it is refused by name when it is first read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tensorscript.base.dtypes import (
    BY_NAME,
    BY_WORD,
    QUANTIZED,
    DType,
    float32,
    float64,
    int64,
    uint8,
)
from tensorscript.base.errors import ArchiveError

from .pickled import (
    DeviceRef,
    DTypeRef,
    EnumRef,
    ParameterRef,
    PickleLimits,
    QuantizerRef,
    SizeRef,
    SparseRef,
    StorageRef,
    TaggedDict,
    TaggedList,
    TensorRef,
    Value,
)


@dataclass(frozen=True)
class Global:
    """A name from the pickle, checked by a vocabulary; it is never looked up in Python."""

    name: str


@dataclass(frozen=True, eq=False)
class Arguments:
    """A tuple that holds a global or a storage: good only as arguments, never as a value."""

    items: tuple[Item, ...]


@dataclass(frozen=True)
class Mark:
    """What MARK leaves on the stack."""


MARK: Final = Mark()
Item: TypeAlias = Value | Global | Mark | StorageRef | Arguments

Rebuilder: TypeAlias = Callable[[Item, PickleLimits], Value]

_CLASS = re.compile(r"__torch__(\.[A-Za-z_]\w*)+", re.ASCII)
_DEVICE = re.compile(r"[a-z]+(:\d{1,5})?", re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_MAX_RANK = 64
_STORAGES: dict[str, DType] = {f"torch.{word}Storage": dtype for word, dtype in BY_WORD.items()}
_QUANTIZED_STORAGES = {f"torch.{dtype.word}Storage": dtype for dtype in QUANTIZED}
_CHANNEL_SCHEMES = {
    "torch.per_channel_affine": (float64, int64),
    "torch.per_channel_affine_float_qparams": (float32, float32),
}
"""Kinds of quantizers along an axis, and the dtypes of their scales and zero points."""
_SCHEMES = {"torch.per_tensor_affine", *_CHANNEL_SCHEMES}
_BYTES = "torch.storage.UntypedStorage"
"""A storage of bytes: what checkpoints have of dtypes without a storage class in Python."""
_CLASSES = {**_STORAGES, **_QUANTIZED_STORAGES, _BYTES: uint8}
_LISTS: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "torch.jit._pickle.build_intlist": ("List[int]", int),
    "torch.jit._pickle.build_doublelist": ("List[float]", float),
    "torch.jit._pickle.build_boollist": ("List[bool]", bool),
    "torch.jit._pickle.build_tensorlist": ("List[Tensor]", (TensorRef, SparseRef, type(None))),
}
_UNSUPPORTED = {
    "torch._utils._rebuild_meta_tensor_no_storage": "meta tensors",
    "torch.QUInt4x2Storage": "quantized tensors of 4 bits",
    "torch.QUInt2x4Storage": "quantized tensors of 2 bits",
    "torch.ComplexHalfStorage": "tensors of complex32",
    "torch.Float8_e4m3fnStorage": "tensors of float8",
    "torch.Float8_e5m2Storage": "tensors of float8",
    "torch.jit._pickle.build_tensor_from_id": "tensors by number outside an archive of its time",
    "torch.distributed.rpc.rref": "remote references",
}


def is_class(name: str) -> bool:
    """Whether a global names a class of the archive's own code."""
    return _CLASS.fullmatch(name) is not None


@dataclass(frozen=True)
class Vocabulary:
    """What the pickles of one kind of file may refer to.

    Attributes:
        calls: names of functions to what calling them gives.
        storages: names of classes of storages, and of kinds of quantizers.
        values: names that are values themselves (dtypes).
        classes: whether the file's own classes may be named.
        refusal: what the file may refer to, in words.
        long_integers: whether integers may have more than 64 bits.
    """

    calls: Mapping[str, Rebuilder]
    storages: Collection[str]
    values: Mapping[str, Value]
    classes: bool
    refusal: str
    long_integers: bool = False

    def item(self, name: str) -> Item:
        """What a global stands for.

        Raises:
            ArchiveError: the file may not refer to it, or it is not supported.
        """
        if name in self.values:
            return self.values[name]
        if name in self.calls or name in self.storages or (self.classes and is_class(name)):
            return Global(name)
        if what := _UNSUPPORTED.get(name):
            raise ArchiveError(f"the archive holds {what} (`{name}`), which are not supported")
        raise ArchiveError(f"refuses global `{name}`: {self.refusal}")

    def call(self, name: str, args: Item, limits: PickleLimits) -> Value:
        """The value of calling the global `name` with `args`.

        Raises:
            ArchiveError: `name` is no function, or `args` are not what it takes.
        """
        if build := self.calls.get(name):
            return build(args, limits)
        if self.classes and is_class(name):
            return _enum(name, args)
        raise ArchiveError(f"refuses to call `{name}`: it is not a function")


def as_value(item: Item) -> Value:
    """`item`, unless it is only good as an argument.

    Raises:
        ArchiveError: a global, a storage or arguments stand where a value belongs.
    """
    if isinstance(item, Global):
        raise ArchiveError(f"global `{item.name}` stands where a value belongs")
    if isinstance(item, StorageRef | Arguments | Mark):
        raise ArchiveError("a storage, or a tuple with one, stands where a value belongs")
    return item


def rebuild_storage(args: Item, prefix: str) -> StorageRef:
    """The storage of a persistent id `("storage", class, key, location, numel)`.

    PyTorch before 1.5 wrote what the storage is a view of behind it, and in archives that is None.
    """
    items = args.items if isinstance(args, Arguments) else ()
    match items[:5]:
        case ("storage", Global(cls), str(key), str(location), int(numel)) if (
            items[5:] in ((), (None,))
            and cls in _CLASSES
            and numel >= 0
            and _KEY.fullmatch(key)
            and _DEVICE.fullmatch(location)
        ):
            return StorageRef(prefix, key, _CLASSES[cls], numel, location)
    raise ArchiveError("the archive holds a malformed storage reference")


def attributes(state: TaggedDict, owner: str) -> dict[str, Value]:
    """The attributes of an object of class `owner` from the dict that BUILD gives it."""
    named = {key: value for key, value in state.items.items() if isinstance(key, str)}
    if len(named) != len(state.items):
        raise ArchiveError(f"an object of {owner} has an attribute whose name is not a string")
    return named


def _tensor(args: Item, limits: PickleLimits) -> TensorRef:
    made = _strided(args, limits)
    if made.storage.dtype in QUANTIZED:
        raise ArchiveError("the archive holds a quantized tensor without its quantizer")
    return made


def _strided(args: Item, limits: PickleLimits) -> TensorRef:
    items = args.items if isinstance(args, Arguments) else ()
    sign: frozenset[str] = frozenset()
    match items:
        case (StorageRef() as storage, int(offset), tuple(size), tuple(stride), bool(grad), hooks):
            pass
        case (
            StorageRef() as storage,
            int(offset),
            tuple(size),
            tuple(stride),
            bool(grad),
            hooks,
            TaggedDict(items=metadata),
        ):
            sign = _sign(metadata)
        case _:
            raise ArchiveError("the archive holds a malformed tensor")
    if not isinstance(hooks, TaggedDict) or hooks.items:
        raise ArchiveError("the archive holds a tensor with backward hooks")
    tensor = TensorRef(storage, offset, _extents(size), _extents(stride), grad, sign=sign)
    check_bounds(tensor, limits)
    return tensor


def _sign(metadata: Mapping[Value, Value]) -> frozenset[str]:
    """Which of the two bits of a tensor are set.

    Raises:
        ArchiveError: something else is said of the tensor.
    """
    if not metadata.keys() <= {"conj", "neg"} or not all(v is True for v in metadata.values()):
        raise ArchiveError("the archive holds a malformed tensor")
    return frozenset(str(bit) for bit in metadata)


def _quantized_tensor(args: Item, limits: PickleLimits) -> TensorRef:
    """A tensor whose arguments have the quantizer before `requires_grad`."""
    match args.items if isinstance(args, Arguments) else ():
        case (storage, offset, size, stride, quantizer, *rest):
            plain = _strided(Arguments((storage, offset, size, stride, *rest)), limits)
            if plain.storage.dtype in QUANTIZED:
                return replace(plain, quantizer=_quantizer(quantizer, plain.size))
    raise ArchiveError("the archive holds a malformed quantized tensor")


def _quantizer(item: Item, size: tuple[int, ...]) -> QuantizerRef:
    match item.items if isinstance(item, Arguments) else ():
        case (Global("torch.per_tensor_affine"), int() | float() as scale, int(zero_point)):
            return QuantizerRef(float(scale), zero_point)
        case (Global(kind), TensorRef() as steps, TensorRef() as zeros, int(axis)) if (
            kind in _CHANNEL_SCHEMES and 0 <= axis < len(size)
        ):
            dtypes = steps.storage.dtype, zeros.storage.dtype
            if steps.size == zeros.size == (size[axis],) and dtypes == _CHANNEL_SCHEMES[kind]:
                return QuantizerRef(steps, zeros, axis)
    raise ArchiveError("the archive holds a malformed quantizer")


def _sparse_tensor(args: Item, limits: PickleLimits) -> SparseRef:
    match args.items if isinstance(args, Arguments) else args:
        case (1, tuple(size), bool(grad), TensorRef() as indices, TensorRef() as values,
              TaggedDict(items=hooks)) if not hooks:  # fmt: skip
            parts: tuple[TensorRef, ...] = (indices, values)
        case (2, tuple(size), bool(grad), TensorRef() as rows, TensorRef() as columns,
              TensorRef() as values, TaggedDict(items=hooks)) if not hooks:  # fmt: skip
            parts = (rows, columns, values)
        case _:
            raise ArchiveError("the archive holds a malformed sparse tensor")
    if any(part.storage.dtype is not int64 for part in parts[:-1]):
        raise ArchiveError("the archive holds a sparse tensor whose indices are not of int64")
    extents = _extents(size)
    count = math.prod(extents)
    if len(extents) > _MAX_RANK or min(extents, default=0) < 0 or count > limits.tensor_elements:
        raise ArchiveError(f"the archive holds a sparse tensor of size {list(extents)}")
    return SparseRef(extents, grad, parts)


def _tensor_over_bytes(args: Item, limits: PickleLimits) -> Value:
    """A tensor whose dtype stands beside a storage of bytes."""
    match args.items if isinstance(args, Arguments) else ():
        case (StorageRef(dtype=stored) as storage, *plain, DTypeRef(dtype)) if (
            stored is uint8 and storage.numel % dtype.itemsize == 0
        ):
            typed = replace(storage, dtype=dtype, numel=storage.numel // dtype.itemsize)
            return _tensor(Arguments((typed, *plain)), limits)
    raise ArchiveError("the checkpoint holds a malformed tensor")


def _extents(values: tuple[Value, ...]) -> tuple[int, ...]:
    extents = tuple(v for v in values if isinstance(v, int) and not isinstance(v, bool))
    if len(extents) != len(values):
        raise ArchiveError("the archive holds a tensor whose size or stride is not of integers")
    return extents


def check_bounds(tensor: TensorRef, limits: PickleLimits) -> None:
    """Raise ArchiveError unless a tensor lies in its storage and is within the limits."""
    size, stride, storage = tensor.size, tensor.stride, tensor.storage
    where = f"tensor in storage {storage.record!r}"
    if len(size) != len(stride) or len(size) > _MAX_RANK:
        raise ArchiveError(f"{where} has {len(size)} sizes and {len(stride)} strides")
    if min((tensor.offset, *size, *stride)) < 0:
        raise ArchiveError(f"{where} has a negative offset, size or stride")
    if tensor.numel > limits.tensor_elements:
        raise ArchiveError(f"{where} has {tensor.numel} elements, over {limits.tensor_elements}")
    if tensor.numel == 0:
        return
    last = tensor.offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if last >= storage.numel:
        raise ArchiveError(f"{where} reaches element {last} of {storage.numel}")


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
    if not _DEVICE.fullmatch(text):
        raise ArchiveError("the archive holds a malformed device")
    return DeviceRef(text)


def _complex(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (int() | float() as real, int() | float() as imag):
            return complex(real, imag)
    raise ArchiveError("the archive holds a malformed complex number")


def _enum(name: str, value: Item) -> Value:
    if isinstance(value, int | float | str):
        return EnumRef(name, value)
    raise ArchiveError(f"enum member of `{name}` has a value that is no int, float or str")


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
            return SizeRef(_extents(sizes))
    raise ArchiveError("the checkpoint holds a malformed torch.Size")


def _bytes(args: Item, limits: PickleLimits) -> Value:
    match args:
        case (str(text), "latin1") if text.isascii() or max(map(ord, text)) < 256:
            return text.encode("latin1")
    raise ArchiveError("the checkpoint holds malformed bytes")


_TENSORS: dict[str, Rebuilder] = {
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch.device": _device,
    "builtins.complex": _complex,
}
ARCHIVE = Vocabulary(
    {
        **_TENSORS,
        "torch._utils._rebuild_qtensor": _quantized_tensor,
        "torch._utils._rebuild_sparse_tensor": _sparse_tensor,
        "torch.jit._pickle.restore_type_tag": _restore_tag,
        "collections.OrderedDict": _ordered_dict,
        **{name: _tagged_list(name) for name in _LISTS},
    },
    {*_STORAGES, *_QUANTIZED_STORAGES, *_SCHEMES},
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
        "torch._utils._rebuild_tensor_v3": _tensor_over_bytes,
        "torch.Size": _size,
        "_codecs.encode": _bytes,
    },
    _CLASSES,
    {f"torch.{name}": DTypeRef(dtype) for name, dtype in BY_NAME.items()},
    False,
    "a checkpoint may only hold tensors, parameters, containers, numbers, strings, devices, dtypes "
    "and sizes; whole modules are never loaded",
    long_integers=True,
)
"""What `torch.save` writes of plain data."""
