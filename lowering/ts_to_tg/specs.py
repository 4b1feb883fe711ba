"""What a specialisation knows of its arguments, and how its results are rebuilt."""

from __future__ import annotations

from functools import cached_property

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import EnumRef

from .values import ObjectValue


@dataclass(frozen=True)
class TensorSpec:
    """A tensor argument. A size is an int or the name of a dynamic one; strides are in elements,
    None for contiguous."""

    dtype: DType
    shape: tuple[int | str, ...]
    strides: tuple[int | str, ...] | None = None


@dataclass(frozen=True)
class SameSpec:
    """A tensor argument that is the object of an earlier one, at `path`."""

    path: str


@dataclass(frozen=True)
class ScalarSpec:
    """An int, float or bool argument that is not known: int64, float64 or bool_."""

    dtype: DType


@dataclass(frozen=True)
class ConstantSpec:
    """An argument whose value is part of the specialisation: None, strings, ..."""

    value: object


@dataclass(frozen=True)
class NumberSpec:
    """A number that is part of the specialisation; 1 and True differ by their dtype."""

    value: int | float | bool
    dtype: DType


@dataclass(frozen=True)
class SequenceSpec:
    """A list, or a tuple (with fields a NamedTuple) of arguments."""

    elements: tuple[ArgumentSpec, ...]
    is_tuple: bool = False
    fields: tuple[str, ...] = ()
    class_name: str = ""


@dataclass(frozen=True)
class ListSpec:
    """A list of any length of int64, float64 or bool_, or (depth 2) of such lists."""

    dtype: DType
    depth: int = 1


@dataclass(frozen=True)
class DictSpec:
    """A dict argument with known keys."""

    items: tuple[tuple[object, ArgumentSpec], ...]


@dataclass(frozen=True)
class ObjectSpec:
    """An object of a script class, by its attributes."""

    class_name: str
    items: tuple[tuple[str, ArgumentSpec], ...]


ArgumentSpec = (
    TensorSpec
    | SameSpec
    | ScalarSpec
    | NumberSpec
    | ConstantSpec
    | SequenceSpec
    | ListSpec
    | DictSpec
    | ObjectSpec
    | ObjectValue
)


@dataclass(frozen=True)
class OutputTree:
    """How the caller rebuilds a result. `kind` is "tensor" or "scalar" (leaf number `leaf` of the
    function's results), "tuple", "list", "dict" (with `keys`), "object" (with the names of its
    attributes as `keys`) or "constant" (with `value`).

    Which of its children a "choice" is, leaf `leaf` says; "absent" is a key that a dict does not
    have after all.

    A run-time list is "each", whose child says by column what its elements are: "column" (a leaf
    with one number for each), a "tuple" of these, "boxes" (a leaf with all numbers of the tensors
    and, as children, how many numbers each has and its sizes), a "record" (an object with these
    attributes, or without a class a dict with these keys), an "optional" (a leaf that says where
    there is one at all), or "each" again, with how many
    elements each has in `leaf`. A run-time dict is "map" in the same way, of tuples of two. A
    string is "text" (a leaf with its bytes), and as an element of a run-time list "texts" (a column
    with the bytes of all, and how many each has in `leaf`).

    The texts of its children are one string in "shown"; a task that is done is a "future".

    In what a program says, "slot" is value number `leaf` of those that it recorded."""

    kind: str
    leaf: int = -1
    children: tuple[OutputTree, ...] = ()
    keys: tuple[object, ...] = ()
    value: object = None
    fields: tuple[str, ...] = ()
    class_name: str = ""

    @property
    def scalar_leaves(self) -> frozenset[int]:
        """Numbers of the results that are Python numbers."""
        own = frozenset((self.leaf,)) if self.kind in ("scalar", "choice") else frozenset[int]()
        return own.union(*(child.scalar_leaves for child in self.children))

    @property
    def has_tensors(self) -> bool:
        """There is a tensor among the results."""
        return self.kind == "tensor" or any(child.has_tensors for child in self.children)

    @cached_property
    def has_copies(self) -> bool:
        """There is a run-time list of tensors, which come back as tensors of their own."""
        return self.kind == "boxes" or any(child.has_copies for child in self.children)

    @cached_property
    def needs_classes(self) -> bool:
        """The result holds objects or members of enums."""
        own = bool(self.kind in ("object", "record") and self.class_name) or isinstance(
            self.value, EnumRef
        )
        return own or any(child.needs_classes for child in self.children)

    @property
    def is_plain(self) -> bool:
        """The function's results are the caller's result: one leaf, or a tuple of all in order."""
        if self.kind in ("tensor", "scalar"):
            return self.leaf == 0
        if self.kind != "tuple" or self.fields or len(self.children) < 2:
            return False
        return all(
            child.kind in ("tensor", "scalar") and child.leaf == k
            for k, child in enumerate(self.children)
        )
