"""An update by products of groups, as the one instruction that CPUs have for it.

```
te.for j in 0 .. 16 vector {
  te.update t[j] add= f32(x[k]) * f32(y[j, 0]) + f32(x[k + 1]) * f32(y[j, 1]) }
```
| groups of | sums in | instruction |
|---|---|---|
| two bfloat16 | float32 | vdpbf16ps |
| two int16 | int32 | vpmaddwd and an addition, which LLVM makes vpdpwssd of where there is one |
| four uint8 by int8, or int8 by uint8 | int32 | vpdpbusd |

The group of x is one 32-bit number in all lanes, the groups of y are one vector. Integer sums are
exact; those of bfloat16 take subnormal numbers for 0, as the instruction does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorscript.base.dtypes import DType, bfloat16, float32, int8, int16, int32, uint8
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import UpdateOp
from tensorscript.dialects.te.polynomial import equal

from .emit_context import Context
from .emit_expr import evaluate_scalar
from .emit_places import Target, locate
from .emit_types import register_type, vector_of


class _Row(NamedTuple):
    """What multiplies groups: the dtype of the sums, intrinsics by the lanes of those, the element
    that these take, and whether they add, too."""

    sums: DType
    intrinsics: dict[int, str]
    element: str
    adds: bool = True


_ROWS = {
    bfloat16: _Row(float32, {16: "llvm.x86.avx512bf16.dpbf16ps.512"}, "bfloat"),
    int16: _Row(
        int32, {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd",
                4: "llvm.x86.sse2.pmadd.wd"}, "i16", adds=False,
    ),
    uint8: _Row(
        int32, {16: "llvm.x86.avx512.vpdpbusd.512", 8: "llvm.x86.avx512.vpdpbusd.256",
                4: "llvm.x86.avx512.vpdpbusd.128"}, "i32",
    ),
}  # fmt: skip
"""By dtype of the factor that the instruction takes first; `groups` of the options has the same."""


class _Group(NamedTuple):
    """The factors at the first element of a group."""

    x: Target
    y: Target

    @property
    def dtype(self) -> DType:
        """Of the factor that the instruction takes first: bytes without a sign."""
        return self.y.dtype if self.y.dtype is uint8 else self.x.dtype

    @property
    def is_of_kind(self) -> bool:
        """The other factor is what the instruction takes."""
        dtypes = {self.x.dtype, self.y.dtype}
        return dtypes == {uint8, int8} if uint8 in dtypes else len(dtypes) == 1


def emit_group(context: Context, op: UpdateOp) -> bool:
    """Emit an update by products of groups; False if it is another, or the target has no such."""
    lane = context.vector
    if lane is None or op.combiner != "add" or context.mask is not None:
        return False
    if (group := _group_of(context, op.value)) is None:
        return False
    row, lanes = _ROWS[group.dtype], lane.width
    width = next((w for w in row.intrinsics if w <= context.options.lanes and lanes % w == 0), None)
    target = locate(context, op.buffer, tuple(context.resolve(i) for i in op.indices))
    if width is None or target.kind != "contiguous" or target.dtype is not row.sums:
        return False
    _emit(context, group, target, width)
    return True


def _terms(value: Expr) -> list[Expr]:
    """Those that a sum adds."""
    if value.op != "add":
        return [value]
    return [term for a in value.args for term in _terms(a)]


def _group_of(context: Context, value: Expr) -> _Group | None:
    products = _terms(value)
    if len(products) < 2 or any(p.op != "mul" for p in products):
        return None
    terms = []
    for product in products:
        factors = [f.args[0] for f in product.args if f.op == "cast"]
        if len(factors) != 2 or any(f.op != "load" for f in factors):
            return None
        found = [
            locate(context, str(f.value), tuple(context.resolve(i) for i in f.args))
            for f in factors
        ]
        terms.append(_Group(*sorted(found, key=lambda t: t.kind != "uniform")))
    if any(not _fits(context, term, len(terms), value.dtype) for term in terms):
        return None
    return next((first for first in terms if _follow(first, terms)), None)


def _fits(context: Context, term: _Group, count: int, sums: DType) -> bool:
    """A factor that all lanes share, by one of `count` numbers a lane."""
    x, y = term
    if term.dtype not in context.options.groups or not term.is_of_kind:
        return False
    in_lanes = y.kind == "strided" and y.step.is_int(count)
    whole = count * x.dtype.itemsize == sums.itemsize
    return x.kind == "uniform" and in_lanes and whole and _ROWS[term.dtype].sums is sums


def _follow(first: _Group, terms: Sequence[_Group]) -> bool:
    """The terms are those at the elements of both factors from the first on."""
    return all(any(_is_at(term, first, k) for term in terms) for k in range(len(terms)))


def _is_at(term: _Group, first: _Group, k: int) -> bool:
    return all(
        a.place is b.place and equal(b.base + k, a.base) for a, b in zip(term, first, strict=True)
    )


def _emit(context: Context, group: _Group, target: Target, width: int) -> None:
    code, lanes = context.code, context.width
    row, count, size = _ROWS[group.dtype], 4 // group.x.dtype.itemsize, group.x.dtype.itemsize
    kind, packed = register_type(row.sums, lanes), vector_of(f"i{8 * size}", count * lanes)
    one = code.let(f"load i32, ptr {_address(context, group.x)}, align {size}")
    x = context.splat(one, "i32", width)
    x = _as_element(context, x, "i32", row.element, width)
    y = code.let(f"load {packed}, ptr {_address(context, group.y)}, align {size}")
    place = _address(context, target)
    old = code.let(f"load {kind}, ptr {place}, align 4")
    made = []
    for first in range(0, lanes, width):
        part = _slice(context, packed, y, count * first, count * width)
        part = _as_element(context, part, f"i{8 * size}", row.element, width)
        total = _slice(context, kind, old, first, width)
        # Of bytes, those without a sign come first.
        factors = (part, x) if group.y.dtype is uint8 else (x, part)
        made.append(_multiply(context, row, width, total, *factors))
    code.do(f"store {kind} {_joined(context, row.sums, width, made)}, ptr {place}, align 4")


_BITS = {"i8": 8, "i16": 16, "bfloat": 16, "i32": 32}


def _vector(element: str, width: int) -> str:
    """The type of `width` groups."""
    return vector_of(element, width * 32 // _BITS[element])


def _address(context: Context, target: Target) -> str:
    offset = evaluate_scalar(context, target.base, "an address")
    element = f"i{8 * target.dtype.itemsize}"
    return context.code.let(
        f"getelementptr inbounds {element}, ptr {target.place.pointer}, i64 {offset}", "p"
    )


def _as_element(context: Context, text: str, element: str, wanted: str, width: int) -> str:
    """`width` groups as vectors of another element."""
    if element == wanted:
        return text
    kinds = _vector(element, width), _vector(wanted, width)
    return context.code.let(f"bitcast {kinds[0]} {text} to {kinds[1]}")


def _slice(context: Context, kind: str, text: str, first: int, count: int) -> str:
    picks = ", ".join(f"i32 {k}" for k in range(first, first + count))
    return context.code.let(
        f"shufflevector {kind} {text}, {kind} poison, <{count} x i32> <{picks}>"
    )


def _multiply(context: Context, row: _Row, width: int, total: str, x: str, y: str) -> str:
    sums, groups = register_type(row.sums, width), _vector(row.element, width)
    name, code = row.intrinsics[width], context.code
    factors = [(groups, x), (groups, y)]
    if row.adds:
        return code.call(sums, name, [(sums, total), *factors])
    products = code.call(sums, name, factors)
    return code.let(f"add {sums} {total}, {products}")


def _joined(context: Context, dtype: DType, width: int, parts: list[str]) -> str:
    """Vectors of `width` lanes one behind the other (a power of two of them)."""
    while len(parts) > 1:
        kind = register_type(dtype, width)
        picks = ", ".join(f"i32 {k}" for k in range(2 * width))
        parts = [
            context.code.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{picks}>")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        width *= 2
    return parts[0]
