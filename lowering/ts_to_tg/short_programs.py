"""Rows of rarer operators, each a few lines of others (see also composites.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

import numpy as np

from tensorscript.base.dtypes import bool_, float64, int64, real_dtype
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .compaction import nonzero_by_dimension
from .complex_tensors import AnyTensor, converted, copied
from .dims import dimension, literal, sizes_of
from .elements import as_expr, compute_dtype
from .emission import Body
from .functions import elementary
from .index import check_bounds, wrapped
from .loops import loop
from .loss import MEAN, reduced
from .pointwise import float_type, unary_float
from .sizes import sizes_text
from .values import ComplexTensor, Tensor, Value

_UNLIKE = (
    "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 'output'"
)


def _multivariate_gamma(b: Builder, x: Tensor, p: Value, *_: Value) -> Tensor:
    """log of the gamma function of matrices of order p: a sum of those of numbers."""
    if not isinstance(p, int):
        b.cannot("an order that is not known")
    if p < 1:
        b.error("p has to be greater than or equal to 1")
    log_gamma = elementary("lgamma")

    def fn(e: Expr) -> Expr:
        total = const(p * (p - 1) / 4 * math.log(math.pi), e.dtype)
        for j in range(p):
            total = total + log_gamma(e - j / 2)
        return total

    return unary_float(fn)(b, x)


def _running_logsumexp(b: Builder, x: AnyTensor, dim: Value, *_: Value) -> AnyTensor:
    """Each round joins neighbours twice as far apart (Hillis and Steele, "Data parallel
    algorithms", 1986): as many rounds as the length has digits in binary."""
    d = dimension(b, dim, x.rank)
    x = float_type(b, x)
    if not x.rank:
        return copied(b, x)
    if not x.shape[d].is_const:
        return _running_found(b, x, d)
    length = literal(b, x.shape[d], "the length of a running sum")
    step = 1
    while step < length:
        edge = [const(step) if k == d else n for k, n in enumerate(x.shape)]
        least = converted(b, b.full(edge, -math.inf, real_dtype(x.dtype)), x.dtype)
        before = b.apply("aten::cat", [least, b.apply("aten::slice", x, d, 0, -step)], d)
        x = b.apply("aten::logaddexp", before, x)
        step *= 2
    return x if length > 1 else copied(b, x)


def _running_found(b: Builder, x: AnyTensor, d: int) -> AnyTensor:
    """The same of a length that the program finds: the rounds are a loop's."""
    rounds = call("ceil", call("log2", cast(binary("max", b.unsized(x.shape[d]), 1), float64)))

    def before(t: Tensor, step: Expr, least: float) -> Tensor:
        def make(body: Body, i: list[Expr]) -> Expr:
            at = [e - step if k == d else e for k, e in enumerate(i)]
            return select(
                binary("ge", i[d], step), body.read(t, at, t.dtype), const(least, t.dtype)
            )

        return b.compute(t.shape, t.dtype, make)

    def joined(arguments: Sequence[Value]) -> list[Value]:
        number, now = arguments
        step = binary("shl", const(1), as_expr(number))
        if isinstance(now, ComplexTensor):
            sides = before(now.real, step, -math.inf), before(now.imag, step, 0.0)
            return [True, b.apply("aten::logaddexp", ComplexTensor(*sides), now)]
        return [True, b.apply("aten::logaddexp", before(now, step, -math.inf), now)]

    count = b.scalar_of(b.scalar_operand(cast(rounds, int64)))
    found: AnyTensor = loop(b, count, True, [copied(b, x)], joined, 64)[0]
    return found


def _pairs(b: Builder, size: Expr, least: int = 1) -> Sequence[Tensor]:
    """Both places of all pairs i + least <= j, by rows."""
    if not size.is_const:
        above = b.compute([size, size], bool_, lambda body, i: binary("ge", i[1], i[0] + least))
        return nonzero_by_dimension(b, above)
    count = int(str(size.value))
    sides = [np.ascontiguousarray(side).astype(np.int64) for side in np.triu_indices(count, least)]
    b.kept.extend(sides)
    return b.literal(sides[0], int64), b.literal(sides[1], int64)


def _pdist(b: Builder, x: Tensor, p: Value = 2.0, *_: Value) -> Value:
    """Distances of all pairs of rows, once each."""
    if x.rank != 2:
        b.error(f"pdist only supports 2D tensors, got: {x.rank}D")
    if isinstance(p, int | float) and p < 0:
        b.error("pdist only supports non-negative p values")
    left, right = (b.apply("aten::index_select", x, 0, places) for places in _pairs(b, x.shape[0]))
    return b.call("aten::linalg_vector_norm", b.apply("aten::sub", left, right), p, [1])


def _combinations(b: Builder, x: Tensor, r: Value = 2, with_replacement: Value = False) -> Value:
    if x.rank != 1:
        b.error(f"Expect a 1D vector, but got shape {[int(str(n)) for n in x.shape]}")
    if not isinstance(r, int):
        b.cannot("a length of combinations that is not known")
    if r == 2 and not x.shape[0].is_const:
        places_of_two = _pairs(b, x.shape[0], 0 if with_replacement else 1)
        return b.call("aten::stack", [b.apply("aten::take", x, at) for at in places_of_two], 1)
    count = literal(b, x.shape[0], "the number of elements that are combined")
    pick = combinations_with_replacement if with_replacement else combinations
    if r == 0:
        return b.full([0], 0, x.dtype)
    places = np.array(list(pick(range(count), r)), np.int64).reshape(-1, r)
    b.kept.append(places)
    return b.call("aten::take", x, b.literal(places, int64))


def _put(
    b: Builder, x: Tensor, index: Tensor, source: Tensor, accumulate: Value = False, *_: Value
) -> Value:
    """Elements by their number in row-major order."""
    if index.dtype is not int64:
        b.error(f"put_(): Expected a long tensor for index, but got {index.dtype.word}")
    if source.dtype is not x.dtype:
        b.error(
            "put_(): self and source expected to have the same dtype, but got "
            f"{x.dtype.word} and {source.dtype.word}"
        )
    flat, at, new = (b.apply("aten::reshape", t, [-1]) for t in (x, index, source))
    size = flat.shape[0]
    b.require_same(
        new.shape[0],
        at.shape[0],
        "put_(): Expected source and index to have the same number of elements, but got "
        f"source.numel() = {new.shape[0]}, index.numel() = {at.shape[0]}",
    )
    check_bounds(
        b, at, size, f"out of range: tried to access an index on a tensor of {size} elements."
    )

    def make(body: Body, d: list[Expr]) -> tuple[list[Expr], Expr]:
        return [wrapped(body.read(at, d, int64), size)], body.read(new, d, x.dtype)

    out = b.scatter(flat, at.shape, make, "add" if accumulate else "set")
    return b.call("aten::reshape", out, list(x.shape))


def _index_reduce(
    b: Builder, x: Tensor, dim: Value, index: Tensor, source: Tensor, reduce: Value, *rest: Value
) -> Value:
    """scatter_reduce of whole slices."""
    if reduce not in ("mean", "prod", "amax", "amin"):
        b.error(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    if index.rank > 1:
        b.error(f"index_reduce(): Index is supposed to be a vector, but got dim: {index.rank}")
    if not x.rank or not source.rank:
        return b.call("aten::scatter_reduce.two", x, dim, index, source, reduce, *rest)
    d = dimension(b, dim, x.rank)
    shape = [-1 if k == d else 1 for k in range(source.rank)]
    places = b.apply("aten::reshape", b.cast(index, int64), shape)
    places = b.apply("aten::expand", places, list(source.shape))
    return b.call("aten::scatter_reduce.two", x, d, places, source, reduce, *rest)


def _widened(b: Builder, grad: Tensor, out: Tensor) -> tuple[Tensor, ...]:
    """Both in the dtype in which sums of their elements are made."""
    if grad.rank != out.rank:
        b.error(_UNLIKE)
    for m, n in zip(grad.shape, out.shape, strict=True):
        b.require_same(m, n, _UNLIKE)
    if grad.dtype is not out.dtype:
        b.error(f"expected scalar type {grad.dtype.word} but found {out.dtype.word}")
    return tuple(b.cast(t, compute_dtype(t.dtype)) for t in (grad, out))


def _softmax_backward(b: Builder, grad: Tensor, out: Tensor, dim: Value, *_: Value) -> Tensor:
    kind = grad.dtype
    grad, out = _widened(b, grad, out)
    weighted = b.apply("aten::mul", grad, out)
    total = b.apply("aten::sum.dim_IntList", weighted, [dim], True)
    return b.cast(b.apply("aten::mul", out, b.call("aten::sub", grad, total)), kind)


def _log_softmax_backward(b: Builder, grad: Tensor, out: Tensor, dim: Value, *_: Value) -> Tensor:
    kind = grad.dtype
    grad, out = _widened(b, grad, out)
    total = b.apply("aten::sum.dim_IntList", grad, [dim], True)
    shares = b.apply("aten::mul", b.call("aten::exp", out), total)
    return b.cast(b.apply("aten::sub", grad, shares), kind)


def _dropout_backward(b: Builder, grad: Tensor, mask: Tensor, scale: Value) -> Value:
    return b.call("aten::mul", b.call("aten::mul", grad, mask), scale)


def _multi_margin(
    b: Builder,
    x: Tensor,
    target: Tensor,
    p: Value = 1,
    margin: Value = 1,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """Per row the mean over other classes of max(0, margin - x[target] + x[class]) ** p."""
    rows = x if x.rank == 2 else b.apply("aten::reshape", x, [1, -1])
    places = b.apply("aten::reshape", target, [-1])
    b.require_same(
        rows.shape[0],
        places.shape[0],
        f"inconsistent target size, expected [{rows.shape[0]}] but got [{places.shape[0]}]",
    )
    column = b.apply("aten::unsqueeze", places, 1)
    gap = b.apply("aten::sub", rows, b.call("aten::gather", rows, 1, column))
    loss = b.apply("aten::clamp_min", b.call("aten::add", gap, margin), 0)
    loss = b.apply("aten::pow", loss, p)
    if weight is not None:
        classes, given = rows.shape[1], sizes_text(weight.shape)
        message = f"inconsistent weight size, expected {classes} but got {given}"
        b.require_alike(weight.shape, [classes], message)
        share = b.call("aten::index_select", weight, 0, places)
        loss = b.apply("aten::mul", loss, b.call("aten::unsqueeze", share, 1))

    def others(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        own = body.read(places, i, int64).equals(r[0])
        return select(own, const(0, loss.dtype), body.read(loss, [*i, r[0]], loss.dtype))

    total = b.reduce([rows.shape[0]], [rows.shape[1]], loss.dtype, "add", others)
    mean = b.cast(b.apply("aten::div", total, rows.shape[1]), x.dtype)
    single = not target.rank or x.rank < 2
    return reduced(b, b.apply("aten::reshape", mean, []) if single else mean, reduction)


def _multilabel_margin(b: Builder, x: Tensor, target: Tensor, reduction: int = 1) -> Value:
    """Per row the sum over targets and others of max(0, 1 - x[target] + x[other]) / classes; also
    which classes are targets. Targets end before the first negative number."""
    if target.dtype is not int64:
        b.error(f"expected scalar type Long but found {target.dtype.word}")
    rows, listed = (t if t.rank == 2 else b.apply("aten::reshape", t, [1, -1]) for t in (x, target))
    for m, n in zip(rows.shape, listed.shape, strict=True):
        b.require_same(m, n, f"inconsistent target size: {target.shape} for input {x.shape}")
    count, classes = rows.shape
    wide = compute_dtype(x.dtype)
    places = b.apply("aten::add", listed, 1)
    check_bounds(b, places, classes + 1, "argument #2 'target' is out of range", low=False)
    ended = b.call("aten::cumsum", b.apply("aten::lt", listed, 0), 1)

    def times(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        at = [i[0], r[0]]
        counts = body.read(ended, at, int64).equals(0)
        own = body.read(listed, at, int64).equals(i[1])
        return select(counts, select(own, const(1, int64), const(0, int64)), const(0, int64))

    chosen = b.reduce([count, classes], [classes], int64, "add", times)

    def gap(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        first, other = (body.read(rows, [i[0], e], wide) for e in r)
        off = binary("max", 1 - first + other, const(0, wide))
        weight = cast(body.read(chosen, [i[0], r[0]], int64), wide)
        free = body.read(chosen, [i[0], r[1]], int64).equals(0)
        return select(free, off * weight, const(0, wide))

    total = b.reduce([count], [classes, classes], wide, "add", gap)
    mean = b.cast(b.apply("aten::div", total, classes), x.dtype)
    loss = b.apply("aten::reshape", mean, []) if x.rank < 2 else mean
    labels = b.cast(b.apply("aten::gt", chosen, 0), x.dtype)
    return reduced(b, loss, reduction), b.apply("aten::reshape", labels, list(target.shape))


def _broadcast_shapes(b: Builder, p: Value, q: Value) -> Value:
    return list(b.broadcast_shapes(tuple(sizes_of(b, p)), tuple(sizes_of(b, q))))


SHORT_PROGRAM: Rows = {
    "aten::mvlgamma": _multivariate_gamma,
    "aten::special_multigammaln": _multivariate_gamma,
    "aten::logcumsumexp": _running_logsumexp,
    "aten::pdist": _pdist,
    "aten::combinations": _combinations,
    "aten::put": _put,
    "aten::index_reduce": _index_reduce,
    "aten::_softmax_backward_data": _softmax_backward,
    "aten::_log_softmax_backward_data": _log_softmax_backward,
    "aten::native_dropout_backward": _dropout_backward,
    "aten::multi_margin_loss": _multi_margin,
    "aten::multilabel_margin_loss": lambda b, *given: _multilabel_margin(b, *given)[0],
    "aten::multilabel_margin_loss_forward": _multilabel_margin,
    "aten::broadcast_shapes": _broadcast_shapes,
}
