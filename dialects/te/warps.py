"""Statements by which threads of a warp work together.

```
te.across own add= 32                       own[], combined over 32 threads, in each of them
te.matrices a.i32[0] = xs.f16[r, c], along  a[0..3]: fragments of four matrices, see MatricesOp
te.multiply f16 s.f32[0] add= a.i32[0], b.i32[0]      s[0..3]: their product on a matrix unit
```
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import BY_SHORT, DType, bfloat16, float16, float32, int32

from .buffers import ExprAttr
from .expr import Expr
from .expr_parse import parse
from .expr_text import text
from .statements import COMBINERS
from .syntax import HeadOp, match_head

WARP = 32


@irdl_op_definition
class AcrossOp(HeadOp):
    """A scalar buffer that each thread has of its own becomes the combination of those of `lanes`
    threads, the same bits in each of them. Groups of `lanes` threads follow one another in the
    warp, all of whose threads have to come here together. Sums of floats are grouped in halves."""

    name = "te.across"
    buffer_name = prop_def(StringAttr)
    combiner_attr = prop_def(StringAttr)
    lanes_attr = prop_def(IntAttr)

    def __init__(self, buffer: str, combiner: str, lanes: int = WARP) -> None:
        super().__init__(
            properties={
                "buffer_name": StringAttr(buffer),
                "combiner_attr": StringAttr(combiner),
                "lanes_attr": IntAttr(lanes),
            }
        )

    @property
    def buffer(self) -> str:
        return self.buffer_name.data

    @property
    def combiner(self) -> str:
        return self.combiner_attr.data

    @property
    def lanes(self) -> int:
        return int(self.lanes_attr.data)

    def verify_(self) -> None:
        if self.combiner not in COMBINERS:
            raise VerifyException(f"unknown combiner {self.combiner}")
        if self.lanes not in (2, 4, 8, 16, WARP):
            raise VerifyException(f"groups are of 2, 4, 8, 16 or {WARP} threads, not {self.lanes}")

    def head(self) -> str:
        return f"{self.buffer} {self.combiner}= {self.lanes}"

    @classmethod
    def from_head(cls, head: str) -> AcrossOp:
        found = match_head(r"([\w.$]+) (\w+)= (\d+)", head)
        return cls(found[1], found[2], int(found[3]))


@irdl_op_definition
class MatricesOp(HeadOp):
    """A warp loads four matrices of 8 by 8 numbers of 16 bits from shared memory: thread 8 m + r
    says where row r of matrix m begins, at a multiple of 16 bytes. Register m of `target` gets two
    neighbours of a row, of row t / 4 and columns 2 (t % 4) in thread t; of a column where they are
    loaded `across`. PTX ISA, `ldmatrix`.

    `target` is the first of four elements of a buffer of int32."""

    name = "te.matrices"
    target_attr = prop_def(ExprAttr)
    place_attr = prop_def(ExprAttr)
    order = prop_def(StringAttr)

    def __init__(self, target: Expr, place: Expr, across: bool = False) -> None:
        super().__init__(
            properties={
                "target_attr": ExprAttr(target),
                "place_attr": ExprAttr(place),
                "order": StringAttr("across" if across else "along"),
            }
        )

    @property
    def target(self) -> Expr:
        return self.target_attr.data

    @property
    def place(self) -> Expr:
        return self.place_attr.data

    @property
    def across(self) -> bool:
        return self.order.data == "across"

    def verify_(self) -> None:
        if not _is_registers(self.target, int32):
            raise VerifyException("matrices are loaded into a line of int32")
        if self.place.op != "load" or self.place.dtype.itemsize != 2:
            raise VerifyException("matrices are of numbers of 16 bits in memory")
        if self.order.data not in ("along", "across"):
            raise VerifyException(f"rows are read along or across, not {self.order.data}")

    def head(self) -> str:
        return f"{text(self.target)} = {text(self.place)}, {self.order.data}"

    @classmethod
    def from_head(cls, head: str) -> MatricesOp:
        found = match_head(r"(.*?) = (.*), (along|across)", head)
        return cls(parse(found[1]), parse(found[2]), found[3] == "across")


@irdl_op_definition
class MultiplyOp(HeadOp):
    """A warp adds the product of a 16 by 16 and a 16 by 8 matrix of float16 or bfloat16 (`dtype`)
    to one of float32, on its matrix unit: PTX ISA, `mma.m16n8k16`, whose fragments these are.

    `sums`, `x` and `y` are the first of 4, 4 and 2 elements of buffers of float32, int32, int32.
    With g = t / 4 and c = 2 (t % 4) thread t has sums at rows g and g + 8, columns c and c + 1;
    the pairs of x at rows g and g + 8 (the second), depth c and c + 8 (the third and fourth); and
    the pairs of y at column g, depth c and c + 8. In which order products are added, and how the
    sum is rounded meanwhile, is the unit's choice."""

    name = "te.multiply"
    sums_attr = prop_def(ExprAttr)
    x_attr = prop_def(ExprAttr)
    y_attr = prop_def(ExprAttr)
    dtype_name = prop_def(StringAttr)

    def __init__(self, sums: Expr, x: Expr, y: Expr, dtype: DType) -> None:
        super().__init__(
            properties={
                "sums_attr": ExprAttr(sums),
                "x_attr": ExprAttr(x),
                "y_attr": ExprAttr(y),
                "dtype_name": StringAttr(dtype.short),
            }
        )

    @property
    def sums(self) -> Expr:
        return self.sums_attr.data

    @property
    def x(self) -> Expr:
        return self.x_attr.data

    @property
    def y(self) -> Expr:
        return self.y_attr.data

    @property
    def dtype(self) -> DType:
        return BY_SHORT[self.dtype_name.data]

    def verify_(self) -> None:
        if self.dtype_name.data not in (float16.short, bfloat16.short):
            raise VerifyException(f"no matrix unit for {self.dtype_name.data}")
        if not _is_registers(self.sums, float32):
            raise VerifyException("sums are a line of float32")
        if not (_is_registers(self.x, int32) and _is_registers(self.y, int32)):
            raise VerifyException("factors are lines of int32, a pair of numbers each")

    def head(self) -> str:
        pairs = f"{text(self.x)}, {text(self.y)}"
        return f"{self.dtype_name.data} {text(self.sums)} add= {pairs}"

    @classmethod
    def from_head(cls, head: str) -> MultiplyOp:
        found = match_head(r"(\w+) (.*?) add= (.*?), (.*)", head)
        if (dtype := BY_SHORT.get(found[1])) is None:
            raise ValueError(f"{found[1]} is not a dtype")
        return cls(parse(found[2]), parse(found[3]), parse(found[4]), dtype)


def _is_registers(e: Expr, dtype: DType) -> bool:
    """Whether an expression is an element of a line of that dtype."""
    return e.op == "load" and e.dtype is dtype and len(e.args) == 1
