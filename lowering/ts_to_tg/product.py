"""Rows of further products of tensors, each one contraction or one pointwise expression."""

from __future__ import annotations

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.dtypes import int8, int32, uint8
from tensorscript.dialects.te.expr import Expr, const

from .builder import Builder, Rows
from .dims import dimension
from .elements import compute_dtype
from .emission import Body
from .linalg import scaled_sum
from .sizes import simplify
from .values import Tensor, Value
from .view import unsqueeze


def _summed(b: Builder, x: Tensor, dim: int) -> Tensor:
    return b.apply("aten::sum.dim_IntList", x, [dim], True, x.dtype.code)


def _tensordot(b: Builder, x: Tensor, y: Tensor, left: Value, right: Value, *_: Value) -> Tensor:
    """Sum over pairs of dimensions; what is left of `x`, then of `y`."""
    if len(left) != len(right):
        b.error("both dimension lists should have same length")
    if x.dtype is not y.dtype:
        b.error("both inputs should have same dtype")
    p = [dimension(b, d, x.rank) for d in left]
    q = [dimension(b, d, y.rank) for d in right]
    extents = []
    for m, n in zip(p, q, strict=True):
        have, want = x.shape[m], y.shape[n]
        if have.is_int(1) or want.is_int(1):
            # Against a single element the others are summed first, in their own dtype.
            x = x if have.is_int(1) else _summed(b, x, m)
            y = y if want.is_int(1) else _summed(b, y, n)
            extents.append(const(1))
            continue
        b.require_unbroadcast(
            have,
            want,
            f"contracted dimensions need to match, but first has size {have} in dim {m} and second"
            f" has size {want} in dim {n}",
        )
        extents.append(have)
    rows = [d for d in range(x.rank) if d not in p]
    columns = [d for d in range(y.rank) if d not in q]
    shape = (*(x.shape[d] for d in rows), *(y.shape[d] for d in columns))
    wide = compute_dtype(x.dtype)

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        at = dict(zip(rows, i, strict=False)) | dict(zip(p, r, strict=True))
        to = dict(zip(columns, i[len(rows) :], strict=True)) | dict(zip(q, r, strict=True))
        first = body.read(x, [at[d] for d in range(x.rank)], wide)
        return first * body.read(y, [to[d] for d in range(y.rank)], wide)

    if not extents:
        return b.compute(shape, x.dtype, lambda body, i: make(body, i, []))
    return b.contract(shape, extents, x.dtype, make)


