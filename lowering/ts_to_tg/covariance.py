"""Rows of covariances and correlations, of real and of complex samples."""

from __future__ import annotations

from tensorscript.base.dtypes import real_dtype

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .pointwise import float_type
from .sizes import product, simplify
from .values import ComplexTensor, Tensor, Value


def _covariance(
    b: Builder,
    x: AnyTensor,
    correction: Value = 1,
    counts: Value = None,
    weights: Value = None,
    *_: Value,
) -> AnyTensor:
    """Of rows of observations (variables, samples)."""
    if x.rank > 2:
        b.error(
            "cov(): expected input to have two or fewer dimensions but got an input with"
            f" {x.rank} dimensions"
        )
    x = float_type(b, x)
    rows = b.apply("aten::reshape", x, [1, -1]) if x.rank < 2 else x
    if counts is not None or weights is not None:
        middle, weighted, norm = _weighted_samples(b, rows, correction, counts, weights)
    else:
        middle = b.apply("aten::sub", rows, b.call("aten::mean.dim", rows, [1], True))
        samples = simplify(rows.shape[1] - correction)
        weighted, norm = middle, b.full((), samples, real_dtype(x.dtype))
    turned = b.apply("aten::transpose", b.call("aten::conj_physical", weighted), 0, 1)
    out = b.apply("aten::matmul", middle, turned)
    out = b.apply("aten::div", out, b.call("aten::clamp_min", norm, 0))
    b.take_above_one(rows.shape[0])
    return b.apply("aten::reshape", out, []) if rows.shape[0].is_int(1) else out


def _weighted_samples(
    b: Builder, rows: AnyTensor, correction: Value, counts: Value, weights: Value
) -> tuple[AnyTensor, AnyTensor, Tensor]:
    """The samples less their mean, the same weighted, and the sum of weights less what the
    correction takes off."""
    for name, given in (("fweights", counts), ("aweights", weights)):
        if given is None:
            continue
        if given.rank > 1:
            b.error(f"cov(): expected {name} to have one or fewer dimensions")
        b.require_same(
            product(given.shape),
            rows.shape[1],
            f"cov(): expected {name} to have the same numel as there are observations in the input",
        )
        least = b.item(b.apply("aten::all", b.apply("aten::ge", given, 0)))
        b.check(least, f"cov(): {name} cannot be negative")
    parts = [t for t in (counts, weights) if t is not None]
    each = parts[0] if len(parts) == 1 else b.apply("aten::mul", *parts)
    each = b.apply("aten::reshape", each, [-1])
    total = b.apply("aten::sum", each)
    weighted = b.apply("aten::sum.dim_IntList", b.apply("aten::mul", rows, each), [1], True)
    middle = b.apply("aten::sub", rows, b.apply("aten::div", weighted, total))
    off: Value = correction
    if weights is not None and correction:
        squares = b.apply("aten::sum", b.apply("aten::mul", each, weights))
        off = b.apply("aten::mul", b.apply("aten::div", squares, total), correction)
    return middle, b.apply("aten::mul", middle, each), b.apply("aten::sub", total, off)


def _correlation(b: Builder, x: AnyTensor, *_: Value) -> AnyTensor:
    """The covariance over the products of deviations, within [-1, 1]."""
    found = _covariance(b, x)
    if not found.rank:
        return b.apply("aten::div", found, found)
    spread = b.apply("aten::sqrt", b.call("aten::real", b.call("aten::diagonal", found, 0, 0, 1)))
    out = b.apply("aten::div", found, b.call("aten::unsqueeze", spread, 1))
    out = b.apply("aten::div", out, b.call("aten::unsqueeze", spread, 0))
    if isinstance(out, ComplexTensor):
        return ComplexTensor(*(b.apply("aten::clamp", part, -1, 1) for part in out.elements))
    return b.apply("aten::clamp", out, -1, 1)


COVARIANCE: Rows = {
    "aten::cov": _covariance,
    "aten::corrcoef": _correlation,
}
