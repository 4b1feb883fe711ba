"""The constant attribute of `ts`: any immutable TorchScript value, with a text that parses back.

Text form: `#ts.value<"...">` holding a Python-literal-like term: `3`, `1.5`, `True`, `None`, `'s'`,
`(1, 2)`, `[1, 2]`, `{'a': 1}`, `complex(0.0, 1.0)`, `device('cpu')`, `function('__torch__.f')`,
`enum('__torch__.E', 'A')`, `generator(5)` (its seed), `object('__torch__.C')` (its class),
`tensor('f32', (2, 3), '<hex of little-endian bytes>')`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tensorscript.base.dtypes import BY_SHORT, DType
from tensorscript.base.records import dataclass


@dataclass(frozen=True)
class Device:
    """A device constant such as `cpu` or `cuda:1`."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class FunctionRef:
    """A function constant: the qualified name of a `ts.func`."""

    qualified_name: str


@dataclass(frozen=True)
class EnumRef:
    """The member `member` of the enum class `class_name`."""

    class_name: str
    member: str

    def __str__(self) -> str:
        """As scripts print the member."""
        return f"Enum<{self.class_name.rpartition('.')[2]}.{self.member}>"


class TensorLiteral:
    """A constant tensor; compared by identity of its array, so that weights are never compared.

    `array` has the dtype's storage type (bfloat16 as uint16 bits) and any strides.
    """

    __slots__ = ("array", "dtype", "requires_grad")

    def __init__(self, array: np.ndarray, dtype: DType, requires_grad: bool = False) -> None:
        self.array = array
        self.dtype = dtype
        self.requires_grad = requires_grad

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorLiteral) and other.array is self.array

    def __hash__(self) -> int:
        return id(self.array)


class Seeded(Protocol):
    """What the run time draws from; its seed may change."""

    def initial_seed(self) -> int: ...


class GeneratorLiteral:
    """A random generator that a program holds, one for all calls; compared by identity.

    `held` is the generator itself, once there is one: of the caller, or made at the first use.
    """

    __slots__ = ("_seed", "held")

    def __init__(self, seed: int, held: Seeded | None = None) -> None:
        self._seed = seed
        self.held = held

    def initial_seed(self) -> int:
        """The seed that the stream starts from by now."""
        return self._seed if self.held is None else self.held.initial_seed()

    def __str__(self) -> str:
        """As graphs and code print it."""
        return f'torch.Generator(device="cpu", seed={self.initial_seed()})'


class ObjectLiteral:
    """An object of a class that a program holds, one for all calls; compared by identity.

    `held` is the object itself, once somebody has asked for it.
    """

    __slots__ = ("_make", "class_name", "held")

    def __init__(self, class_name: str, make: Callable[[], object] | None = None) -> None:
        self.class_name = class_name
        self._make = make
        self.held: object | None = None

    def get(self) -> object:
        """The object; made at the first use.

        Raises:
            ValueError: the literal was read from a text, which does not hold it.
        """
        if self.held is None:
            if self._make is None:
                raise ValueError(f"a text does not hold the object of {self.class_name}")
            self.held = self._make()
        return self.held

    def __str__(self) -> str:
        """As graphs print it."""
        return f"object({id(self):#x})"


@dataclass(frozen=True, eq=False)
class QuantizedLiteral:
    """A quantized tensor of the caller: integers, and the grid that they lie on.

    Scale and zero point are numbers, or tensors with one for each index along `axis`. It is no
    constant of a program's text.
    """

    integers: TensorLiteral
    dtype: DType
    scale: float | TensorLiteral
    zero_point: int | TensorLiteral
    axis: int | None = None


@dataclass(frozen=True, eq=False)
class SparseLiteral:
    """A sparse tensor of the caller, by the coordinates (sparse dimensions, n) of its values."""

    size: tuple[int, ...]
    indices: TensorLiteral
    values: TensorLiteral
    coalesced: bool


@dataclass(frozen=True)
class Opaque:
    """A value of the caller that native code does not take: `kind` says why."""

    kind: str