def _int_mm(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Tensor:
    """An exact product of bytes, in int32."""
    here = "int_mm_out_cpu: "
    if x.dtype not in (int8, uint8):
        b.error(f"{here}Expected self dtype to be int8 or uint8 but got {cpp_name(x.dtype)}")
    if y.dtype is not int8:
        b.error(f"{here}Expected mat2 dtype to be of type int8 but got {cpp_name(y.dtype)}")
    for name, t in (("self", x), ("mat2", y)):
        if t.rank != 2:
            b.error(f"{here}Expected {name} to be of dimension 2 but got {t.rank}")
    depth, given = x.shape[1], y.shape[0]
    message = f"self.size(1) needs to match mat2.size(0) but got {depth} and {given}"
    b.require_same(depth, given, here + message)

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return body.read(x, [i[0], r[0]], int32) * body.read(y, [r[0], i[1]], int32)

    return b.contract((x.shape[0], y.shape[1]), [depth], int32, make)


def _kron(b: Builder, x: Tensor, y: Tensor, *_: Value) -> Tensor:
    """Element (p * size_y + q, ..) is x[p, ..] * y[q, ..]."""
    rank = max(x.rank, y.rank)
    dtype = b.result_type(x, y)
    wide = compute_dtype(dtype)

    def lead(t: Tensor) -> list[Expr]:
        return [const(1)] * (rank - t.rank) + list(t.shape)

    sizes = list(zip(lead(x), lead(y), strict=True))

    def make(body: Body, i: list[Expr]) -> Expr:
        outer = [e if n.is_int(1) else e // n for e, (_, n) in zip(i, sizes, strict=True)]
        inner = [e if m.is_int(1) else e % n for e, (m, n) in zip(i, sizes, strict=True)]
        outer = [const(0) if m.is_int(1) else e for e, (m, _) in zip(outer, sizes, strict=True)]
        inner = [const(0) if n.is_int(1) else e for e, (_, n) in zip(inner, sizes, strict=True)]
        first = body.read(x, outer[rank - x.rank :], wide)
        return first * body.read(y, inner[rank - y.rank :], wide)

    return b.compute([simplify(m * n) for m, n in sizes], dtype, make)


def _addr(
    b: Builder, base: Tensor, x: Tensor, y: Tensor, beta: Value = 1, alpha: Value = 1, *_: Value
) -> Tensor:
    if x.rank != 1 or y.rank != 1:
        b.error(
            f"addr: Expected 1-D argument vec{1 if x.rank != 1 else 2}, but got "
            f"{x.rank if x.rank != 1 else y.rank}-D"
        )
    outer = b.call("aten::mul.Tensor", unsqueeze(b, x, 1), unsqueeze(b, y, 0))
    return scaled_sum(b, base, outer, beta, alpha)


def _cross_at(b: Builder, x: Tensor, y: Tensor, dim: int) -> Tensor:
    dtype = b.result_type(x, y)
    wide = compute_dtype(dtype)
    shape = b.broadcast_shapes(x.shape, y.shape)

    def make(body: Body, i: list[Expr]) -> Expr:
        def at(t: Tensor, step: int) -> Expr:
            index = list(i)
            index[dim] = (i[dim] + step) % 3
            return body.broadcast(t, index, wide, shape)

        return at(x, 1) * at(y, 2) - at(x, 2) * at(y, 1)

    return b.compute(shape, dtype, make)


def _linalg_cross(b: Builder, x: Tensor, y: Tensor, dim: Value = -1, *_: Value) -> Tensor:
    if x.rank != y.rank:
        b.error("linalg.cross: inputs must have the same number of dimensions.")
    d = dimension(b, dim, x.rank)
    message = (
        f"linalg.cross: inputs dimension {dim} must have length 3. Got {x.shape[d]} and"
        f" {y.shape[d]}"
    )
    for t in (x, y):
        b.require_same(t.shape[d], const(3), message)
    return _cross_at(b, x, y, d)


def _cross(b: Builder, x: Tensor, y: Tensor, dim: Value = None, *_: Value) -> Tensor:
    """Without `dim` along the first dimension of size 3."""
    if dim is None:
        found = [d for d, s in enumerate(x.shape) if s.is_int(3)]
        if not found:
            b.error("no dimension of size 3 in input")
        dim = found[0]
    return _linalg_cross(b, x, y, dim)


def _chain(b: Builder, matrices: list[Tensor], *_: Value) -> Value:
    if not matrices:
        b.error("chain_matmul(): Expected one or more matrices")
    out: Value = matrices[0]
    for m in matrices[1:]:
        out = b.call("aten::mm", out, m)
    return out


def _bilinear(
    b: Builder, x: Tensor, y: Tensor, weight: Tensor, bias: Tensor | None = None, *_: Value
) -> Value:
    """out[.., o] = sum over p, q of x[.., p] * weight[o, p, q] * y[.., q] + bias[o]."""
    out = b.call("aten::einsum", "...p,opq,...q->...o", [x, weight, y])
    return out if bias is None else b.call("aten::add.Tensor", out, bias)


PRODUCT: Rows = {
    "aten::tensordot": _tensordot,
    "aten::_int_mm": _int_mm,
    "aten::kron": _kron,
    "aten::addr": _addr,
    "aten::cross": _cross,
    "aten::linalg_cross": _linalg_cross,
    "aten::chain_matmul": _chain,
    "aten::bilinear": _bilinear,
}
