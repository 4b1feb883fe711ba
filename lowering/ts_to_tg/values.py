"""Abstract values of the specialiser.

Concrete Python values stand for themselves (int, float, bool, str, None, devices, enums). Unknown
scalars are `te` expressions of dtype i64, f64 or b1 over size symbols and scalar names. Everything
with identity is a reference whose content lies in the heap, so that a branch can be evaluated on a
copy of the heap and its effects compared:

| reference | content in the heap |
|---|---|
| Storage | the SSA value that holds its elements now |
| ListRef | a tuple of values, or a `Grown` for a run-time list |
| DictRef | a dict of values, never changed in place; a run-time dict is a ListRef |
| ObjectRef | a dict of attributes, never changed in place |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from xdsl.ir import Attribute, SSAValue

from tensorscript.base.dtypes import DType, complex_dtype
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr

Value = Any
"""A concrete Python value, an Expr, or one of the classes below."""


class Storage:
    """The elements a tensor and its views share; `shape` is its row-major index space.

    `origin` names where it came from ("x" for an argument, "layer.weight" for state, "" if made
    here); `is_complex` says that its last dimension holds the parts of what is complex there.
    `shared` is set once the storage may be the same as another one (values merged after a
    branch): writing to it would need to know. `held` is set once its elements are also those of
    a run-time list, or of a tensor of another dtype.
    """

    __slots__ = ("dtype", "held", "is_complex", "origin", "shape", "shared", "strides")

    def __init__(
        self,
        dtype: DType,
        shape: tuple[Expr, ...],
        origin: str = "",
        strides: tuple[Expr, ...] | None = None,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.origin = origin
        self.strides = strides
        self.is_complex = False
        self.shared = False
        self.held = False


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: all of a storage (`indices` None), or the view of it whose element (i0, i1, ...)
    is the storage's element `indices`. `strides` are in elements, None for contiguous."""

    storage: Storage
    shape: tuple[Expr, ...]
    indices: tuple[Expr, ...] | None = None
    strides: tuple[Expr, ...] | None = None

    @property
    def dtype(self) -> DType:
        return self.storage.dtype

    @property
    def rank(self) -> int:
        return len(self.shape)

    def is_same(self, other: Tensor) -> bool:
        """The same elements of the same storage."""
        return (
            self.storage is other.storage
            and self.shape == other.shape
            and self.indices == other.indices
        )


@dataclass(frozen=True, eq=False)
class ComplexTensor:
    """A complex tensor: its real and imaginary parts, two tensors of one shape and dtype. Of what
    lies in memory as pairs both are views of one storage."""

    real: Tensor
    imag: Tensor

    @property
    def dtype(self) -> DType:
        return complex_dtype(self.real.dtype)

    @property
    def storage(self) -> Storage:
        """That of the real part; the imaginary one may have its own."""
        return self.real.storage

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.real.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> tuple[Value, ...]:
        return self.real, self.imag

    def with_elements(self, elements: tuple[Value, ...]) -> ComplexTensor:
        return ComplexTensor(*elements)

    def is_same(self, other: ComplexTensor) -> bool:
        return self.real.is_same(other.real) and self.imag.is_same(other.imag)


@dataclass(frozen=True, eq=False)
class QuantizedTensor:
    """Integers that stand for numbers, (integer - zero_point) * scale.

    `dtype` is the quantized one; scale and zero point are numbers, known or not, or tensors with
    one for each index along `axis`."""

    integers: Tensor
    dtype: DType
    scale: Value
    zero_point: Value
    axis: int | None = None

    @property
    def storage(self) -> Storage:
        return self.integers.storage

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.integers.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> tuple[Value, ...]:
        return self.integers, self.scale, self.zero_point

    def with_elements(self, elements: tuple[Value, ...]) -> QuantizedTensor:
        integers, scale, zero_point = elements
        return QuantizedTensor(integers, self.dtype, scale, zero_point, self.axis)


@dataclass(frozen=True, eq=False)
class NestedTensor:
    """A nested tensor of entries (t_b, E): its padded form (B, T, E), and which rows (B, T) there
    are."""

    padded: Tensor
    shown: Tensor

    @property
    def dtype(self) -> DType:
        return self.padded.dtype

    @property
    def storage(self) -> Storage:
        return self.padded.storage

    @property
    def rank(self) -> int:
        return self.padded.rank

    @property
    def elements(self) -> tuple[Value, ...]:
        return self.padded, self.shown

    def with_elements(self, elements: tuple[Value, ...]) -> NestedTensor:
        return NestedTensor(*elements)


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """A sparse tensor of a known size: coordinates (sparse dimensions, n), values (n, ...)."""

    size: tuple[int, ...]
    indices: Tensor
    values: Tensor
    coalesced: bool

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def storage(self) -> Storage:
        return self.values.storage

    @property
    def rank(self) -> int:
        return len(self.size)

    @property
    def elements(self) -> tuple[Value, ...]:
        return self.indices, self.values

    def with_elements(self, elements: tuple[Value, ...]) -> SparseTensor:
        indices, values = elements
        return SparseTensor(self.size, indices, values, self.coalesced)


