"""Multiply bytes on grids as integers where a program multiplies them as numbers of float32.

```
%u = tg.pointwise %x <"f32(a0.u8[i0, i1]) - (61.0).f32">
%v = tg.pointwise %w <"f32(a0.i8[i0, i1])">
%y = tg.contract %u, %v <"a0.f32[i0, r0] * a1.f32[i1, r0]">
-->
%s = tg.contract %x, %w <"i32(a0.u8[i0, r0]) * i32(a1.i8[i1, r0])">
%t = tg.reduce %w <"i32(a0.i8[i0, r0])">                          a constant if the weights are
%y = tg.pointwise %s, %t <"f32(a0.i32[i0, i1] - 61 * a1.i32[i1])">
```
So quantized layers multiply: what they subtract first, the zero point of a grid, is the same all
along a sum, (x - a) * (w - b) = x * w - a * w - b * x + a * b. CPUs multiply four bytes for each
32-bit sum in one instruction (`schedules/contraction_groups.py`). Sums of integers in 32 bits are
exact and lose the last bits once, as they become float32; sums in float32 lose them beyond 2^24.
Convolutions that mix many channels are such products as well; around the image lies its zero point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import DType, float32, int8, int32, uint8
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import Expr, cast, const, load, mul, node, select, var
from tensorscript.dialects.te.rewriting import loads, substitute, transform, walk
from tensorscript.dialects.tg.names import numbered, operand_number, operand_of
from tensorscript.dialects.tg.ops import (
    ComputeOp,
    ConstantOp,
    ContractOp,
    FuncOp,
    PointwiseOp,
    ReduceOp,
)
from tensorscript.dialects.tg.types import TensorType, tensor

from ..te.affine import known
from .bodies import at_indices, compact_operands, node_count
from .each import each
from .fold_constants import constant_array

BYTES = (int8, uint8)
MOST_ZERO = 255
"""No grid of bytes has a zero point further from 0."""
MOST_TERMS = 2**31 // MOST_ZERO**2
"""So many products of numbers on grids fit in a sum of 32 bits."""
LEAST_TERMS = 16
"""Shorter sums are not worth their packing."""
LEAST_CHANNELS = 16
"""Fewer channels do not fill the vectors that an image is copied by."""
MOST_NODES = 12
"""Of a body that only converts and moves what it reads."""
MOST_PRODUCERS = 8

_WIDENING = frozenset({"cast", "sub", "load", "const", "var"})


def _widens(value: SSAValue) -> bool:
    """Numbers of float32 that an op converts, moves along a grid, or reads at other places."""
    owner = value.owner
    if not isinstance(owner, ComputeOp) or owner.type.dtype is not float32:
        return False
    if node_count(owner.expr, MOST_NODES) > MOST_NODES:
        return False
    return all(n.op in _WIDENING or not n.dtype.is_floating_point for n in walk(owner.expr))


def _expanded(e: Expr, inputs: Sequence[SSAValue], values: list[SSAValue], left: int) -> Expr:
    """`e` over `values`, which grow, with the bodies of producers that widen in their places."""

    def visit(n: Expr) -> Expr | None:
        number = operand_of(n)
        if number is None:
            return None
        value = inputs[number]
        owner = value.owner
        if left and _widens(value) and isinstance(owner, ComputeOp):
            return at_indices(_expanded(owner.expr, owner.inputs, values, left - 1), n.args)
        if value not in values:
            values.append(value)
        return node(n.op, n.args, f"a{values.index(value)}", n.dtype)

    return transform(e, visit)


@dataclass(frozen=True)
class _Factor:
    """Bytes less the zero point of their grid.

    Attributes:
        read: a load of bytes.
        zero: in int32; it does not change along the sum.
        inside: where there is something to read; elsewhere lies the zero point.
    """

    read: Expr
    zero: Expr
    inside: Expr | None = None

    @property
    def wide(self) -> Expr:
        if self.inside is None:
            return cast(self.read, int32)
        zero = _in_bytes(self.zero, self.read.dtype)
        assert zero is not None  # as `_factor` has seen
        return cast(select(self.inside, self.read, zero), int32)

    @property
    def used(self) -> list[str]:
        """The dimensions of the result along which the factor changes."""
        return sorted(numbered(self.read.free, "i"))


def _zero(e: Expr) -> Expr | None:
    """The zero point that a number of float32 is, in int32."""
    if e.op == "const":
        number = float(e.value)  # type: ignore[arg-type]  # a literal of float32 holds one
        whole = number.is_integer() and abs(number) <= MOST_ZERO
        return const(int(number), int32) if whole else None
    if e.op != "cast" or e.args[0].dtype not in BYTES or _runs_along(e):
        return None
    return cast(e.args[0], int32)


def _runs_along(e: Expr) -> bool:
    return any(name[0] == "r" for name in e.free)


def _in_bytes(zero: Expr, dtype: DType) -> Expr | None:
    """A zero point as one of the bytes, None if it is not known to be one."""
    if zero.op == "cast":
        return zero.args[0] if zero.args[0].dtype is dtype else None
    limits = np.iinfo(dtype.numpy)
    number = int(zero.value)  # type: ignore[call-overload]  # a literal of int32 holds one
    return const(number, dtype) if limits.min <= number <= limits.max else None


def _factor(e: Expr) -> _Factor | None:
    if e.op == "select" and e.args[2].op == "const" and e.args[2].value == 0:
        found = _factor(e.args[1])
        if found is None or found.inside is not None:
            return None
        if _in_bytes(found.zero, found.read.dtype) is None:
            return None
        return replace(found, inside=e.args[0])
    zero: Expr | None = const(0, int32)
    if e.op == "sub":
        e, zero = e.args[0], _zero(e.args[1])
    if zero is None or e.op != "cast" or e.args[0].op != "load" or e.args[0].dtype not in BYTES:
        return None
    return _Factor(e.args[0], zero)


class _Rewriter:
    """Writes one product in integers."""

    def __init__(self, op: ContractOp, block: Block) -> None:
        self.op, self.block = op, block
        self.values: list[SSAValue] = []
        self.extents = op.extents.data
        self.terms = prod(known(e) or 0 for e in self.extents)

    def factors(self) -> tuple[_Factor, _Factor] | None:
        """The two factors, if each has bytes of its own along the result and the sum, and one is of
        weights: others would have to be packed at each call."""
        op = self.op
        if op.type.dtype is not float32 or op.combiner.data != "add" or op.expr.op != "mul":
            return None
        if not LEAST_TERMS <= self.terms <= MOST_TERMS:
            return None
        e = _expanded(op.expr, op.inputs, self.values, MOST_PRODUCERS)
        if e.op != "mul" or len(loads(e)) > 4:
            return None
        x, w = (_factor(f) for f in e.args)
        if x is None or w is None or not (_runs_along(x.read) and _runs_along(w.read)):
            return None
        if set(x.used) == set(w.used):
            return None
        if any(_has_window(f.read) or f.inside is not None for f in (x, w)):
            return self._by_windows(x, w) or self._by_windows(w, x)
        return (
            (x, w) if any(isinstance(self._source(f).owner, ConstantOp) for f in (x, w)) else None
        )

    def _by_windows(self, x: _Factor, w: _Factor) -> tuple[_Factor, _Factor] | None:
        """An image and the weights that mix its channels, of both many enough to lie last
        (`channels_last.py`)."""
        shape = self.op.type.shape
        if not isinstance(self._source(w).owner, ConstantOp) or not w.zero.is_int(0):
            return None
        if w.inside is not None or w.used != ["i1"] or len(shape) < 3 or "i1" in x.used:
            return None
        channels = [known(e) or 0 for e in (shape[1], self.extents[0])]
        apart = len(x.read.args) == len(shape) and x.read.args[1] is var("r0")
        if min(channels) < LEAST_CHANNELS or not apart or _reads_elsewhere(x.read, "r0"):
            return None
        return x, w

    def _source(self, factor: _Factor) -> SSAValue:
        number = operand_number(str(factor.read.value))
        assert number is not None
        return self.values[number]

    def _insert(self, op: PointwiseOp | ContractOp | ReduceOp | ConstantOp) -> SSAValue:
        if isinstance(op, PointwiseOp | ContractOp | ReduceOp):
            op.location = self.op.location
        self.block.insert_op_before(op, self.op)
        return op.results[0]

    def _sums_of(self, factor: _Factor) -> Expr:
        """The sums of a factor's bytes, as a load over `values`."""
        used = factor.used
        shape = [self.op.type.shape[int(name[1:])] for name in used]
        source = self._source(factor)
        array = constant_array(source)
        axes = _summed_axes(factor, source)
        if array is not None and axes is not None:
            data = np.ascontiguousarray(array.sum(axis=axes, dtype=np.int32))
            made = self._insert(ConstantOp(DataAttr.of(data), tensor(int32, tuple(shape))))
        else:
            places = {name: var(f"i{d}") for d, name in enumerate(used)}
            inputs, body = compact_operands(self.values, substitute(factor.wide, places))
            type_ = tensor(int32, tuple(shape))
            made = self._insert(ReduceOp(inputs, body, self.extents, "add", type_))
        self.values.append(made)
        return load(f"a{len(self.values) - 1}", [var(name) for name in used], int32)

    def rewrite(self, x: _Factor, w: _Factor) -> None:
        shape = self.op.type.shape
        inputs, body = compact_operands(self.values, x.wide * w.wide)
        product = ContractOp(inputs, body, self.extents, "add", tensor(int32, shape))
        self.values.append(self._insert(product))
        places = [var(f"i{d}") for d in range(len(shape))]
        total = load(f"a{len(self.values) - 1}", places, int32)
        for mine, other in ((x, w), (w, x)):
            if not mine.zero.is_int(0):
                total = total - mul(mine.zero, self._sums_of(other))
        if not x.zero.is_int(0) and not w.zero.is_int(0):
            total = total + mul(mul(x.zero, w.zero), const(self.terms, int32))
        inputs, body = compact_operands(self.values, cast(total, float32))
        result = self._insert(PointwiseOp(inputs, body, self.op.type))
        self.op.result.replace_all_uses_with(result)
        self.block.erase_op(self.op)


