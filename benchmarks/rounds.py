"""What rounds of turns say: medians, ratios of turns beside each other, and how sure they are.

The machine's speed moves by tens of percent within seconds, for all libraries alike. The two turns
of a round that make a ratio lie a tenth of a second apart, so that most of it cancels; medians of
each library alone may lie as far apart as the rounds. What differs between processes of the same
library (where their pages lie) differs between sittings, which count alike, however many rounds
each of them took.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from itertools import groupby

OWN = "tensorscript"
CLOSE = 1.25
"""A peer that takes so many times as long as the best one may be the best of the next round."""
SURE = 0.03
"""What half of a ratio's confidence interval may be, of the ratio."""
ENOUGH = 6
"""Calm rounds of a sitting with which the others do not count."""
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Round:
    """One turn of each candidate that still plays.

    Attributes:
        seconds: per call, by candidate.
        sitting: which fresh processes these were.
        calm: the machine was at its pace, its processors near each other and nobody else's.
    """

    seconds: dict[str, float]
    sitting: int = 0
    calm: bool = True

    def ratio(self, peer: str) -> float | None:
        """The peer's time over ours, if it has both."""
        if peer not in self.seconds or OWN not in self.seconds:
            return None
        return self.seconds[peer] / self.seconds[OWN]


@dataclass
class Rounds:
    """What was measured of a workload, sitting after sitting; a candidate may miss rounds."""

    played: list[Round] = field(default_factory=list)

    def counted(self) -> list[Round]:
        """The calm rounds of each sitting, or all of one that has too few of them."""
        sittings = [list(each) for _, each in groupby(self.played, lambda each: each.sitting)]
        return [each for sitting in sittings for each in _calm(sitting)]

    def seconds(self) -> dict[str, float]:
        """The median of each candidate."""
        rounds = [each.seconds for each in self.counted()]
        names = dict.fromkeys(name for seconds in rounds for name in seconds)
        return {n: statistics.median(each[n] for each in rounds if n in each) for n in names}

    def of(self, peer: str) -> list[list[float]]:
        """The peer's time over ours in the rounds that have both, of each sitting with any."""
        sittings: dict[int, list[float]] = {}
        for each in self.counted():
            if (ratio := each.ratio(peer)) is not None:
                sittings.setdefault(each.sitting, []).append(ratio)
        return list(sittings.values())

    def ratios(self) -> dict[str, float]:
        """Each peer's time over ours: the median of a sitting, the geometric mean of sittings."""
        found = {name: self.of(name) for name in self.seconds() if name != OWN}
        return {
            name: statistics.geometric_mean(map(statistics.median, sittings))
            for name, sittings in found.items()
            if sittings
        }

    def close(self) -> set[str]:
        """Ours, and the peers that are or may be the best."""
        ratios = self.ratios()
        least = min(ratios.values(), default=0.0)
        return {OWN} | {n for n, ratio in ratios.items() if ratio <= CLOSE * least}

    def best(self) -> list[list[float]]:
        """The ratios to the peer whose ratio is least, of each sitting; empty if there is none."""
        ratios = self.ratios()
        return self.of(min(ratios, key=ratios.__getitem__)) if ratios else []

    def doubt(self) -> float | None:
        """Half of what the least ratio may lie between, of that ratio; None if unknown.

        That is the confidence interval of a sitting, or what the sittings differ by, whichever is
        greater.
        """
        sittings = self.best()
        intervals = [doubt(each) for each in sittings]
        if not intervals or None in intervals:
            return None
        medians = [statistics.median(each) for each in sittings]
        apart = (max(medians) - min(medians)) / 2 / statistics.geometric_mean(medians)
        return max(apart, *(each for each in intervals if each is not None))

    def is_sure(self, sitting: int) -> bool:
        """That sitting knows the least ratio well, or there is none."""
        if not self.ratios():
            return True
        own = Rounds([each for each in self.played if each.sitting == sitting])
        return (found := own.doubt()) is not None and found <= SURE


def _calm(sitting: list[Round]) -> list[Round]:
    calm = [each for each in sitting if each.calm]
    return calm if len(calm) >= ENOUGH else sitting


def doubt(samples: list[float]) -> float | None:
    """Half of the interval that holds the median of what was sampled at 95 %, of the median.

    The interval lies between two of the sorted samples (their number is binomial), so nothing is
    supposed of how they are distributed. None where there are too few for 95 %.
    """
    count = len(samples)
    below = math.floor((count - _NORMAL_95 * math.sqrt(count)) / 2)
    if below < 1:
        return None
    ordered = sorted(samples)
    return (ordered[count - below] - ordered[below - 1]) / 2 / statistics.median(ordered)
