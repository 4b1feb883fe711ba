"""Storages and tensors of a pickle: every size, stride and offset is checked before it is used."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from tensorscript.base.dtypes import BY_WORD, QUANTIZED, DType, float32, float64, int64, uint8
from tensorscript.base.errors import ArchiveError

from .pickled import (
    DTypeRef,
    PickleLimits,
    QuantizerRef,
    SparseRef,
    StorageRef,
    TaggedDict,
    TensorRef,
    Value,
)
from .vocabulary import Arguments, Global, Item

DEVICE = re.compile(r"[a-z]+(:\d{1,5})?", re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_MAX_RANK = 64
_MAX_BYTES = 2**63 - 1
STORAGES: dict[str, DType] = {f"torch.{word}Storage": dtype for word, dtype in BY_WORD.items()}
QUANTIZED_STORAGES = {f"torch.{dtype.word}Storage": dtype for dtype in QUANTIZED}
CHANNEL_SCHEMES = {
    "torch.per_channel_affine": (float64, int64),
    "torch.per_channel_affine_float_qparams": (float32, float32),
}
"""Kinds of quantizers along an axis, and the dtypes of their scales and zero points."""
SCHEMES = {"torch.per_tensor_affine", *CHANNEL_SCHEMES}
_BYTES = "torch.storage.UntypedStorage"
"""A storage of bytes: what checkpoints have of dtypes without a storage class in Python."""
CLASSES = {**STORAGES, **QUANTIZED_STORAGES, _BYTES: uint8}


def rebuild_storage(args: Item, prefix: str) -> StorageRef:
    """The storage of a persistent id `("storage", class, key, location, numel)`.

    PyTorch before 1.5 wrote what the storage is a view of behind it, and in archives that is None.
    """
    items = args.items if isinstance(args, Arguments) else ()
    match items[:5]:
        case ("storage", Global(cls), str(key), str(location), int(numel)) if (
            items[5:] in ((), (None,))
            and cls in CLASSES
            and numel >= 0
            and _KEY.fullmatch(key)
            and DEVICE.fullmatch(location)
        ):
            return StorageRef(prefix, key, CLASSES[cls], numel, location)
    raise ArchiveError("the archive holds a malformed storage reference")


def tensor(args: Item, limits: PickleLimits) -> TensorRef:
    """A strided tensor, as `_rebuild_tensor_v2` is called for.

    Raises:
        ArchiveError: it is malformed, or leaves its storage or the limits.
    """
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
    tensor = TensorRef(storage, offset, extents(size), extents(stride), grad, sign=sign)
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


def quantized_tensor(args: Item, limits: PickleLimits) -> TensorRef:
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
            kind in CHANNEL_SCHEMES and 0 <= axis < len(size)
        ):
            dtypes = steps.storage.dtype, zeros.storage.dtype
            if steps.size == zeros.size == (size[axis],) and dtypes == CHANNEL_SCHEMES[kind]:
                return QuantizerRef(steps, zeros, axis)
    raise ArchiveError("the archive holds a malformed quantizer")


def sparse_tensor(args: Item, limits: PickleLimits) -> SparseRef:
    """A tensor of coordinates (1) or of compressed rows (2) with its parts."""
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
    sizes = extents(size)
    count = math.prod(sizes)
    if len(sizes) > _MAX_RANK or min(sizes, default=0) < 0 or count > limits.tensor_elements:
        raise ArchiveError(f"the archive holds a sparse tensor of size {list(sizes)}")
    return SparseRef(sizes, grad, parts)


def tensor_over_bytes(args: Item, limits: PickleLimits) -> Value:
    """A tensor whose dtype stands beside a storage of bytes."""
    match args.items if isinstance(args, Arguments) else ():
        case (StorageRef(dtype=stored) as storage, *plain, DTypeRef(dtype)) if (
            stored is uint8 and storage.numel % dtype.itemsize == 0
        ):
            typed = replace(storage, dtype=dtype, numel=storage.numel // dtype.itemsize)
            return tensor(Arguments((typed, *plain)), limits)
    raise ArchiveError("the checkpoint holds a malformed tensor")


def extents(values: tuple[Value, ...]) -> tuple[int, ...]:
    """Sizes or strides, which must be integers."""
    integers = tuple(v for v in values if isinstance(v, int) and not isinstance(v, bool))
    if len(integers) != len(values):
        raise ArchiveError("the archive holds a tensor whose size or stride is not of integers")
    return integers


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
    last = tensor.offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if tensor.numel and last >= storage.numel:
        raise ArchiveError(f"{where} reaches element {last} of {storage.numel}")
    if max((math.prod(n or 1 for n in size), *stride)) * storage.dtype.itemsize > _MAX_BYTES:
        raise ArchiveError(f"{where} has a size or stride of more than {_MAX_BYTES} bytes")
