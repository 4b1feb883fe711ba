"""Writes the pickles of checkpoints: containers as Python writes them, and a few more values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensorscript.base.dtypes import WIDE_UNSIGNED

from . import pickle_writer
from .pickle_writer import PickleWriter
from .pickled import DTypeRef, ParameterRef, SizeRef, StorageRef, TaggedDict, TaggedList


class CheckpointWriter(PickleWriter):
    """As `PickleWriter`; lists and dicts carry no type, and `OrderedDict`s have attributes."""

    def kinds(self) -> Mapping[type, Callable[[Any, Any], None]]:
        return _VALUES

    def is_over_bytes(self, ref: StorageRef) -> bool:
        """PyTorch has no classes of storages of these dtypes in Python."""
        return ref.dtype in WIDE_UNSIGNED

    def list_(self, value: TaggedList) -> None:
        if self.recall_same(value):
            return
        self.out += b"]"
        self.memoize_same(value)
        self.out += b"("
        for element in value.elements:
            self.value(element)
        self.out += b"e"

    def dict_(self, value: TaggedDict) -> None:
        if self.recall_same(value):
            return
        if value.ordered:
            self.global_("collections", "OrderedDict")
            self.out += b")R"
        else:
            self.out += b"}"
        self.memoize_same(value)
        self.items(value.items)
        if value.attributes:
            self.out += b"}"
            self.items(value.attributes)
            self.out += b"b"

    def parameter(self, value: ParameterRef) -> None:
        if self.recall_same(value):
            return
        self.global_("torch._utils", "_rebuild_parameter")
        self.tensor(value.tensor)
        self.bool_(value.requires_grad)
        self.global_("collections", "OrderedDict")
        self.out += b")R\x87R"
        self.memoize_same(value)

    def dtype(self, value: DTypeRef) -> None:
        self.global_("torch", value.dtype.name)

    def size(self, value: SizeRef) -> None:
        self.global_("torch", "Size")
        self.tuple_(value.sizes)
        self.out += b"\x85R"

    def bytes_(self, value: bytes) -> None:
        self.global_("_codecs", "encode")
        self.text(value.decode("latin1"))
        self.text("latin1")
        self.out += b"\x86R"


_VALUES: Mapping[type, Callable[[Any, Any], None]] = {
    **pickle_writer.KINDS,
    TaggedList: CheckpointWriter.list_,
    TaggedDict: CheckpointWriter.dict_,
    ParameterRef: CheckpointWriter.parameter,
    DTypeRef: CheckpointWriter.dtype,
    SizeRef: CheckpointWriter.size,
    bytes: CheckpointWriter.bytes_,
}