@dataclass(frozen=True)
class ListLiteral:
    """A constant list; the program copies it where it is used."""

    elements: tuple[object, ...]


@dataclass(frozen=True)
class DictLiteral:
    """A constant dict as (key, value) pairs in insertion order."""

    items: tuple[tuple[object, object], ...]


def _tensor_text(value: TensorLiteral) -> str:
    array = np.ascontiguousarray(value.array)
    data = array.astype(array.dtype.newbyteorder("<")).tobytes().hex()
    return f"tensor({value.dtype.short!r}, {tuple(value.array.shape)!r}, {data!r})"


def _float_text(value: float) -> str:
    return repr(value) if math.isfinite(value) else f"float({str(value)!r})"


def _tuple_text(value: tuple[object, ...]) -> str:
    return "(" + "".join(f"{text_of(v)}, " for v in value).rstrip() + ")"


_WRITERS: dict[type, Callable[..., str]] = {
    type(None): repr,
    bool: repr,
    int: repr,
    float: _float_text,
    complex: lambda v: f"complex({_float_text(v.real)}, {_float_text(v.imag)})",
    str: repr,
    tuple: _tuple_text,
    Device: lambda v: f"device({v.text!r})",
    FunctionRef: lambda v: f"function({v.qualified_name!r})",
    EnumRef: lambda v: f"enum({v.class_name!r}, {v.member!r})",
    ListLiteral: lambda v: "[" + ", ".join(map(text_of, v.elements)) + "]",
    DictLiteral: lambda v: "{" + ", ".join(f"{text_of(k)}: {text_of(x)}" for k, x in v.items) + "}",
    GeneratorLiteral: lambda v: f"generator({v.initial_seed()})",
    ObjectLiteral: lambda v: f"object({v.class_name!r})",
    TensorLiteral: _tensor_text,
}


def text_of(value: object) -> str:
    """The text form of a constant.

    Raises:
        TypeError: `value` is not a constant of the dialect.
    """
    if writer := _WRITERS.get(type(value)):
        return writer(value)
    raise TypeError(f"not a TorchScript constant: {value!r}")


def _read_tensor(short: str, shape: tuple[int, ...], data: str) -> TensorLiteral:
    dtype = BY_SHORT[short]
    little = np.frombuffer(bytes.fromhex(data), dtype.numpy.newbyteorder("<"))
    return TensorLiteral(little.astype(dtype.numpy).reshape(shape), dtype)


_READERS: dict[str, Callable[..., object]] = {
    "float": float,
    "complex": complex,
    "device": Device,
    "function": FunctionRef,
    "enum": EnumRef,
    "generator": GeneratorLiteral,
    "object": ObjectLiteral,
    "tensor": _read_tensor,
}


def _read(node: ast.expr) -> object:
    match node:
        case ast.Constant(value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(value)):
            return -value  # type: ignore[operator]  # only numbers are written with a sign
        case ast.Tuple(elements):
            return tuple(map(_read, elements))
        case ast.List(elements):
            return ListLiteral(tuple(map(_read, elements)))
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return DictLiteral(tuple((_read(k), _read(v)) for k, v in pairs if k is not None))
        case ast.Call(ast.Name(name), arguments) if name in _READERS:
            return _READERS[name](*map(_read, arguments))
    raise ValueError(f"not a constant: {ast.unparse(node)}")


def value_of(text: str) -> object:
    """The constant that `text` spells; inverse of `text_of`.

    Raises:
        ValueError: the text is not a constant.
    """
    try:
        return _read(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"not a constant: {text}") from error


@irdl_attr_definition
class ValueAttr(Data[object]):
    """A constant value; equality is by type and value (1, 1.0 and True differ)."""

    name = "ts.value"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> object:
        with parser.in_angle_brackets():
            return value_of(parser.parse_str_literal())

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(text_of(self.data))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ValueAttr)
            and type(self.data) is type(other.data)
            and repr(self.data) == repr(other.data)
        )

    def __hash__(self) -> int:
        return hash((type(self.data), repr(self.data)))
