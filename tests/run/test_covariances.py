"""Covariances in the corners: one observation, weights that cannot be, none left to divide by."""

from __future__ import annotations

import pytest

import tensorscript as ts

X = ts.tensor([[1.0, 2.0, 4.0], [0.0, 5.0, 1.0]], dtype=ts.float64)


def test_float32_weights_sum_in_float32() -> None:
    """A tenth is 0.1 + 1.5e-9 in float32, and three of them are not three tenths."""
    weights = ts.tensor([0.1, 0.1, 0.1])
    wide = ts.cov(X, correction=0, aweights=weights.double())
    found = ts.cov(X, correction=0, aweights=weights)
    assert found.dtype is ts.float64
    assert not ts.equal(found, wide)
    assert ts.allclose(found, wide, rtol=1e-6)


def test_one_weighed_observation_deviates_by_nothing_and_stays() -> None:
    x = ts.tensor([[0.3], [0.7]])
    assert ts.cov(x, correction=0, aweights=ts.tensor([0.1])).tolist() == [[0.0, 0.0]] * 2
    assert x.tolist() == ts.tensor([[0.3], [0.7]]).tolist()


def test_no_degree_of_freedom_warns_and_is_nan() -> None:
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert ts.isnan(ts.cov(ts.tensor([3.0])))


@pytest.mark.parametrize(
    "weights, words",
    [
        ({"fweights": [1, -1, 1]}, r"cov\(\): fweights cannot be negative"),
        ({"aweights": [0.5, -0.5, 1.0]}, r"cov\(\): aweights cannot be negative"),
        ({"fweights": [0, 0, 0]}, r"cov\(\): weights sum to zero, can't be normalized"),
        ({"fweights": [1, 0, 0], "aweights": [0.0, 1.0, 1.0]}, "weights sum to zero"),
    ],
)
def test_weights_that_cannot_be(weights: dict[str, list[float]], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        ts.cov(X, **{name: ts.tensor(w) for name, w in weights.items()})
