"""Benchmarks against what is installed: NumPy, PyTorch, ONNX Runtime, JAX, Numba.

    python benchmarks/run.py [--quick] [--threads 1 2] [--only pointwise product ...] [--match TEXT]

Results go to `benchmarks/results/`: `latest.json`, `latest.md`, and pictures where matplotlib is
installed. With `--only`, `--match` or `--threads` the rest of an earlier run is kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import HERE, QUICK, Arena, Effort, Seat, environment
from rows import Row, geometric_mean, table

from tensorscript.backends.target import host

GROUPS = (
    "pointwise", "reduction", "normalisation", "product", "quantized", "attention", "window",
    "data", "model", "control flow", "call",
)  # fmt: skip
ONE_THREAD = {"control flow", "call"}
"""Groups whose programs no library runs on several threads."""
LIBRARIES = ("tensorscript", "numpy", "torch", "onnxruntime", "jax", "numba")
_NEEDS = {"tensorscript": (), "onnxruntime": ("torch", "onnx", "onnxruntime")}


@dataclass
class Results:
    """What `latest.json` keeps.

    Attributes:
        limits: of the machine, by number of threads.
        latency: milliseconds, by what is timed.
        groups: rows in the order of the workloads, one thread first.
    """

    limits: dict[int, dict[str, float]] = field(default_factory=dict)
    latency: dict[str, float] = field(default_factory=dict)
    groups: dict[str, list[Row]] = field(default_factory=dict)

    @staticmethod
    def load(file: Path) -> Results:
        if not file.exists():
            return Results()
        raw = json.loads(file.read_text())
        rows = {name: [Row(**row) for row in found] for name, found in raw["groups"].items()}
        limits = {int(threads): limit for threads, limit in raw["limits"].items()}
        return Results(limits, raw["latency"], rows)

    def text(self) -> str:
        raw = {name: [vars(row) for row in rows] for name, rows in self.groups.items()}
        kept = {"limits": self.limits, "latency": self.latency, "groups": raw}
        return json.dumps(kept, indent=1) + "\n"

    def replace(self, group: str, names: list[str], rows: list[Row]) -> None:
        """Put `rows` in the place of earlier ones; `names` are the workloads of the group."""
        found = {(row.workload, row.threads): row for row in self.groups.get(group, [])}
        found |= {(row.workload, row.threads): row for row in rows}
        kept = [row for row in found.values() if row.workload in names]
        kept.sort(key=lambda row: (row.threads, names.index(row.workload)))
        self.groups[group] = kept


def installed() -> list[str]:
    """The libraries that this machine has what they need of."""
    return [
        name
        for name in LIBRARIES
        if all(importlib.util.find_spec(needed) for needed in _NEEDS.get(name, (name,)))
    ]


def asked(script: str, *arguments: str, threads: int | None = None) -> Any:
    """What another script of this folder prints, as JSON."""
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env=os.environ if threads is None else environment(threads),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def processor() -> str:
    """The processor's name, as Linux tells it (what a virtual machine is shown), or its kind."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def machine_line() -> str:
    """What the numbers were measured on."""
    units = "with a matrix unit, " if host().tiles else ""
    return (
        f"{processor()}, {units}{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"peers: {', '.join(installed()[1:])}"
    )


