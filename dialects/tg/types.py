"""Types of `tg`: ranked tensors of known dtype whose sizes are expressions, scalars, and
references to lists that grow.

Text: `!tg.tensor<"f32[1024, N * 2]">`, `!tg.scalar<"i64">`, `!tg.list<"i64">` (a list of numbers),
`!tg.list<"i64[]">` (a list of such lists).
"""

from __future__ import annotations

from xdsl.ir import Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tensorscript.base.dtypes import BY_SHORT, DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Scalar, parse_parameter
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.expr_text import text


@dataclass(frozen=True)
class TensorSpec:
    """dtype and sizes (i64 expressions over the function's size symbols)."""

    dtype: DType
    shape: tuple[Expr, ...]

    def __str__(self) -> str:
        return f"{self.dtype.short}[{', '.join(map(text, self.shape))}]"


@irdl_attr_definition
class TensorType(Data[TensorSpec], TypeAttribute):
    """A tensor value: no strides, no aliasing."""

    name = "tg.tensor"

    @property
    def dtype(self) -> DType:
        return self.data.dtype

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.data.shape

    @property
    def rank(self) -> int:
        return len(self.data.shape)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorSpec:
        with parser.in_angle_brackets():
            parsed = parse_parameter("t: " + parser.parse_str_literal())
        if isinstance(parsed, Scalar):
            parser.raise_error("expected a tensor such as f32[2, 3]")
        return TensorSpec(parsed.dtype, parsed.shape)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(str(self.data))


@irdl_attr_definition
class ScalarType(Data[DType], TypeAttribute):
    """A host scalar: i64, f64 or b1 (TorchScript's int, float, bool)."""

    name = "tg.scalar"

    @property
    def dtype(self) -> DType:
        return self.data

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DType:
        with parser.in_angle_brackets():
            return BY_SHORT[parser.parse_str_literal()]

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.short)


@dataclass(frozen=True)
class ListSpec:
    """dtype of the numbers, and how many lists stand around each."""

    dtype: DType
    depth: int = 1

    def __str__(self) -> str:
        return self.dtype.short + "[]" * (self.depth - 1)


@irdl_attr_definition
class ListType(Data[ListSpec], TypeAttribute):
    """A reference to a list of numbers, or of lists of the next smaller depth."""

    name = "tg.list"

    @classmethod
    def of(cls, dtype: DType, depth: int = 1) -> ListType:
        return cls(ListSpec(dtype, depth))

    @property
    def dtype(self) -> DType:
        return self.data.dtype

    @property
    def depth(self) -> int:
        return self.data.depth

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ListSpec:
        with parser.in_angle_brackets():
            text = parser.parse_str_literal()
        word = text.rstrip("[]")
        if word not in BY_SHORT:
            parser.raise_error("expected the element of a list such as i64 or i64[]")
        return ListSpec(BY_SHORT[word], 1 + (len(text) - len(word)) // 2)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(str(self.data))


def tensor(dtype: DType, shape: tuple[Expr, ...]) -> TensorType:
    return TensorType(TensorSpec(dtype, shape))
