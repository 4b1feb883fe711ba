"""The Kullback-Leibler divergence of one distribution from another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import namespace as ts
from ..nn import functional as F
from .composed import Independent
from .continuous import Exponential, MultivariateNormal, Normal, Uniform
from .discrete import Bernoulli, Categorical, OneHotCategorical
from .distribution import Distribution
from .positive import Beta, Dirichlet, Gamma

Divergence = Callable[[Any, Any], Any]


def _normal(p: Normal, q: Normal) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    away = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + away - 1 - ratio.log())


def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    first = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    second = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    return first + second


def _categorical(p: Categorical, q: Categorical) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = float("inf")
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


def _exponential(p: Exponential, q: Exponential) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


def _uniform(p: Uniform, q: Uniform) -> Any:
    found = ts.log((q.high - q.low) / (p.high - p.low))
    found[(q.low > p.low) | (q.high < p.high)] = float("inf")
    return found


def _gamma(p: Gamma, q: Gamma) -> Any:
    return (
        q.concentration * (p.rate / q.rate).log()
        + ts.lgamma(q.concentration) - ts.lgamma(p.concentration)
        + (p.concentration - q.concentration) * ts.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )  # fmt: skip


def _dirichlet(p: Dirichlet, q: Dirichlet) -> Any:
    total = p.concentration.sum(-1)
    change = p.concentration - q.concentration
    slope = p.concentration.digamma() - total.digamma().unsqueeze(-1)
    return (
        total.lgamma() - q.concentration.sum(-1).lgamma()
        - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
        + (change * slope).sum(-1)
    )  # fmt: skip


def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    logs = q.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    logs = logs - p.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    spread = ts.linalg_solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    away = ts.linalg_solve_triangular(
        q.scale_tril, (q.loc - p.loc).unsqueeze(-1), upper=False
    ).squeeze(-1)
    total = spread.pow(2).sum((-2, -1)) + away.pow(2).sum(-1)
    return logs + 0.5 * (total - p.event_shape[0])


def _independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    found = kl_divergence(p.base_dist, q.base_dist)
    dims = tuple(range(-p.reinterpreted_batch_ndims, 0))
    return found.sum(dims) if dims else found


_BETWEEN: dict[type[Distribution], Divergence] = {
    Normal: _normal, Bernoulli: _bernoulli, Categorical: _categorical,
    OneHotCategorical: _categorical, Exponential: _exponential, Uniform: _uniform, Gamma: _gamma,
    Dirichlet: _dirichlet, MultivariateNormal: _multivariate, Independent: _independent,
    Beta: lambda p, q: _dirichlet(p._of_both, q._of_both),
}  # fmt: skip
"""Distributions to the divergence of two of them."""


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """KL(p || q) for each place of the batch.

    Raises:
        NotImplementedError: of two families, or of one whose divergence is not known.
    """
    found = _BETWEEN.get(type(p)) if type(p) is type(q) else None
    if found is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}"
        )
    return found(p, q)
