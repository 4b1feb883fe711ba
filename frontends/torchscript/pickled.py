"""What the pickles of an archive hold, as plain values: nothing here refers to modules or code.

Numbers, strings, None and tuples (NamedTuples too) stand for themselves. Containers and objects
are compared by identity, and what the archive shares is the same object here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass


@dataclass(frozen=True)
class PickleLimits:
    """What one pickle may ask for.

    Attributes:
        size: bytes of the record.
        opcodes: opcodes executed.
        memo: values memoised.
        depth: nesting of values.
        text: bytes of one string or of one global's name.
        expanded: values when everything shared is written out (a few shared tuples nested in each
            other stand for more values than memory holds).
        tensor_elements: elements of one tensor (a stride of 0 makes many of one).
    """

    size: int = 1 << 28
    opcodes: int = 1 << 25
    memo: int = 1 << 23
    depth: int = 200
    text: int = 1 << 26
    expanded: int = 1 << 25
    tensor_elements: int = 1 << 36


@dataclass(frozen=True)
class StorageRef:
    """A storage: `numel` elements of `dtype` in the record `<prefix>/<key>`.

    Tensors with equal `record` share memory.
    """

    prefix: str
    key: str
    dtype: DType
    numel: int
    location: str

    @property
    def record(self) -> str:
        return f"{self.prefix}/{self.key}"


@dataclass(frozen=True, eq=False)
class QuantizerRef:
    """What the integers of a quantized tensor stand for: one scale and zero point, or tensors of
    them (float64 and int64, or float32 both) with one for each index along `axis`."""

    scale: float | TensorRef
    zero_point: int | TensorRef
    axis: int | None = None


@dataclass(frozen=True, eq=False)
class TensorRef:
    """A tensor: a strided view of a storage, in elements; inside the storage's bounds.

    Attributes:
        sign: whether it shows conjugates ("conj"), negatives ("neg") or both of what is stored.
    """

    storage: StorageRef
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool
    quantizer: QuantizerRef | None = None
    sign: frozenset[str] = frozenset()

    @property
    def numel(self) -> int:
        count = 1
        for extent in self.size:
            count *= extent
        return count


@dataclass(frozen=True, eq=False)
class SparseRef:
    """A sparse tensor: by the coordinates of its values (int64), or a matrix by its rows, of which
    it has where each starts and the columns of its values (int64)."""

    size: tuple[int, ...]
    requires_grad: bool
    parts: tuple[TensorRef, ...]

    @property
    def is_by_rows(self) -> bool:
        """Whether the parts are starts of rows, columns and values; else coordinates and values."""
        return len(self.parts) == 3


@dataclass(frozen=True, eq=False)
class ParameterRef:
    """An `nn.Parameter` over a tensor; only checkpoints hold one."""

    tensor: TensorRef
    requires_grad: bool


@dataclass(frozen=True)
class DTypeRef:
    """A `torch.dtype` as a value; only checkpoints hold one."""

    dtype: DType


@dataclass(frozen=True)
class SizeRef:
    """A `torch.Size`; only checkpoints hold one."""

    sizes: tuple[int, ...]


@dataclass(frozen=True)
class DeviceRef:
    """A `torch.device`, e.g. `cuda:0`."""

    text: str


@dataclass(frozen=True)
class EnumRef:
    """A member of the enum class `type_name`, named by its value."""

    type_name: str
    value: int | float | str


@dataclass(eq=False)
class TaggedList:
    """A list; `type_str` is its annotation (`List[int]`), or "" where the pickle gives none."""

    elements: list[Value] = field(default_factory=list)
    type_str: str = ""


@dataclass(eq=False)
class TaggedDict:
    """A dict; `type_str` is its annotation (`Dict[str, int]`), or "" where the pickle has none.

    In checkpoints it may be an OrderedDict, which has attributes beside its items.
    """

    items: dict[Value, Value] = field(default_factory=dict)
    type_str: str = ""
    ordered: bool = False
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class ObjectState:
    """An instance of a class in `code/`, e.g. `__torch__.torch.nn.modules.conv.Conv2d`.

    `state` maps attribute names to values in class order; a class with `__getstate__` has
    whatever that returned. `before` are the attributes that it has before `__setstate__` is called
    (submodules; only archives of PyTorch 1.1 and 1.2 have any).
    """

    type_name: str
    state: Value | dict[str, Value] = None
    before: dict[str, Value] = field(default_factory=dict)


# A pickle's value. Objects of other kinds (globals, storages alone) never get into one.
Value: TypeAlias = (
    bool
    | int
    | float
    | complex
    | str
    | bytes
    | DeviceRef
    | DTypeRef
    | SizeRef
    | EnumRef
    | TensorRef
    | SparseRef
    | ParameterRef
    | TaggedList
    | TaggedDict
    | ObjectState
    | tuple["Value", ...]
    | None
)


def children(value: Value | dict[str, Value]) -> list[Value]:
    """The values directly inside `value`, in order; empty for leaves."""
    match value:
        case tuple():
            return list(value)
        case TaggedList():
            return list(value.elements)
        case TaggedDict():
            inner = [part for pair in value.items.items() for part in pair]
            return inner + list(value.attributes.values())
        case ParameterRef():
            return [value.tensor]
        case SparseRef():
            return list(value.parts)
        case TensorRef(quantizer=QuantizerRef(scale=scale, zero_point=zero_point)):
            return [scale, zero_point]
        case ObjectState():
            inside = value.state
            own = list(inside.values()) if isinstance(inside, dict) else [inside]
            return own + list(value.before.values())
        case _:
            return []


def tensors_in(value: Value) -> list[TensorRef]:
    """Every tensor reachable from `value`, each once."""
    found: list[TensorRef] = []
    seen: set[int] = set()
    todo: list[Value] = [value]
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, TensorRef):
            found.append(item)
        todo.extend(children(item))
    return found


def check_nesting(value: Value, limits: PickleLimits) -> None:
    """Raise ArchiveError if `value` contains itself, or is over `limits.depth` or `.expanded`.

    What passes can be walked by plain recursion, without remembering what was seen.
    """
    sizes: dict[int, int] = {}
    frames = [_Frame(value, iter(children(value)))]
    inside = {id(value)}
    while frames:
        frame = frames[-1]
        if len(frames) > limits.depth:
            raise ArchiveError(f"values in the archive are nested over {limits.depth} deep")
        if frame.size > limits.expanded:
            raise ArchiveError(f"the archive stands for more than {limits.expanded} values")
        child = next(frame.rest, _END)
        if child is _END:
            frames.pop()
            inside.discard(id(frame.value))
            sizes[id(frame.value)] = frame.size
            if frames:
                frames[-1].size += frame.size
        elif not isinstance(child, tuple | TaggedList | TaggedDict | ObjectState):
            frame.size += 1
        elif id(child) in sizes:
            frame.size += sizes[id(child)]
        elif id(child) in inside:
            raise ArchiveError("a value in the archive contains itself")
        else:
            inside.add(id(child))
            frames.append(_Frame(child, iter(children(child))))


@dataclass
class _Frame:
    """A value being measured: what is left of its children and how large it is so far."""

    value: Value
    rest: Iterator[Value]
    size: int = 1


_END = ObjectState("")
