"""Buffers and scalar parameters of `te`, and the attributes that hold them.

Text: `x: f32[1024, N]` (contiguous), `x: f32[4, 8]{16, 2}` (strides in elements), `n: i64`.
A parameter list puts `out` before a buffer the function writes, `inout` before one it updates,
`list` before one that holds a list argument (its length may be anything), and `grown` before a
result whose sizes the function finds: names in its shape stand for those. `complex` comes before a
buffer of real numbers whose last dimension holds the parts of what its caller calls complex.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tensorscript.base.dtypes import BY_SHORT, DType
from tensorscript.base.records import dataclass

from .expr import Expr, as_expr, const, mul
from .expr_parse import parse
from .expr_text import text

SCOPES = ("param", "stack", "reg", "tile", "arena", "const", "shared", "global")
"""Where an allocated buffer lives: the caller's memory; this frame; registers (small, constant
indices after unrolling); those of a matrix unit, which only matrix loops touch; the planned arena
of a call; read-only data; a GPU block; GPU memory."""

LINE = 64
"""Bytes of a cache line."""


@dataclass(frozen=True)
class Buffer:
    """A named array. `shape` in elements; `strides` in elements, None for row-major contiguous."""

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] | None = None
    mode: str = "in"
    complex: bool = False

    @property
    def effective_strides(self) -> tuple[Expr, ...]:
        """The strides, computed from the shape for a contiguous buffer."""
        return self.strides if self.strides is not None else contiguous_strides(self.shape)

    def __str__(self) -> str:
        out = f"{self.name}: {self.dtype.short}[{', '.join(map(text, self.shape))}]"
        return out + (
            f"{{{', '.join(map(text, self.strides))}}}" if self.strides is not None else ""
        )


@dataclass(frozen=True)
class Scalar:
    """A named scalar parameter."""

    name: str
    dtype: DType

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype.short}"


Parameter = Buffer | Scalar


def contiguous_strides(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """Row-major strides in elements of an array of `shape`."""
    strides: list[Expr] = []
    step = const(1)
    for size in reversed(shape):
        strides.append(step)
        step = mul(size, step)
    return tuple(reversed(strides))


def make_buffer(name: str, dtype: DType, shape: Sequence[Expr | int], mode: str = "in") -> Buffer:
    """A contiguous buffer."""
    return Buffer(name, dtype, tuple(as_expr(s) for s in shape), None, mode)


def split_commas(source: str) -> list[str]:
    """Split at the commas outside of brackets; empty parts are dropped."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(source):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and not depth:
            parts.append(source[start:position])
            start = position + 1
    parts.append(source[start:])
    return [p.strip() for p in parts if p.strip()]


_PARAMETER = re.compile(
    r"(?:(?P<mode>out|inout|list|grown) )?(?P<complex>complex )?(?P<name>[\w.$]+): (?P<dtype>\w+)"
    r"(?:\[(?P<shape>[^\]]*)\](?:\{(?P<strides>[^}]*)\})?)?$"
)


def parse_parameter(source: str) -> Parameter:
    """The buffer or scalar that `source` spells.

    Raises:
        ValueError: the text is neither.
    """
    found = _PARAMETER.match(source.strip())
    if not found or found["dtype"] not in BY_SHORT:
        raise ValueError(f"not a buffer or scalar: {source}")
    dtype = BY_SHORT[found["dtype"]]
    if found["shape"] is None:
        return Scalar(found["name"], dtype)
    shape = tuple(parse(p) for p in split_commas(found["shape"]))
    strides = found["strides"]
    parsed = None if strides is None else tuple(parse(p) for p in split_commas(strides))
    is_complex = found["complex"] is not None
    return Buffer(found["name"], dtype, shape, parsed, found["mode"] or "in", is_complex)


def parameter_text(p: Parameter) -> str:
    """A parameter as it stands in the head of a te.func."""
    if not isinstance(p, Buffer):
        return str(p)
    mode = "" if p.mode == "in" else f"{p.mode} "
    return mode + ("complex " if p.complex else "") + str(p)


@irdl_attr_definition
class ExprAttr(Data[Expr]):
    """A scalar expression; printed as a string."""

    name = "te.expr"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Expr:
        with parser.in_angle_brackets():
            return parse(parser.parse_str_literal())

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(text(self.data))


@irdl_attr_definition
class ExprsAttr(Data[tuple[Expr, ...]]):
    """A list of expressions (indices, extents)."""

    name = "te.exprs"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Expr, ...]:
        with parser.in_angle_brackets():
            return tuple(parse(p) for p in split_commas(parser.parse_str_literal()))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(", ".join(map(text, self.data)))


@irdl_attr_definition
class ParametersAttr(Data[tuple[Parameter, ...]]):
    """The parameter list of a te.func."""

    name = "te.params"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Parameter, ...]:
        with parser.in_angle_brackets():
            return tuple(parse_parameter(p) for p in split_commas(parser.parse_str_literal()))

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(", ".join(map(parameter_text, self.data)))


@irdl_attr_definition
class BufferAttr(Data[Buffer]):
    """One buffer (of a te.alloc)."""

    name = "te.buffer"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Buffer:
        with parser.in_angle_brackets():
            parsed = parse_parameter(parser.parse_str_literal())
        if not isinstance(parsed, Buffer):
            parser.raise_error("expected a buffer")
        return parsed

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(parameter_text(self.data))
