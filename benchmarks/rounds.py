"""What rounds of turns say: medians, ratios of turns beside each other, and how sure they are.

The machine's speed moves by tens of percent within seconds, for all libraries alike. The two turns
of a round that make a ratio lie a tenth of a second apart, so that most of it cancels; medians of
each library alone may lie as far apart as the rounds.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

OWN = "tensorscript"
CLOSE = 1.25
"""A peer that takes so many times as long as the best one may be the best of the next round."""
SURE = 0.03
"""What half of a ratio's confidence interval may be, of the ratio."""
_NORMAL_95 = 1.96


@dataclass
class Rounds:
    """Seconds per call by candidate, round after round; a candidate may miss rounds."""

    turns: list[dict[str, float]] = field(default_factory=list)

    def seconds(self) -> dict[str, float]:
        """The median of each candidate."""
        names = dict.fromkeys(name for turn in self.turns for name in turn)
        return {n: statistics.median(t[n] for t in self.turns if n in t) for n in names}

    def of(self, peer: str) -> list[float]:
        """The peer's time over ours, of each round that has both."""
        return [t[peer] / t[OWN] for t in self.turns if peer in t and OWN in t]

    def ratios(self) -> dict[str, float]:
        """The median of each peer's time over ours: above 1 we are faster."""
        found = {n: self.of(n) for n in self.seconds() if n != OWN}
        return {n: statistics.median(each) for n, each in found.items() if each}

    def close(self) -> set[str]:
        """Ours, and the peers that are or may be the best."""
        ratios = self.ratios()
        least = min(ratios.values(), default=0.0)
        return {OWN} | {n for n, ratio in ratios.items() if ratio <= CLOSE * least}

    def doubt(self) -> float | None:
        """Half of the confidence interval of the least ratio, of that ratio; None if unknown."""
        ratios = self.ratios()
        return doubt(self.of(min(ratios, key=ratios.__getitem__))) if ratios else None

    @property
    def is_sure(self) -> bool:
        """The least ratio is known well, or there is none."""
        if not self.ratios():
            return True
        return (found := self.doubt()) is not None and found <= SURE


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
