"""What the benchmarks make of their rounds: ratios, who goes on, how sure it is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from rounds import Rounds, doubt


def test_ratios_are_of_turns_beside_each_other() -> None:
    """A machine that doubles its speed half way moves medians, not ratios."""
    slow = [{"tensorscript": 2.0, "jax": 3.0}] * 4
    fast = [{"tensorscript": 1.0, "jax": 1.5}] * 5
    rounds = Rounds([*slow, *fast, {"jax": 9.0}])
    assert rounds.ratios() == {"jax": 1.5}
    assert rounds.seconds() == {"tensorscript": 1.0, "jax": 2.25}
    assert rounds.doubt() == 0.0
    assert rounds.is_sure


def test_who_may_be_the_best_goes_on() -> None:
    turn = {"tensorscript": 1.0, "numpy": 1.2, "jax": 1.1, "torch": 1.5}
    assert Rounds([turn] * 3).close() == {"tensorscript", "numpy", "jax"}


def test_without_a_peer_there_is_nothing_to_know() -> None:
    rounds = Rounds([{"tensorscript": 1.0}])
    assert rounds.ratios() == {}
    assert rounds.doubt() is None
    assert rounds.is_sure


def test_few_samples_say_nothing() -> None:
    assert doubt([1.0] * 7) is None
    assert doubt([1.0] * 8) == 0.0
    assert not Rounds([{"tensorscript": 1.0, "jax": 1.0}] * 7).is_sure


@pytest.mark.parametrize("count", [9, 20, 45])
def test_the_interval_holds_the_median_nineteen_times_of_twenty(count: int) -> None:
    drawn = np.random.default_rng(count).lognormal(0.0, 0.1, (2000, count))
    ordered, half = np.sort(drawn, axis=1), [doubt(list(row)) or 0.0 for row in drawn]
    below = int((count - 1.96 * count**0.5) // 2)
    low, high = ordered[:, below - 1], ordered[:, count - below]
    np.testing.assert_allclose((high - low) / 2 / np.median(drawn, axis=1), half)
    assert 0.93 < np.mean((low <= 1.0) & (high >= 1.0)) <= 1.0
