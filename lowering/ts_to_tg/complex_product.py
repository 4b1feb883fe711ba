"""Complex rows of products: sums of products of parts, each a product of real tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as choices

from tensorscript.base.dtypes import real_dtype
from tensorscript.base.subscripts import equation_of
from tensorscript.dialects.te.expr import known_as

from .builder import Builder, Rows
from .complex_tensors import AnyTensor, complex_full, complex_of
from .dims import dimensions, dtype_of, literal
from .linalg import INTO_DTYPE, check_types
from .slicing import narrow
from .values import ComplexTensor, Tensor, Value

Row = Callable[..., Value]


def multilinear(b: Builder, real_row: Callable[..., Tensor], *operands: AnyTensor) -> ComplexTensor:
    """A function linear in each operand: the sum over choices of parts, times i for each imaginary
    one. A real operand has no imaginary part."""
    dtype = real_dtype(b.result_type(*operands))
    sides = [x.elements if isinstance(x, ComplexTensor) else (x,) for x in operands]
    sums: list[Tensor | None] = [None, None]
    for which in choices((0, 1), repeat=len(operands)):
        if any(k >= len(side) for side, k in zip(sides, which, strict=True)):
            continue
        term = real_row(*(b.cast(side[k], dtype) for side, k in zip(sides, which, strict=True)))
        at, negative = sum(which) % 2, sum(which) % 4 >= 2
        before = sums[at]
        if before is None:
            sums[at] = b.apply("aten::neg", term) if negative else term
        else:
            sums[at] = b.apply("aten::sub" if negative else "aten::add", before, term)
    real, imag = sums
    assert real is not None and imag is not None
    return ComplexTensor(real, imag)


def product(name: str) -> Row:
    """A row of two matrices or vectors."""

    def row(b: Builder, x: AnyTensor, y: AnyTensor, *_: Value) -> ComplexTensor:
        check_types(b, x, y)
        return multilinear(b, lambda p, q: b.apply(name, p, q), x, y)

    return row


def bilinear(name: str) -> Row:
    """A row of two operands that promotes them; what follows stays."""

    def row(b: Builder, x: AnyTensor, y: AnyTensor, *rest: Value) -> ComplexTensor:
        return multilinear(b, lambda p, q: b.apply(name, p, q, *rest), x, y)

    return row


def _conj_dot(b: Builder, x: AnyTensor, y: AnyTensor, *_: Value) -> Value:
    return b.call("aten::dot", b.call("aten::conj_physical", x), y)


def _vecdot(b: Builder, x: AnyTensor, y: AnyTensor, dim: Value = -1, *_: Value) -> Value:
    products = b.call("aten::mul", b.call("aten::conj_physical", x), y)
    return b.call("aten::sum.dim_IntList", products, [dim])


def _einsum(b: Builder, equation: str, tensors: list[AnyTensor], *_: Value) -> Value:
    return multilinear(b, lambda *parts: b.apply("aten::einsum", equation, list(parts)), *tensors)


def _added(name: str) -> Row:
    """addmm and its kind: beta * base + alpha * product."""

    def row(
        b: Builder, base: AnyTensor, x: AnyTensor, y: AnyTensor, beta: Value = 1,
        alpha: Value = 1, *_: Value,
    ) -> Value:  # fmt: skip
        found = b.call(name, x, y)
        if not known_as(alpha, 1):
            found = b.call("aten::mul", found, alpha)
        if known_as(beta, 0):
            return found
        scaled = base if known_as(beta, 1) else b.call("aten::mul", base, beta)
        return b.call("aten::add", scaled, found)

    return row


def _addbmm(b: Builder, base: Value, x: Value, y: Value, *rest: Value) -> Value:
    beta, alpha = [*rest, 1, 1][:2] if len(rest) != 1 else (rest[0], 1)
    found = b.call("aten::sum.dim_IntList", b.call("aten::bmm", x, y), [0])
    scaled = b.call("aten::mul", found, alpha)
    return (
        scaled
        if known_as(beta, 0)
        else b.call("aten::add", b.call("aten::mul", base, beta), scaled)
    )


def _linear(b: Builder, x: Value, weight: Value, bias: Value = None, *_: Value) -> Value:
    turned = b.call("aten::t", weight)
    out = b.call("aten::matmul", x, turned)
    return out if bias is None else b.call("aten::add", out, bias)


def _outer(b: Builder, x: AnyTensor, y: AnyTensor, *_: Value) -> Value:
    return b.call("aten::mul", b.call("aten::unsqueeze", x, 1), b.call("aten::unsqueeze", y, 0))


def _prod(
    b: Builder, x: ComplexTensor, dim: Value = None, keepdim: Value = False, *_: Value
) -> Value:
    """Halves multiplied until one number is left: tg combines only real ones."""
    if dim is None:
        x, dim = b.call("aten::reshape", x, [-1]), 0
    (d,) = dimensions(b, [dim], x.rank) or [0]
    if not x.rank:
        return x
    size = literal(b, x.shape[d], "how many complex numbers are multiplied")
    if not size:
        shape = [1 if k == d else s for k, s in enumerate(x.shape)]
        x = complex_full(b, b.call("aten::zeros", shape).shape, 1, x.dtype)
    while size > 1:
        half = size // 2
        pairs = [_range(b, x, d, start, half) for start in (0, half)]
        found = b.call("aten::mul", *pairs)
        rest = [_range(b, x, d, size - 1, 1)] if size % 2 else []
        x, size = b.call("aten::cat", [found, *rest], d) if rest else found, half + size % 2
    return x if keepdim else b.call("aten::squeeze", x, d)


def _range(b: Builder, x: ComplexTensor, dim: int, start: int, count: int) -> ComplexTensor:
    return ComplexTensor(*(narrow(b, part, dim, start, count) for part in x.elements))


def _cumprod(b: Builder, x: ComplexTensor, dim: Value, *_: Value) -> Value:
    """Hillis and Steele's scan: products over 1, 2, 4, ... numbers before each."""
    (d,) = dimensions(b, [dim], x.rank) or [0]
    size = literal(b, x.shape[d], "how many complex numbers are multiplied") if x.rank else 1
    reach = 1
    while reach < size:
        head = _range(b, x, d, 0, reach)
        moved = b.call("aten::mul", _range(b, x, d, reach, size - reach),
                       _range(b, x, d, 0, size - reach))  # fmt: skip
        x, reach = b.call("aten::cat", [head, moved], d), reach * 2
    return x


