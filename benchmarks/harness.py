"""Timing several implementations of one workload side by side.

All candidates of a workload are timed interleaved, round after round, in one process: noise of the
machine hits them alike. Each is checked against a NumPy reference before it is timed. What counts
is the ratio to the fastest peer of the same run, not the absolute time.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Call = Callable[[], Any]


@dataclass
class Candidate:
    """One implementation: `call` runs it once and returns something array-like."""

    name: str
    call: Call


@dataclass
class Row:
    """Result of one workload.

    Attributes:
        seconds: per call, by candidate.
        failed: why a candidate has no time.
        flops: operations of a call, 0 where it is not their number that bounds it.
        bytes: of the arrays that a call reads and writes.
    """

    workload: str
    threads: int
    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    flops: float = 0.0
    bytes: float = 0.0

    @property
    def best_peer(self) -> tuple[str, float] | None:
        peers = {n: s for n, s in self.seconds.items() if n != "tensorscript"}
        return min(peers.items(), key=lambda item: item[1]) if peers else None

    @property
    def ratio(self) -> float | None:
        """Time of the best peer over ours: above 1 we are faster."""
        own, peer = self.seconds.get("tensorscript"), self.best_peer
        return None if own is None or peer is None else peer[1] / own

    def share_of(self, limits: dict[str, float]) -> float | None:
        """Of the machine's limit that our time reaches: operations or bytes, whichever bounds."""
        own = self.seconds.get("tensorscript")
        if own is None or not self.bytes:
            return None
        return max(self.flops / limits["flops"], self.bytes / limits["bandwidth"]) / own


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def as_array(value: Any) -> np.ndarray:
    """The NumPy array of a result of any of the libraries."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return np.asarray(value)


def _block(value: Any) -> Any:
    """Wait for an asynchronous result (JAX)."""
    wait = getattr(value, "block_until_ready", None)
    return wait() if wait is not None else value


def _calls_per_round(call: Call, budget: float) -> int:
    start = time.perf_counter()
    _block(call())
    once = max(time.perf_counter() - start, 1e-8)
    return max(1, int(budget / once))


def measure(
    workload: str,
    threads: int,
    candidates: Sequence[Candidate],
    expected: np.ndarray,
    tolerance: float = 1e-4,
    seconds: float = 1.5,
    rounds: int = 15,
) -> Row:
    """Check and time candidates.

    Args:
        expected: what every candidate must return, within `tolerance` relative to its largest
            magnitude.
        seconds: time per candidate in all.
    """
    row = Row(workload, threads)
    ready: list[tuple[Candidate, int]] = []
    for candidate in candidates:
        try:
            got = as_array(_block(candidate.call()))
        except Exception as error:  # noqa: BLE001  # a peer that fails is a note in the table
            row.failed[candidate.name] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        scale = float(np.max(np.abs(expected))) if expected.size else 1.0
        if got.shape != expected.shape or not np.allclose(got, expected, 0, tolerance * scale):
            row.failed[candidate.name] = "wrong result"
            continue
        for _ in range(3):
            _block(candidate.call())
        ready.append((candidate, _calls_per_round(candidate.call, seconds / rounds)))
    samples: dict[str, list[float]] = {c.name: [] for c, _ in ready}
    for _ in range(rounds):
        for candidate, count in ready:
            call = candidate.call
            start = time.perf_counter()
            for _ in range(count):
                result = call()
            _block(result)
            samples[candidate.name].append((time.perf_counter() - start) / count)
    row.seconds = {name: statistics.median(times) for name, times in samples.items()}
    return row


def table(rows: Sequence[Row], limits: dict[int, dict[str, float]]) -> str:
    """The rows as a Markdown table, times in microseconds.

    Args:
        limits: of the machine, by number of threads (see `limits.py`).
    """
    names = list(dict.fromkeys(n for r in rows for n in (*r.seconds, *r.failed)))
    names.sort(key=lambda n: n != "tensorscript")
    head = ["workload", "threads", *names, "of the limit", "best peer / ours"]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        cells = [row.workload, str(row.threads)]
        for name in names:
            value = row.seconds.get(name)
            cells.append("-" if value is None else f"{1e6 * value:.2f}")
        share = row.share_of(limits[row.threads]) if row.threads in limits else None
        cells.append("-" if share is None else f"{share:.2f}")
        ratio = row.ratio
        best = row.best_peer
        cells.append("-" if ratio is None or best is None else f"**{ratio:.2f}** ({best[0]})")
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)
