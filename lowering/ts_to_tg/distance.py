"""Rows of distances and similarities between vectors, and the losses made of them."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import minus_one
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .dims import dimension
from .elements import compute_dtype
from .emission import Body
from .loss import MEAN, reduced
from .pointwise import absolute
from .reduction import combine
from .values import Tensor, Value


def _cosine(
    b: Builder, x: Tensor, y: Tensor, dim: Value = 1, eps: Value = 1e-8, *_: Value
) -> Tensor:
    """The dot product of the vectors, each divided by its length (at least eps)."""
    dtype = b.result_type(x, y)
    shape = b.broadcast_shapes(x.shape, y.shape)
    sizes = list(shape)
    x, y = b.call("aten::expand", x, sizes), b.call("aten::expand", y, sizes)
    d = [dimension(b, dim, len(shape))]
    wide = compute_dtype(dtype)

    def length(t: Tensor) -> Tensor:
        total = combine(b, t, d, True, "add", wide, lambda e: e * e)
        return b.pointwise(
            lambda e, s: binary("max", call("sqrt", e), s), total, eps, dtype=wide, compute=wide
        )

    def fn(p: Expr, q: Expr, m: Expr, n: Expr) -> Expr:
        return (p / m) * (q / n)

    products = b.pointwise(fn, x, y, length(x), length(y), dtype=wide, compute=wide)
    return combine(b, products, d, False, "add", dtype)


def pairwise_distance(
    b: Builder,
    x: Tensor,
    y: Tensor,
    p: Value = 2.0,
    eps: Value = 1e-6,
    keepdim: Value = False,
    *_: Value,
) -> Tensor:
    """The p-norm of x - y + eps along the last dimension."""
    gap = b.call("aten::add", b.call("aten::sub", x, y), eps)
    return b.apply("aten::linalg_vector_norm", gap, p, [-1], keepdim)


def _dist(b: Builder, x: Tensor, y: Tensor, p: Value = 2, *_: Value) -> Tensor:
    return b.apply("aten::linalg_vector_norm", b.call("aten::sub.Tensor", x, y), p)


def _cdist(b: Builder, x: Tensor, y: Tensor, p: Value = 2.0, *_: Value) -> Tensor:
    """Distances of all pairs of rows: (..., n, m), (..., k, m) -> (..., n, k)."""
    if x.rank < 2 or y.rank < 2:
        b.error("cdist only supports at least 2D tensors")
    b.require_same(
        x.shape[-1],
        y.shape[-1],
        f"X1 and X2 must have the same number of columns. X1: {x.shape[-1]} X2: {y.shape[-1]}",
    )
    if not isinstance(p, int | float):
        b.cannot("a norm whose order is not known")
    if p < 0:
        b.error("cdist only supports non-negative p values")
    batch = b.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    dtype = b.result_type(x, y)
    wide = compute_dtype(dtype)
    fn, combiner = _terms(p)

    def gap(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        def lead(t: Tensor) -> list[Expr]:
            return body.aligned(t.shape[:-2], i[: len(batch)], batch)

        left = body.read(x, [*lead(x), i[-2], r[0]], wide)
        return fn(left - body.read(y, [*lead(y), i[-1], r[0]], wide))

    shape = (*batch, x.shape[-2], y.shape[-2])
    total = b.reduce(shape, [x.shape[-1]], wide, combiner, gap)
    if combiner == "max" and x.shape[-1].is_int(0):
        return b.full(shape, 0, dtype)
    return b.pointwise(_root(p), total, dtype=dtype, compute=wide)


def _terms(p: float) -> tuple[Callable[[Expr], Expr], str]:
    """What is summed (or of what the largest is taken) for a p-norm."""
    if p == 0:
        return lambda e: cast(binary("ne", e, 0.0), e.dtype), "add"
    if p == 2:
        return lambda e: e * e, "add"
    if p == math.inf:
        return absolute, "max"
    if p == 1:
        return absolute, "add"
    return lambda e: binary("pow", absolute(e), p), "add"


def _root(p: float) -> Callable[[Expr], Expr]:
    if p == 2:
        return lambda e: call("sqrt", e)
    if p in (0, 1, math.inf):
        return lambda e: e
    return lambda e: binary("pow", e, 1 / p)


def _margin_ranking(
    b: Builder,
    x: Tensor,
    y: Tensor,
    target: Tensor,
    margin: Value = 0.0,
    reduction: int = MEAN,
    *_: Value,
) -> Tensor:
    apart = b.pointwise(lambda p, q, t: -t * (p - q), x, y, target)
    out = b.pointwise(lambda e, m: binary("max", e + m, 0), apart, margin)
    return reduced(b, out, reduction)


def _hinge_embedding(
    b: Builder, x: Tensor, target: Tensor, margin: Value = 1.0, reduction: int = MEAN, *_: Value
) -> Tensor:
    def fn(e: Expr, t: Expr, m: Expr) -> Expr:
        zero = const(0, e.dtype)
        near = select(t.equals(1), zero, binary("max", m - e, zero))
        return near + select(t.equals(-1), zero, e)

    return reduced(b, b.pointwise(fn, x, target, margin), reduction)


def _cosine_embedding(
    b: Builder,
    x: Tensor,
    y: Tensor,
    target: Tensor,
    margin: Value = 0.0,
    reduction: int = MEAN,
    *_: Value,
) -> Tensor:
    """1e-12 is added to the squared lengths, where cosine_similarity bounds the lengths."""
    common = b.result_type(x, y)
    dtype = common if common.is_floating_point else b.default_dtype
    wide = compute_dtype(dtype)
    apart_at = minus_one(target.dtype)
    held = wide if common.is_floating_point else common

    def dot(p: Tensor, q: Tensor) -> Tensor:
        both = b.pointwise(lambda e, f: e * f, p, q, dtype=held, compute=held)
        return combine(b, both, [x.rank - 1], False, "add", wide)

    def fn(s: Expr, m: Expr, n: Expr, t: Expr, low: Expr) -> Expr:
        cosine = s / call("sqrt", (m + 1e-12) * (n + 1e-12))
        zero = const(0, s.dtype)
        apart = select(t.equals(apart_at), binary("max", cosine - low, zero), zero)
        return select(t.equals(1), 1 - cosine, apart)

    sums = dot(x, y), dot(x, x), dot(y, y)
    out = b.pointwise(fn, *sums, target, margin, dtype=dtype, compute=wide)
    return reduced(b, out, reduction)


def _triplet(
    b: Builder,
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: Value = 1.0,
    p: Value = 2.0,
    eps: Value = 1e-6,
    swap: Value = False,
    reduction: int = MEAN,
    *_: Value,
) -> Tensor:
    near = pairwise_distance(b, anchor, positive, p, eps)
    far = pairwise_distance(b, anchor, negative, p, eps)
    if swap:
        other = pairwise_distance(b, positive, negative, p, eps)
        far = b.pointwise(lambda m, n: binary("min", m, n), far, other)
    out = b.pointwise(lambda m, n, g: binary("max", m - n + g, 0), near, far, margin)
    return reduced(b, out, reduction)


def _poisson(
    b: Builder,
    x: Tensor,
    target: Tensor,
    log_input: bool,
    full: bool,
    eps: Value,
    reduction: int,
    *_: Value,
) -> Tensor:
    def fn(e: Expr, t: Expr, small: Expr) -> Expr:
        out = call("exp", e) - t * e if log_input else e - t * call("log", e + small)
        if full:
            stirling = t * call("log", t) - t + 0.5 * call("log", 2 * math.pi * t)
            out = out + select(t > 1, stirling, const(0, e.dtype))
        return out

    return reduced(b, b.pointwise(fn, x, target, eps), reduction)


DISTANCE: Rows = {
    "aten::cosine_similarity": _cosine,
    "aten::pairwise_distance": pairwise_distance,
    "aten::dist": _dist,
    "aten::cdist": _cdist,
    "aten::_cdist_forward": _cdist,
    "aten::margin_ranking_loss": _margin_ranking,
    "aten::hinge_embedding_loss": _hinge_embedding,
    "aten::cosine_embedding_loss": _cosine_embedding,
    "aten::triplet_margin_loss": _triplet,
    "aten::poisson_nll_loss": _poisson,
}
