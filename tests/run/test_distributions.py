"""Distributions: densities, draws, checks and divergences against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

pytestmark = pytest.mark.torch
P, Q = [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]
SPREAD = [[2.0, 0.5], [0.5, 1.0]]

# A distribution, another of its family, and values.
FAMILIES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any] | None, Any]] = {
    "Normal": (
        lambda m: m.distributions.Normal(m.tensor([0.5, 1.0]), 2.0),
        lambda m: m.distributions.Normal(m.tensor([0.0, 2.0]), 1.0), [0.3, -1.0],
    ),
    "Laplace": (
        lambda m: m.distributions.Laplace(0.5, m.tensor([1.0, 2.0])), None, [0.3, -1.0],
    ),
    "Uniform": (
        lambda m: m.distributions.Uniform(m.tensor([0.0, -1.0]), 2.0),
        lambda m: m.distributions.Uniform(m.tensor([-1.0, 0.0]), 3.0), [0.3, 1.0],
    ),
    "Exponential": (
        lambda m: m.distributions.Exponential(m.tensor([0.5, 2.0])),
        lambda m: m.distributions.Exponential(m.tensor([1.5, 1.0])), [0.3, 1.0],
    ),
    "Gamma": (
        lambda m: m.distributions.Gamma(m.tensor([0.5, 2.0]), 1.5),
        lambda m: m.distributions.Gamma(m.tensor([1.5, 1.0]), 0.5), [0.3, 1.0],
    ),
    "Beta": (
        lambda m: m.distributions.Beta(m.tensor([0.5, 2.0]), 1.5),
        lambda m: m.distributions.Beta(m.tensor([1.5, 1.0]), 0.5), [0.3, 0.9],
    ),
    "Dirichlet": (
        lambda m: m.distributions.Dirichlet(m.tensor([0.5, 2.0, 1.0])),
        lambda m: m.distributions.Dirichlet(m.tensor([1.5, 1.0, 1.0])), P,
    ),
    "Bernoulli": (
        lambda m: m.distributions.Bernoulli(m.tensor([0.25, 0.8])),
        lambda m: m.distributions.Bernoulli(logits=m.tensor([0.5, -1.0])), [1.0, 0.0],
    ),
    "Categorical": (
        lambda m: m.distributions.Categorical(m.tensor([P, Q])),
        lambda m: m.distributions.Categorical(logits=m.tensor([Q, P])), [1.0, 2.0],
    ),
    "OneHotCategorical": (
        lambda m: m.distributions.OneHotCategorical(m.tensor([P, Q])),
        lambda m: m.distributions.OneHotCategorical(logits=m.tensor([Q, P])), [0.0, 1.0, 0.0],
    ),
    "Poisson": (lambda m: m.distributions.Poisson(m.tensor([0.5, 4.0])), None, [1.0, 3.0]),
    "MultivariateNormal": (
        lambda m: m.distributions.MultivariateNormal(m.zeros(2), m.tensor(SPREAD)),
        lambda m: m.distributions.MultivariateNormal(
            m.ones(2), precision_matrix=m.tensor(SPREAD)
        ), [0.5, -1.0],
    ),
    "Independent": (
        lambda m: m.distributions.Independent(m.distributions.Normal(m.zeros(2), 1.0), 1),
        lambda m: m.distributions.Independent(m.distributions.Normal(m.ones(2), 2.0), 1),
        [0.5, -1.0],
    ),
    "MixtureSameFamily": (
        lambda m: m.distributions.MixtureSameFamily(
            m.distributions.Categorical(m.tensor(P)),
            m.distributions.Normal(m.tensor([-1.0, 0.0, 1.0]), 0.5),
        ), None, 0.3,
    ),
}  # fmt: skip
ASKED = ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape")
CALLED = ("entropy", "perplexity", "enumerate_support")


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


def answer(ask: Callable[[], Any]) -> Any:
    """What comes, as plain data; or that it is not implemented."""
    try:
        found = ask()
    except NotImplementedError:
        return "not implemented"
    return found.tolist() if hasattr(found, "tolist") else tuple(found)


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_densities_and_moments_are_torchs(torch: Any, name: str) -> None:
    make, _, values = FAMILIES[name]
    ours, theirs = make(ts), make(torch)
    for question in ASKED:
        same(
            answer(lambda q=question: getattr(ours, q)),
            answer(lambda q=question: getattr(theirs, q)),
        )
    for question in CALLED:
        same(
            answer(lambda q=question: getattr(ours, q)()),
            answer(lambda q=question: getattr(theirs, q)()),
        )
    for question in ("log_prob", "cdf"):
        same(
            answer(lambda q=question: getattr(ours, q)(ts.tensor(values))),
            answer(lambda q=question: getattr(theirs, q)(torch.tensor(values))),
        )
    assert repr(ours) == repr(theirs)


OTHER_STREAM = (
    "Beta", "Categorical", "Dirichlet", "Gamma", "MixtureSameFamily", "OneHotCategorical",
    "Poisson",
)  # fmt: skip


@pytest.mark.parametrize("name", OTHER_STREAM)
def test_draws_have_the_moments(name: str) -> None:
    made = FAMILIES[name][0](ts)
    ts.manual_seed(5)
    drawn = made.sample((4000,)).double()
    mean, spread = (made.mean, made.stddev) if name != "Categorical" else (
        ts.tensor([1.3, 0.5]), ts.tensor([0.78, 0.67])
    )  # fmt: skip
    assert (ts.abs(drawn.mean(0) - mean) < 5 * spread / 4000**0.5).all()
    assert ts.allclose(drawn.std(0), spread.double(), rtol=0.1)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in OTHER_STREAM])
def test_draws_are_torchs_for_one_seed(torch: Any, name: str) -> None:
    make = FAMILIES[name][0]
    drawn = []
    for library in (ts, torch):
        library.manual_seed(5)
        made = make(library)
        drawn.append([made.sample().tolist(), made.sample((3,)).tolist()])
        if made.has_rsample:
            drawn[-1].append(made.rsample((2,)).tolist())
        assert tuple(made.sample((3, 2)).shape) == (3, 2, *made.batch_shape, *made.event_shape)
    for ours, theirs in zip(*drawn, strict=True):
        same(ours, theirs)


@pytest.mark.parametrize("name", [name for name, row in FAMILIES.items() if row[1]])
def test_divergences_are_torchs(torch: Any, name: str) -> None:
    first, second, _ = FAMILIES[name]
    assert second is not None
    ours = ts.distributions.kl_divergence(first(ts), second(ts))
    theirs = torch.distributions.kl_divergence(first(torch), second(torch))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5)


@pytest.mark.parametrize("name", [n for n in FAMILIES if n != "MixtureSameFamily"])
def test_expanded_distributions_are_torchs(torch: Any, name: str) -> None:
    make, _, values = FAMILIES[name]
    ours, theirs = make(ts), make(torch)
    wide, theirs_wide = (d.expand((4, *d.batch_shape)) for d in (ours, theirs))
    assert tuple(wide.batch_shape) == tuple(theirs_wide.batch_shape)
    same(
        wide.log_prob(ts.tensor(values)).tolist(),
        theirs_wide.log_prob(torch.tensor(values)).tolist(),
    )
    assert tuple(wide.sample().shape) == tuple(theirs_wide.sample().shape)


REFUSED: list[Callable[[Any], Any]] = [
    lambda m: m.distributions.Normal(0.0, -1.0),
    lambda m: m.distributions.Normal(m.tensor([float("nan")]), 1.0),
    lambda m: m.distributions.Uniform(1.0, 0.0),
    lambda m: m.distributions.Bernoulli(1.5),
    lambda m: m.distributions.Bernoulli(),
    lambda m: m.distributions.Categorical(m.tensor(0.5)),
    lambda m: m.distributions.Categorical(m.tensor(P)).log_prob(m.tensor(3)),
    lambda m: m.distributions.Normal(0.0, 1.0).log_prob(1.0),
    lambda m: m.distributions.Exponential(m.ones(2)).log_prob(m.tensor([-1.0, 1.0])),
    lambda m: m.distributions.Normal(m.zeros(2), 1.0).log_prob(m.zeros(3)),
    lambda m: m.distributions.MultivariateNormal(m.zeros(2)),
    lambda m: m.distributions.Independent(m.distributions.Normal(m.zeros(2), 1.0), 2),
]


@pytest.mark.parametrize("program", REFUSED, ids=range(len(REFUSED)))
def test_refusals_are_torchs(torch: Any, program: Callable[[Any], Any]) -> None:
    with pytest.raises((ValueError, NotImplementedError)) as theirs:
        program(torch)
    with pytest.raises(type(theirs.value)) as ours:
        program(ts)
    assert str(ours.value) == str(theirs.value)


def test_values_outside_are_let_through_where_asked() -> None:
    ts.distributions.Normal(0.0, -1.0, validate_args=False)


def test_densities_in_a_trace() -> None:
    def density(loc: ts.Tensor, x: ts.Tensor) -> ts.Tensor:
        return ts.distributions.Normal(loc, ts.ones(2), validate_args=False).log_prob(x)

    traced = ts.jit.trace(density, (ts.zeros(2), ts.ones(2)))
    given = ts.tensor([0.5, -1.0]), ts.tensor([2.0, 3.0])
    assert traced(*given).tolist() == density(*given).tolist()