def report(results: Results) -> list[str]:
    """The lines of `latest.md`."""
    out = [
        "# Benchmarks",
        "",
        f"Made by `make bench` on {machine_line()}. Microseconds per call (median of",
        "turns); each library in a process of its own, which alone runs at its turn and never has",
        "two in a row; arguments begin at cache lines, as tensors do (NumPy's own arrays begin",
        "anywhere); rounds wait until the processors are near each other (`distance.py`) and at",
        "their pace (`pace.py`).",
        "The last column is what counts: above 1 we are faster than the best peer. It is the",
        "median over rounds of the peer's turn over ours beside it, and the geometric mean of two",
        "sittings with fresh processes; rounds go on until half of its confidence interval at 95 %",
        "is 3 %, or time is up (`rounds.py`). Behind it stands half of what it may lie between:",
        "that interval, or what the two sittings differ by. The limit is the larger of operations",
        "over the peak of multiply-adds and bytes over the copying bandwidth, both measured in the",
        "same run (what stays in a cache may pass it). Errors are the largest difference from the",
        "result in float64 (that of float64 in extended precision) and the root mean square of",
        "all (rms), as shares of the largest magnitude; more than twice PyTorch's is in bold.",
        "Where one element is much larger than the others, the largest difference is its own, by",
        "chance great or small.",
        "",
    ]
    for threads, limit in results.limits.items():
        gflops, gbytes = limit["flops"] / 1e9, limit["bandwidth"] / 1e9
        out.append(f"Limits of {threads} thread(s): {gflops:.0f} GFLOP/s, {gbytes:.1f} GB/s.")
    out += ["", "| group | threads | geometric mean | least |", "| --- | --- | --- | --- |"]
    for name, rows in results.groups.items():
        for threads in results.limits:
            ratios = [r.ratio for r in rows if r.threads == threads and r.ratio is not None]
            if ratios:
                mean = geometric_mean(ratios)
                out.append(f"| {name} | {threads} | **{mean:.2f}** | {min(ratios):.2f} |")
    for name, rows in results.groups.items():
        out += ["", f"## {name}", "", table(rows, results.limits)]
    out += ["", "## Latency", "", "| latency | ms |", "| --- | --- |"]
    out += [f"| {name} | {value:.2f} |" for name, value in results.latency.items()]
    failures = [
        f"- {row.workload}, {row.threads} thread(s), {name}: {why}"
        for rows in results.groups.values()
        for row in rows
        for name, why in row.failed.items()
    ]
    return [*out, *(["", "## Without a time", "", *failures] if failures else [])]


def progress(group: str, row: Row) -> str:
    times = {name: f"{1e6 * seconds:.4g}" for name, seconds in row.seconds.items()}
    shown = ", ".join(f"{name} {time}" for name, time in times.items())
    return f"{group}, {row.threads}t, {row.workload}: {row.verdict()}  ({shown}) {row.accuracy}"


def measure(results: Results, groups: list[str], match: str, threads: int, effort: Effort) -> None:
    """Run the workloads of groups that have `match` in their names, and print rows as they come."""
    before = asked("limits.py", str(threads), threads=threads)
    groups = [group for group in groups if threads == 1 or group not in ONE_THREAD]
    seats: dict[str, list[Seat]] = {}
    for sitting in range(effort.sittings):
        with Arena(installed(), threads) as arena:
            for group in groups:
                every = seats.setdefault(group, arena.seats(group))
                chosen = [seat for seat in every if match in seat.row.workload]
                for seat in arena.measure(group, chosen, effort):
                    print(f"{sitting + 1}: {progress(group, seat.result())}", flush=True)
                if sitting == effort.sittings - 1:
                    names = [seat.row.workload for seat in every]
                    results.replace(group, names, [seat.row for seat in chosen])
    after = asked("limits.py", str(threads), threads=threads)
    results.limits[threads] = {name: max(before[name], after[name]) for name in before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter timing, for a first look")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", nargs="*", choices=(*GROUPS, "latency"))
    parser.add_argument("--match", default="", help="only workloads with this in their names")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    options = parser.parse_args()
    wanted = options.only or [*GROUPS, "latency"]
    options.output.mkdir(parents=True, exist_ok=True)
    results = Results.load(options.output / "latest.json")
    groups = [name for name in GROUPS if name in wanted]
    for threads in options.threads if groups else []:
        measure(results, groups, options.match, threads, QUICK if options.quick else Effort())
    if "latency" in wanted:
        results.latency = asked("latency.py")
    results.groups = {name: results.groups[name] for name in GROUPS if name in results.groups}
    (options.output / "latest.md").write_text("\n".join(report(results)) + "\n")
    (options.output / "latest.json").write_text(results.text())
    if importlib.util.find_spec("matplotlib"):
        pictures = importlib.import_module("plot")
        pictures.bars({n: r for n, r in results.groups.items() if r}, options.output / "latest.svg")
        every = [row for rows in results.groups.values() for row in rows]
        pictures.roofline(every, results.limits, options.output / "roofline.svg")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
