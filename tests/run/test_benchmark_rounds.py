"""What the benchmarks make of their rounds: ratios, who goes on, how sure it is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from compare import report
from rounds import Round, Rounds, doubt
from rows import Row
from run import Results


def _rounds(turns: list[dict[str, float]]) -> Rounds:
    return Rounds([Round(turn) for turn in turns])


def _sitting(number: int, jax: float, count: int, calm: bool = True) -> list[Round]:
    return [Round({"tensorscript": 1.0, "jax": jax}, number, calm)] * count


def test_sittings_count_alike() -> None:
    """However many rounds each took; what they differ by is in doubt."""
    rounds = Rounds([*_sitting(0, 1.0, 24), *_sitting(1, 4.0, 8)])
    assert rounds.ratios() == {"jax": 2.0}
    assert rounds.doubt() == (4.0 - 1.0) / 2 / 2.0
    assert rounds.is_sure(0) and rounds.is_sure(1)


@pytest.mark.parametrize(("calm", "ratio"), [(6, 1.0), (5, 3.0)])
def test_rounds_of_a_disturbed_machine_count_where_there_are_too_few_others(
    calm: int, ratio: float
) -> None:
    rounds = Rounds([*_sitting(0, 3.0, 9, calm=False), *_sitting(0, 1.0, calm)])
    assert rounds.ratios() == {"jax": pytest.approx(ratio)}


def test_ratios_are_of_turns_beside_each_other() -> None:
    """A machine that doubles its speed half way moves medians, not ratios."""
    slow = [{"tensorscript": 2.0, "jax": 3.0}] * 4
    fast = [{"tensorscript": 1.0, "jax": 1.5}] * 5
    rounds = _rounds([*slow, *fast, {"jax": 9.0}])
    assert rounds.ratios() == {"jax": 1.5}
    assert rounds.seconds() == {"tensorscript": 1.0, "jax": 2.25}
    assert rounds.doubt() == 0.0
    assert rounds.is_sure(0)


def test_who_may_be_the_best_goes_on() -> None:
    turn = {"tensorscript": 1.0, "numpy": 1.2, "jax": 1.1, "torch": 1.5}
    assert _rounds([turn] * 3).close() == {"tensorscript", "numpy", "jax"}


def test_without_a_peer_there_is_nothing_to_know() -> None:
    rounds = _rounds([{"tensorscript": 1.0}])
    assert rounds.ratios() == {}
    assert rounds.doubt() is None
    assert rounds.is_sure(0)


def test_few_samples_say_nothing() -> None:
    assert doubt([1.0] * 7) is None
    assert doubt([1.0] * 8) == 0.0
    assert not _rounds([{"tensorscript": 1.0, "jax": 1.0}] * 7).is_sure(0)


@pytest.mark.parametrize("count", [9, 20, 45])
def test_the_interval_holds_the_median_nineteen_times_of_twenty(count: int) -> None:
    drawn = np.random.default_rng(count).lognormal(0.0, 0.1, (2000, count))
    ordered, half = np.sort(drawn, axis=1), [doubt(list(row)) or 0.0 for row in drawn]
    below = int((count - 1.96 * count**0.5) // 2)
    low, high = ordered[:, below - 1], ordered[:, count - below]
    np.testing.assert_allclose((high - low) / 2 / np.median(drawn, axis=1), half)
    assert 0.93 < np.mean((low <= 1.0) & (high >= 1.0)) <= 1.0


def test_two_runs_are_compared_row_by_row() -> None:
    def run(near: float, far: float) -> Results:
        rows = [Row("near", 1, ratios={"jax": near}), Row("far", 1, ratios={"jax": far})]
        return Results(groups={"data": [*rows, Row("alone", 1)]})

    assert report(run(1.0, 1.0), run(1.05, 1.2), 0.1) == [
        "data, 1t, far: 1.00 (jax), then 1.20 (jax)",
        "1 thread(s): 1 of 2 rows within 10%",
        "data, 1t: 1.00, then 1.12",
    ]
