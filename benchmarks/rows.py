"""Results, and the table made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Row:
    """Result of one workload.

    Attributes:
        seconds: per call, by candidate.
        failed: why a candidate has no time.
        errors: of each candidate's result against one of higher precision, as a share of the
            largest magnitude.
        deviations: the same of the root mean square.
        ratios: the time of each peer over ours (`rounds.Rounds.ratios`).
        doubt: half of what the least of these may lie between, of that, if it was measured.
        sittings: the least of these in each sitting.
        flops: operations of a call, 0 where it is not their number that bounds it.
        bytes: of the arrays that a call reads and writes.
    """

    workload: str
    threads: int
    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    deviations: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    doubt: float | None = None
    sittings: list[float] = field(default_factory=list)
    flops: float = 0.0
    bytes: float = 0.0

    @property
    def best_peer(self) -> str | None:
        return min(self.ratios, key=self.ratios.__getitem__, default=None)

    @property
    def ratio(self) -> float | None:
        """Time of the best peer over ours: above 1 we are faster."""
        return min(self.ratios.values(), default=None)

    def verdict(self, mark: str = "") -> str:
        """The ratio, how far it is known, and whom it is to."""
        if self.ratio is None:
            return "-"
        doubt = "" if self.doubt is None else f" ± {100 * self.doubt:.0f} %"
        return f"{mark}{self.ratio:.2f}{mark}{doubt} ({self.best_peer})"

    def share_of(self, limits: dict[str, float]) -> float | None:
        """Of the machine's limit that our time reaches: operations or bytes, whichever bounds."""
        own = self.seconds.get("tensorscript")
        if own is None or not self.bytes:
            return None
        return max(self.flops / limits["flops"], self.bytes / limits["bandwidth"]) / own

    @property
    def accuracy(self) -> str:
        """Our error beside PyTorch's; more than twice as much is marked."""
        return _beside(self.errors)

    @property
    def mean_accuracy(self) -> str:
        """The same of the root mean square."""
        return _beside(self.deviations)


def _beside(errors: Mapping[str, float]) -> str:
    own, theirs = errors.get("tensorscript"), errors.get("torch")
    if own is None or theirs is None:
        return "-" if own is None else f"{own:.1e}"
    text = f"{own:.1e} / {theirs:.1e}"
    return f"**{text}**" if own > 2 * theirs else text


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def table(rows: Sequence[Row], limits: dict[int, dict[str, float]]) -> str:
    """The rows as a Markdown table, times in microseconds.

    Args:
        limits: of the machine, by number of threads (see `limits.py`).
    """
    names = list(dict.fromkeys(n for r in rows for n in (*r.seconds, *r.failed)))
    names.sort(key=lambda n: n != "tensorscript")
    head = ["workload", "threads", *names, "error / torch's", "rms error / torch's"]
    head += ["of the limit", "best peer / ours"]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        cells = [row.workload, str(row.threads)]
        for name in names:
            value = row.seconds.get(name)
            cells.append("-" if value is None else f"{1e6 * value:.2f}")
        share = row.share_of(limits[row.threads]) if row.threads in limits else None
        cells += [row.accuracy, row.mean_accuracy]
        cells.append("-" if share is None else f"{share:.2f}")
        cells.append(row.verdict("**"))
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)