Site = tuple[object, ...]
"""The place in the program that makes a list: its op and the calls that lead to it."""


class ListRef:
    """A list; its elements are in the heap. `shared` as for storages.

    `sites` say where it was made (several after a branch; none if it cannot be made another way),
    `type` is the ts type of its elements if known. What the caller holds is `frozen`.
    """

    __slots__ = ("frozen", "shared", "sites", "type")

    def __init__(
        self, sites: tuple[Site, ...] = (), type_: Attribute | None = None, frozen: bool = False
    ) -> None:
        self.shared = False
        self.sites = sites
        self.type = type_
        self.frozen = frozen


@dataclass(frozen=True)
class Grown:
    """The content of a run-time list: an `Element` (`element_kinds.py`), a tg.list per column."""

    element: Any
    columns: tuple[SSAValue, ...]


class DictRef:
    """A dict; its items are in the heap, `ABSENT` for a key that only some runs have. `shared` as
    for storages, `sites` and `type` (the ts type of the dict) as for lists."""

    __slots__ = ("shared", "sites", "type")

    def __init__(self, sites: tuple[Site, ...] = (), type_: Attribute | None = None) -> None:
        self.shared = False
        self.sites = sites
        self.type = type_


class ObjectRef:
    """An object of a script class; its attributes are in the heap. `path` leads to it from self.
    `shared` as for storages."""

    __slots__ = ("class_name", "path", "shared")

    def __init__(self, class_name: str, path: str = "") -> None:
        self.class_name = class_name
        self.path = path
        self.shared = False


@dataclass(frozen=True)
class Chosen:
    """One of several objects, which one is not known: the submodule `options[index]`."""

    index: Expr
    options: tuple[ObjectRef, ...]


@dataclass(frozen=True, eq=False)
class Variant:
    """One of several values of different kinds: `options[tag]`, see `variants.py`."""

    tag: Expr
    options: tuple[Value, ...]


@dataclass(frozen=True)
class TupleValue:
    """A tuple, or a NamedTuple if it has fields."""

    elements: tuple[Value, ...]
    fields: tuple[str, ...] = ()
    class_name: str = ""

    def with_elements(self, elements: tuple[Value, ...]) -> TupleValue:
        return TupleValue(elements, self.fields, self.class_name)


@dataclass(frozen=True)
class FutureValue:
    """The result of a forked task, evaluated where it was forked."""

    value: Value

    @property
    def elements(self) -> tuple[Value, ...]:
        return (self.value,)

    def with_elements(self, elements: tuple[Value, ...]) -> FutureValue:
        return FutureValue(*elements)


class AwaitCell(ListRef):
    """Whether a call that waits was made: nothing yet, its result, or `PERHAPS`."""

    __slots__ = ()


PERHAPS = (None, None)
"""A call was made in one branch and not in the other."""


@dataclass(frozen=True)
class AwaitValue:
    """A call that waits to be made.

    Attributes:
        cell: whether it was made.
        callee: the function to call; nothing if the result is there.
        arguments: what it is called with.
    """

    cell: AwaitCell
    callee: str = ""
    arguments: tuple[Value, ...] = ()

    @property
    def elements(self) -> tuple[Value, ...]:
        return (self.cell, *self.arguments)

    def with_elements(self, elements: tuple[Value, ...]) -> AwaitValue:
        return AwaitValue(elements[0], self.callee, elements[1:])


Compound = (
    TupleValue
    | FutureValue
    | AwaitValue
    | ComplexTensor
    | QuantizedTensor
    | NestedTensor
    | SparseTensor
)
"""Values that are made of others: `elements`, and `with_elements` for one of the same kind."""


class _Uninitialized:
    """What a branch that leaves early yields; never read."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "uninitialized"


UNINITIALIZED = _Uninitialized()


class _Absent:
    """What a dict holds under a key that it does not have in this run."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True, eq=False)
class Text:
    """A string that the running program makes: a tg.list of its bytes, which nothing changes.
    Messages show it as `message`."""

    column: SSAValue
    message: str = "{}"


@dataclass(frozen=True)
class UnknownString:
    """A string that depends on unknown values and is not made natively; `text` shows them as `{}`.

    It is for messages, and for the caller, who makes it of `pieces` if there are any: strings, and
    tensors as they were when they were shown.
    """

    text: str
    pieces: tuple[Value, ...] = ()


@dataclass(eq=False)
class ObjectValue:
    """What the caller hands in for an object: attributes as constants (`TensorLiteral` for a
    parameter or buffer, nested ObjectValue for a submodule, Python values for the rest)."""

    class_name: str
    attributes: Mapping[str, object] = field(default_factory=dict)


def is_scalar(value: Value) -> bool:
    """A number or bool, known or not."""
    return isinstance(value, bool | int | float | Expr)
