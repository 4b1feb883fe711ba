"""Products of 16-bit numbers, two steps of the depth at once.

```
tile[i, j] += xp[i, 2 k] * yp[k, j, 0] + xp[i, 2 k + 1] * yp[k, j, 1]
```
CPUs multiply pairs of bfloat16 into float32 sums, and pairs of 16-bit integers into 32-bit sums, in
one instruction of every lane (`backends/llvm/emit_pairs.py`): twice the products of float32. The
columns are packed so that the two numbers of a pair lie side by side; rows are copied as they are,
for a pair of theirs is one 32-bit number for all lanes. Bytes are widened to 16 bits.

The nest is otherwise that of `contraction.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bfloat16, float32, int8, int16, int32, uint8
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, select, var
from tensorscript.dialects.te.ops import ForOp, FuncOp, StoreOp

from ..te.affine import all_buffers, coefficient, flat_index, known
from ..te.lanes import vectorize_map
from .contraction import BlockedProduct
from .contraction_shape import SUM_DTYPES, Axis, Product, Spots, made_of, memory_of, product_of
from .contraction_tile import Blocking, ceil_div

PAIRED: dict[DType, tuple[DType, DType]] = {
    bfloat16: (bfloat16, float32),
    **dict.fromkeys((int8, uint8, int16), (int16, int32)),
}
"""Dtype of a factor to that of the packed pairs and of their sums."""
PAD = 32
"""Elements between rows of a panel: rows a power of two apart meet in one set of the cache."""
LEAST_ROWS_ACROSS = 256
"""Packing columns that lie across memory, an element at a time, repays for so many rows."""


@dataclass(frozen=True)
class PairedProduct:
    """A product of 16-bit factors.

    Attributes:
        x, y: the factors as they are packed.
        across: memory runs along the depth in y, not along the columns.
    """

    product: Product
    x: Expr
    y: Expr
    across: bool

    @property
    def dtype(self) -> DType:
        return self.x.dtype


def _packed(factor: Expr, sums: DType) -> Expr | None:
    """The 16-bit number that a factor is the conversion of."""
    inner = factor.args[0] if factor.op == "cast" else factor
    packed, wide = PAIRED.get(inner.dtype, (None, None))
    return None if packed is None or wide is not sums else cast(inner, packed)


def paired_product(func: FuncOp) -> PairedProduct | None:
    """The product of pairs, of known depth, that a function computes; None if it has another
    form."""
    if (p := product_of(func)) is None:
        return None
    sums = SUM_DTYPES[p.target.value.dtype]
    x, y = _packed(p.x, sums), _packed(p.y, sums)
    if x is None or y is None or x.dtype is not y.dtype or len(p.depth.names) != 1:
        return None
    if known(p.depth.size) is None:
        return None
    buffers, (depth,) = all_buffers(func), p.depth.names
    steps = []
    for e, axis in ((x, p.rows), (y, p.columns)):
        if (at := memory_of(e)) is None:
            return None
        position = flat_index(buffers[str(at.value)], at.args)
        steps.append(coefficient(position, depth))
        if not axis.is_even(position):
            return None
    if any(step is None for step in steps) or not steps[0].is_int(1):  # type: ignore[union-attr] # see any
        return None
    return PairedProduct(p, x, y, steps[1].is_int(1))  # type: ignore[union-attr] # see any


def worth_pairing(form: PairedProduct, fixed: frozenset[str]) -> bool:
    """Packing the columns is quick, done once for constants, or repaid by many rows."""
    rows = known(form.product.rows.size)
    many = rows is not None and rows >= LEAST_ROWS_ACROSS
    return many or not form.across or made_of(form.product.y, fixed)


class _Pairs(BlockedProduct):
    """Writes the blocked nest of one product of pairs, of known depth."""

    reads_plainly = False

    def __init__(
        self, func: FuncOp, form: PairedProduct, blocking: Blocking, dtype: DType, whole: bool
    ) -> None:
        super().__init__(func, form.product, blocking, dtype, whole)
        tile = self.tile
        self.form = form
        panels, depth, _ = self.xp.shape
        stride = ceil_div(depth, PAD) * PAD + PAD
        self.xp = make_buffer("xp", form.dtype, [panels, tile.rows, stride])
        kept, depth, _ = self.yp.shape
        self.yp = make_buffer("yp", form.dtype, [kept, ceil_div(depth, 2), tile.columns, 2])

    def _at(self, e: Expr, axis: Axis, index: Expr, k: Expr) -> Expr:
        return Spots(self.buffers, ((axis, index), (self.p.depth, k))).expression(e)

    def _if_inside(self, inside: Expr, value: Expr) -> Expr:
        return select(inside, value, const(0, self.form.dtype))

    @property
    def is_odd(self) -> bool:
        """The last pair has one number only; 0 is the other."""
        return (known(self.k) or 0) % 2 == 1

    def pack_panel(self, panel: Expr, slot: Expr, first: Expr, depth: Expr) -> list[Operation]:
        column = panel * self.tile.columns + var("jv")
        k = first + var("kp") * 2 + var("ku")
        value = self._at(self.form.y, self.p.columns, column, k)
        size = known(self.n)
        if size is None or size % self.tile.columns:
            value = self._if_inside(column < self.n, value)
        if self.is_odd:
            value = self._if_inside(k < self.k, value)
        store = StoreOp("yp", [slot, var("kp"), var("jv"), var("ku")], value)
        lanes = ForOp("jv", self.tile.columns, [ForOp("ku", 2, [store], "vector")], "vector")
        return [ForOp("kp", ceil_div(depth, 2), [lanes])]

    def pack_all_x(self) -> Operation:
        rows = self._copy_rows(var("ip"), const(0), self.k)
        return self.shared_packing("ip", self.panels_m, [rows], self.m, 4)

    def pack_x(self) -> Operation:
        rows = self._copy_rows(self.first_panel + var("ip"), self.first_k, self.depth_extent())
        return ForOp("ip", self.panels_here(), [rows])

    def _copy_rows(self, panel: Expr, first: Expr, depth: Expr) -> Operation:
        """A panel of rows as they are; beyond the last row it is copied again, and not stored."""
        row = binary("min", panel * self.tile.rows + var("iw"), self.m - 1)
        k = first + var("kw")
        value = self._at(self.form.x, self.p.rows, row, k)
        if self.is_odd:
            depth = ceil_div(depth, 2) * 2
            value = self._if_inside(k < self.k, value)
        copy = ForOp("kw", depth, [StoreOp("xp", [var("ip"), var("iw"), var("kw")], value)])
        return ForOp("iw", self.tile.rows, vectorize_map(copy, 2 * self.tile.lanes))

    def steps(self) -> tuple[Expr, Expr]:
        start = self.first_k if self.plan.x == "before" else const(0)
        terms = []
        for u in range(2):
            k = start + var("kt") * 2 + u
            a = load("xp", [self.x_slot, var("i2t"), k], self.form.dtype)
            b = self.packed_column(self.y_slot, var("j2t"), u)
            terms.append(cast(a, self.dtype) * cast(b, self.dtype))
        return ceil_div(self.depth_extent(), 2), terms[0] + terms[1]

    def packed_column(self, slot: Expr, column: Expr, number: int = 0) -> Expr:
        """One number of a pair."""
        pair = var("kt") + (self.first_k // 2 if self.plan.y == "before" else const(0))
        return load("yp", [slot, pair, column, const(number)], self.form.dtype)


def product_of_pairs(
    func: FuncOp, form: PairedProduct, blocking: Blocking, whole: bool = False
) -> list[Operation]:
    """The blocked nest of a product of pairs.

    Args:
        whole: pack all columns before, even where every panel is used by one task only.
    """
    sums = SUM_DTYPES[form.product.target.value.dtype]
    return _Pairs(func, form, blocking, sums, whole).build()
