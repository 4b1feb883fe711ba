"""What a pickle may ask for by name, and what stands on its stack.

A `Vocabulary` answers a REDUCE (a call in pickle's terms) by looking at the name and building a
plain value of `pickled`. A name that is not in it is refused by name when it is first read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass

from .pickled import EnumRef, PickleLimits, StorageRef, TaggedDict, Value


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
_UNSUPPORTED = {
    "torch._utils._rebuild_meta_tensor_no_storage": "meta tensors",
    "torch.QUInt4x2Storage": "quantized tensors of 4 bits",
    "torch.QUInt2x4Storage": "quantized tensors of 2 bits",
    "torch.ComplexHalfStorage": "tensors of complex32",
    **{
        f"torch.Float8_{kind}Storage": "tensors of float8"
        for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
    },
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


def _enum(name: str, value: Item) -> Value:
    if isinstance(value, int | float | str):
        return EnumRef(name, value)
    raise ArchiveError(f"enum member of `{name}` has a value that is no int, float or str")


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


def attributes(state: TaggedDict, owner: str) -> dict[str, Value]:
    """The attributes of an object of class `owner` from the dict that BUILD gives it."""
    named = {key: value for key, value in state.items.items() if isinstance(key, str)}
    if len(named) != len(state.items):
        raise ArchiveError(f"an object of {owner} has an attribute whose name is not a string")
    return named
