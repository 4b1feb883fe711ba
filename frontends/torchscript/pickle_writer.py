"""Writes the values of `pickled` as the pickles that archives hold (protocol 2).

The opcodes and the memoising are PyTorch's: strings, globals and storages are written once and
recalled, and so is every container, tensor and object that occurs again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from tensorscript.base.errors import ArchiveError

from .pickled import (
    DeviceRef,
    EnumRef,
    ObjectState,
    QuantizerRef,
    SparseRef,
    StorageRef,
    TaggedDict,
    TaggedList,
    TensorRef,
    Value,
)

_TAGGED_LISTS = {
    "List[int]": ("torch.jit._pickle", "build_intlist"),
    "List[float]": ("torch.jit._pickle", "build_doublelist"),
    "List[bool]": ("torch.jit._pickle", "build_boollist"),
    "List[Tensor]": ("torch.jit._pickle", "build_tensorlist"),
}

_SHORT_TUPLES = {0: b")", 1: b"\x85", 2: b"\x86", 3: b"\x87"}


def pickle(value: Value) -> bytes:
    """The pickle of a value; inverse of `unpickle`.

    Raises:
        ArchiveError: an integer has over 64 bits.
    """
    return PickleWriter().whole(value)


class PickleWriter:
    """Appends opcodes to `out`; one method a kind of value, found by table."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.memo: dict[object, int] = {}
        # Recalled by identity, so they must stay alive while the pickle is written.
        self.kept: list[object] = []

    def whole(self, value: Value) -> bytes:
        """The pickle of one value."""
        self.value(value)
        return b"\x80\x02" + bytes(self.out) + b"."

    def value(self, value: Any) -> None:
        # A NamedTuple is written as any tuple: its class comes from the declared type.
        write = PickleWriter.tuple_ if isinstance(value, tuple) else self.kinds()[type(value)]
        write(self, value)

    def kinds(self) -> Mapping[type, Callable[[Any, Any], None]]:
        """The method for every type of value but tuples."""
        return KINDS

    # The memo

    def recall(self, key: object) -> bool:
        """Whether what `key` stands for was written before; then it is recalled."""
        at = self.memo.get(key)
        if at is None:
            return False
        self.out += struct.pack("<BB", 0x68, at) if at < 256 else struct.pack("<BI", 0x6A, at)
        return True

    def memoize(self, key: object) -> None:
        at = self.memo[key] = len(self.memo)
        self.out += struct.pack("<BB", 0x71, at) if at < 256 else struct.pack("<BI", 0x72, at)

    def recall_same(self, value: object) -> bool:
        return self.recall(id(value))

    def memoize_same(self, value: object) -> None:
        self.kept.append(value)
        self.memoize(id(value))

    # Atoms

    def global_(self, module: str, name: str) -> None:
        if not self.recall((module, name)):
            self.out += f"c{module}\n{name}\n".encode()
            self.memoize((module, name))

    def class_(self, qualified_name: str) -> None:
        module, _, name = qualified_name.rpartition(".")
        self.global_(module, name)

    def text(self, value: str) -> None:
        if not self.recall(value):
            raw = value.encode()
            self.out += struct.pack("<BI", 0x58, len(raw)) + raw
            self.memoize(value)

    def integer(self, value: int) -> None:
        if 0 <= value < 256:
            self.out += struct.pack("<BB", 0x4B, value)
        elif 0 <= value < 65536:
            self.out += struct.pack("<BH", 0x4D, value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += struct.pack("<Bi", 0x4A, value)
        elif -(1 << 63) <= value < 1 << 63:
            self.out += struct.pack("<BBq", 0x8A, 8, value)
        else:
            raise ArchiveError(f"the integer {value} has over 64 bits")

    def float_(self, value: float) -> None:
        self.out += struct.pack(">Bd", 0x47, value)

    def bool_(self, value: bool) -> None:
        self.out += b"\x88" if value else b"\x89"

    def none(self, value: None) -> None:
        self.out += b"N"

    # Structure: `(`...`t` is a tuple, and `R` calls the global below the tuple on top.

    def tuple_(self, values: tuple[Value, ...]) -> None:
        short = _SHORT_TUPLES.get(len(values))
        if short is None:
            self.out += b"("
        for value in values:
            self.value(value)
        self.out += b"t" if short is None else short

    def marked(self, values: tuple[Value, ...]) -> None:
        self.out += b"("
        for value in values:
            self.value(value)
        self.out += b"t"

    def complex_(self, value: complex) -> None:
        self.global_("builtins", "complex")
        self.tuple_((value.real, value.imag))
        self.out += b"R"

    def device(self, value: DeviceRef) -> None:
        self.global_("torch", "device")
        self.tuple_((value.text,))
        self.out += b"R"

    def enum(self, value: EnumRef) -> None:
        self.class_(value.type_name)
        self.value(value.value)
        self.out += b"R"

    def list_(self, value: TaggedList) -> None:
        if self.recall_same(value):
            return
        special = _TAGGED_LISTS.get(value.type_str)
        module, name = special or ("torch.jit._pickle", "restore_type_tag")
        self.global_(module, name)
        self.out += b"(]("
        for element in value.elements:
            self.value(element)
        self.out += b"e"
        if special is None:
            self.text(value.type_str)
        self.out += b"tR"
        self.memoize_same(value)

    def dict_(self, value: TaggedDict) -> None:
        if self.recall_same(value):
            return
        self.global_("torch.jit._pickle", "restore_type_tag")
        self.out += b"}"
        self.items(value.items)
        self.text(value.type_str)
        self.out += b"\x86R"
        self.memoize_same(value)

    def items(self, items: Mapping[Any, Value]) -> None:
        self.out += b"("
        for key, item in items.items():
            self.value(key)
            self.value(item)
        self.out += b"u"

    def object(self, value: ObjectState) -> None:
        if self.recall_same(value):
            return
        self.class_(value.type_name)
        self.out += b")\x81"
        if isinstance(value.state, dict):
            self.out += b"}"
            self.items(value.state)
        else:
            self.value(value.state)
        self.out += b"b"
        self.memoize_same(value)

    def tensor(self, value: TensorRef) -> None:
        if self.recall_same(value):
            return
        over_bytes = self.is_over_bytes(value.storage)
        if value.quantizer is None:
            self.global_("torch._utils", f"_rebuild_tensor_v{3 if over_bytes else 2}")
        else:
            self.global_("torch._utils", "_rebuild_qtensor")
        self.out += b"("
        self.storage(value.storage)
        self.integer(value.offset)
        self.marked(value.size)
        self.marked(value.stride)
        if value.quantizer is not None:
            self.quantizer(value.quantizer)
        self.bool_(value.requires_grad)
        self.global_("collections", "OrderedDict")
        self.out += b")R"
        if over_bytes:
            self.global_("torch", value.storage.dtype.name)
        if value.sign:
            self.sign(value.sign)
        self.out += b"tR"
        self.memoize_same(value)

    def sparse(self, value: SparseRef) -> None:
        if self.recall_same(value):
            return
        self.global_("torch._utils", "_rebuild_sparse_tensor")
        self.out += b"("
        self.integer(2 if value.is_by_rows else 1)
        self.marked(value.size)
        self.bool_(value.requires_grad)
        for part in value.parts:
            self.tensor(part)
        self.global_("collections", "OrderedDict")
        self.out += b")RtR"
        self.memoize_same(value)

    def sign(self, bits: frozenset[str]) -> None:
        """The dict of what else is said of a tensor."""
        self.out += b"}"
        for bit in sorted(bits):
            self.text(bit)
            self.out += b"\x88s"

    def is_over_bytes(self, ref: StorageRef) -> bool:
        """Whether the storage is written as bytes, with the dtype beside it."""
        return False

    def quantizer(self, value: QuantizerRef) -> None:
        self.out += b"("
        self.global_("torch", _scheme(value))
        self.value(value.scale)
        self.value(value.zero_point)
        if value.axis is not None:
            self.integer(value.axis)
        self.out += b"t"

    def storage(self, ref: StorageRef) -> None:
        if self.recall(ref):
            return
        self.out += b"("
        self.text("storage")
        over_bytes = self.is_over_bytes(ref)
        if over_bytes:
            self.global_("torch.storage", "UntypedStorage")
        else:
            self.global_("torch", f"{ref.dtype.word}Storage")
        self.text(ref.key)
        self.text(ref.location)
        self.integer(ref.numel * (ref.dtype.itemsize if over_bytes else 1))
        self.out += b"tQ"
        self.memoize(ref)


KINDS: dict[type, Callable[[PickleWriter, Any], None]] = {
    bool: PickleWriter.bool_,
    int: PickleWriter.integer,
    float: PickleWriter.float_,
    complex: PickleWriter.complex_,
    str: PickleWriter.text,
    type(None): PickleWriter.none,
    DeviceRef: PickleWriter.device,
    EnumRef: PickleWriter.enum,
    TaggedList: PickleWriter.list_,
    TaggedDict: PickleWriter.dict_,
    ObjectState: PickleWriter.object,
    TensorRef: PickleWriter.tensor,
    SparseRef: PickleWriter.sparse,
}


def _scheme(quantizer: QuantizerRef) -> str:
    """PyTorch's name of a kind of quantizer."""
    if quantizer.axis is None:
        return "per_tensor_affine"
    zeros = quantizer.zero_point
    is_float = isinstance(zeros, TensorRef) and zeros.storage.dtype.is_floating_point
    return "per_channel_affine_float_qparams" if is_float else "per_channel_affine"
