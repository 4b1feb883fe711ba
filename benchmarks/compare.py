"""Which rows two runs of the benchmarks do not agree on.

    python benchmarks/compare.py RUN.json OTHER.json [--tolerance 0.1]

RUN.json and OTHER.json are `latest.json` of two runs. Prints each row whose ratios to the best peer
differ by more than the tolerance, how many there are of each number of threads, and each group's
geometric means in both runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rows import Row, geometric_mean
from run import Results

Key = tuple[str, int, str]


def ratios(results: Results) -> dict[Key, Row]:
    """The rows that have a peer, by group, number of threads and workload."""
    return {
        (group, row.threads, row.workload): row
        for group, rows in results.groups.items()
        for row in rows
        if row.ratio is not None
    }


def apart(row: Row, other: Row) -> float:
    """By what share the greater of two ratios is above the other."""
    assert row.ratio is not None and other.ratio is not None
    return max(row.ratio, other.ratio) / min(row.ratio, other.ratio) - 1


def report(first: Results, second: Results, tolerance: float) -> list[str]:
    """The lines that are printed."""
    found, others = ratios(first), ratios(second)
    both = [key for key in found if key in others]
    unlike = [key for key in both if apart(found[key], others[key]) > tolerance]
    out = [
        f"{group}, {threads}t, {workload}: {found[key].verdict()}, then {others[key].verdict()}"
        for key in unlike
        for group, threads, workload in [key]
    ]
    for count in sorted({threads for _, threads, _ in both}):
        every = sum(threads == count for _, threads, _ in both)
        differ = sum(threads == count for _, threads, _ in unlike)
        out.append(f"{count} thread(s): {every - differ} of {every} rows within {tolerance:.0%}")
    for group, threads in dict.fromkeys((group, threads) for group, threads, _ in both):
        of = [key for key in both if key[:2] == (group, threads)]
        means = (geometric_mean([r[k].ratio or 0.0 for k in of]) for r in (found, others))
        out.append(f"{group}, {threads}t: " + ", then ".join(f"{mean:.2f}" for mean in means))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs=2)
    parser.add_argument("--tolerance", type=float, default=0.1)
    options = parser.parse_args()
    print("\n".join(report(*map(Results.load, options.runs), options.tolerance)))


if __name__ == "__main__":
    main()
