"""What a specialisation knows of its arguments, and how its results are rebuilt."""

from __future__ import annotations

from dataclasses import dataclass

from tensorscript.base.dtypes import DType

from .values import ObjectValue


@dataclass(frozen=True)
class TensorSpec:
    """A tensor argument. A size is an int or the name of a dynamic one; strides are in elements,
    None for contiguous."""

    dtype: DType
    shape: tuple[int | str, ...]
    strides: tuple[int | str, ...] | None = None


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
    and, as children, how many numbers each has and its sizes), or "each" again, with how many
    elements each has in `leaf`. A string is "text" (a leaf with its bytes), and as an element of a
    run-time list "texts" (a column with the bytes of all, and how many each has in `leaf`)."""

    kind: str
    leaf: int = -1
    children: tuple[OutputTree, ...] = ()
    keys: tuple[object, ...] = ()
    value: object = None
    fields: tuple[str, ...] = ()
    class_name: str = ""
