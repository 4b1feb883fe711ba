"""An update by products of pairs, as the one instruction that CPUs have for it.

```
te.for j in 0 .. 16 vector {
  te.update t[j] add= f32(x[k]) * f32(y[j, 0]) + f32(x[k + 1]) * f32(y[j, 1]) }
```
| pairs of | sums in | instruction |
|---|---|---|
| bfloat16 | float32 | vdpbf16ps |
| int16 | int32 | vpmaddwd and an addition, which LLVM makes vpdpwssd of where there is one |

The pair of x is one 32-bit number in all lanes, the pairs of y are one vector. Integer sums are
exact; those of bfloat16 take subnormal numbers for 0, as the instruction does.
"""

from __future__ import annotations

from typing import NamedTuple

from tensorscript.base.dtypes import DType, bfloat16, float32, int16, int32
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import UpdateOp
from tensorscript.dialects.te.polynomial import equal

from .emit_context import Context
from .emit_expr import evaluate_scalar
from .emit_memory import Target, locate
from .emit_types import register_type, vector_of


class _Row(NamedTuple):
    """What multiplies pairs: the dtype of the sums, intrinsics by the lanes of those, and the
    element that these take."""

    sums: DType
    intrinsics: dict[int, str]
    element: str


_ROWS = {
    bfloat16: _Row(float32, {16: "llvm.x86.avx512bf16.dpbf16ps.512"}, "bfloat"),
    int16: _Row(
        int32, {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd",
                4: "llvm.x86.sse2.pmadd.wd"}, "i16",
    ),
}  # fmt: skip


class _Pair(NamedTuple):
    """The factors at the first element of a pair."""

    dtype: DType
    x: Target
    y: Target


def emit_pairs(context: Context, op: UpdateOp) -> bool:
    """Emit an update by products of pairs; False if it is another, or the target has no such."""
    lane = context.vector
    if lane is None or op.combiner != "add" or context.mask is not None or context.options.strict:
        return False
    if (pair := _pair_of(context, op.value)) is None:
        return False
    row, lanes = _ROWS[pair.dtype], lane.width
    width = next((w for w in row.intrinsics if w <= context.options.lanes and lanes % w == 0), None)
    target = locate(context, op.buffer, tuple(context.resolve(i) for i in op.indices))
    if width is None or target.kind != "contiguous" or target.dtype is not row.sums:
        return False
    _emit(context, pair, target, width)
    return True


def _pair_of(context: Context, value: Expr) -> _Pair | None:
    if value.op != "add" or any(a.op != "mul" for a in value.args):
        return None
    sums = value.dtype
    terms = []
    for product in value.args:
        factors = [f.args[0] for f in product.args if f.op == "cast"]
        if len(factors) != 2 or any(f.op != "load" for f in factors):
            return None
        found = [
            locate(context, str(f.value), tuple(context.resolve(i) for i in f.args))
            for f in factors
        ]
        terms.append(sorted(found, key=lambda t: t.kind != "uniform"))
    (x, y), (u, v) = terms
    dtype = x.dtype
    if dtype not in context.options.pairs or _ROWS[dtype].sums is not sums:
        return None
    if any(t.dtype is not dtype for t in (y, u, v)) or x.place is not u.place:
        return None
    if y.place is not v.place or x.kind != "uniform" or u.kind != "uniform":
        return None
    if any(t.kind != "strided" or not t.step.is_int(2) for t in (y, v)):
        return None
    for first, second, a, b in ((x, u, y, v), (u, x, v, y)):
        if equal(first.base + 1, second.base) and equal(a.base + 1, b.base):
            return _Pair(dtype, first, a)
    return None


def _emit(context: Context, pair: _Pair, target: Target, width: int) -> None:
    code, lanes = context.code, context.width
    row = _ROWS[pair.dtype]
    kind, pairs = register_type(row.sums, lanes), vector_of("i16", 2 * lanes)
    one = code.let(f"load i32, ptr {_address(context, pair.x)}, align 2")
    x = context.splat(one, "i32", width)
    x = _as_pairs(context, x, vector_of("i32", width), row.element, width)
    y = code.let(f"load {pairs}, ptr {_address(context, pair.y)}, align 2")
    place = _address(context, target)
    old = code.let(f"load {kind}, ptr {place}, align 4")
    made = []
    for first in range(0, lanes, width):
        part = _slice(context, pairs, y, 2 * first, 2 * width)
        part = _as_pairs(context, part, vector_of("i16", 2 * width), row.element, width)
        total = _slice(context, kind, old, first, width)
        made.append(_multiply(context, row, width, total, x, part))
    code.do(f"store {kind} {_joined(context, row.sums, width, made)}, ptr {place}, align 4")


def _address(context: Context, target: Target) -> str:
    offset = evaluate_scalar(context, target.base, "an address")
    element = "i16" if target.dtype.itemsize == 2 else "i32"
    return context.code.let(
        f"getelementptr inbounds {element}, ptr {target.place.pointer}, i64 {offset}", "p"
    )


def _as_pairs(context: Context, text: str, kind: str, element: str, width: int) -> str:
    wanted = vector_of(element, 2 * width)
    return text if kind == wanted else context.code.let(f"bitcast {kind} {text} to {wanted}")


def _slice(context: Context, kind: str, text: str, first: int, count: int) -> str:
    picks = ", ".join(f"i32 {k}" for k in range(first, first + count))
    return context.code.let(
        f"shufflevector {kind} {text}, {kind} poison, <{count} x i32> <{picks}>"
    )


def _multiply(context: Context, row: _Row, width: int, total: str, x: str, y: str) -> str:
    sums, pairs = register_type(row.sums, width), vector_of(row.element, 2 * width)
    name, code = row.intrinsics[width], context.code
    if row.sums is float32:
        return code.call(sums, name, [(sums, total), (pairs, x), (pairs, y)])
    products = code.call(sums, name, [(pairs, x), (pairs, y)])
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