def _norm(
    b: Builder, x: ComplexTensor, p: Value = 2, dims: Value = None, keepdim: Value = False,
    dtype: Value = None, *_: Value,
) -> Value:  # fmt: skip
    """Of the lengths."""
    kind = dtype_of(dtype, x.dtype)
    if not kind.is_complex:
        b.error(
            f"linalg.vector_norm: dtype should be complex for complex inputs, but got {kind.word}"
        )
    lengths = b.call("aten::abs", complex_of(b, x, kind))
    return b.call("aten::linalg_vector_norm", lengths, 2 if p is None else p, dims, keepdim)


def _variance(name: str) -> Row:
    """Of real parts plus of imaginary parts."""

    def row(b: Builder, x: ComplexTensor, *rest: Value) -> Value:
        parts = [b.call("aten::var", part, *rest) for part in x.elements]
        total = b.call("aten::add", *parts)
        return b.call("aten::sqrt", total) if name == "std" else total

    return row


COMPLEX_PRODUCT: Rows = {
    **{f"aten::{name}": product(f"aten::{name}") for name in ("mm", "bmm", "mv", "dot", "inner")},
    **{f"aten::{name}": product(f"aten::{name}") for name in ("matmul", "linalg_matmul")},
    **{
        f"aten::{name}": bilinear(f"aten::{name}")
        for name in ("tensordot", "kron", "cross", "linalg_cross")
    },
    **INTO_DTYPE,
    "aten::vdot": _conj_dot,
    "aten::linalg_vecdot": _vecdot,
    "aten::einsum": _einsum,
    "aten::einsum.sublist": lambda b, *pairs: _einsum(b, *equation_of(pairs)),
    "aten::outer": _outer,
    "aten::ger": _outer,
    "aten::addmm": _added("aten::mm"),
    "aten::addmv": _added("aten::mv"),
    "aten::addr": _added("aten::outer"),
    "aten::baddbmm": _added("aten::bmm"),
    "aten::addbmm": _addbmm,
    "aten::linear": _linear,
    "aten::prod": _prod,
    "aten::prod.dim_int": _prod,
    "aten::cumprod": _cumprod,
    **{f"aten::{name}": _norm for name in ("norm", "linalg_vector_norm")},
    "aten::norm.ScalarOpt_dtype": lambda b, x, p, dtype: _norm(b, x, p, None, False, dtype),
    "aten::frobenius_norm": lambda b, x, dims=None, keepdim=False: _norm(b, x, 2, dims, keepdim),
    "aten::var": _variance("var"),
    "aten::std": _variance("std"),
}
"""Rows of which an operand is complex."""