def _reads_elsewhere(read: Expr, name: str) -> bool:
    """An index other than the second runs along that."""
    return any(name in e.free for k, e in enumerate(read.args) if k != 1)


def _has_window(read: Expr) -> bool:
    """An index moves along the result and along the sum."""
    return any(_runs_along(e) and any(n[0] == "i" for n in e.free) for e in read.args)


def _summed_axes(factor: _Factor, source: SSAValue) -> tuple[int, ...] | None:
    """The axes of a whole tensor that the sum runs along, in order those of the result between;
    None where the factor reads it otherwise."""
    type_ = source.type
    assert isinstance(type_, TensorType)
    kept: list[str] = []
    summed: list[int] = []
    for axis, (e, size) in enumerate(zip(factor.read.args, type_.shape, strict=True)):
        if (e.is_int(0) and size.is_int(1)) or (e.op == "var" and str(e.value)[0] == "r"):
            summed.append(axis)
        else:
            kept.append(str(e.value) if e.op == "var" else "")
    runs = [e for e in factor.read.args if e.op == "var"]
    return tuple(summed) if kept == factor.used and len(set(runs)) == len(runs) else None


def _rewrite(block: Block, op: Operation) -> bool:
    if not isinstance(op, ContractOp):
        return False
    rewriter = _Rewriter(op, block)
    if (found := rewriter.factors()) is None:
        return False
    rewriter.rewrite(*found)
    return True


def integer_products(func: FuncOp) -> bool:
    """Run on a function and the regions in it; True if anything changed."""
    return each(func.block, _rewrite)
