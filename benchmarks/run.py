"""Benchmarks against what is installed: NumPy, PyTorch, ONNX Runtime, JAX, Numba.

    python benchmarks/run.py [--quick] [--threads 1 2] [--only pointwise product ...]

Each group of workloads runs with each number of threads in a process of its own, because peers read
it at start-up and keep their threads spinning. Results go to `benchmarks/results/`: `latest.json`,
`latest.md`, and pictures where matplotlib is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness import Row, geometric_mean, table

HERE = Path(__file__).resolve().parent
GROUPS = (
    "pointwise", "reduction", "normalisation", "product", "window", "data", "model",
    "control flow", "call",
)  # fmt: skip


def in_process(threads: int, group: str, quick: bool) -> Any:
    """What `workloads.py` prints in a fresh interpreter limited to `threads` threads; None if it
    fails."""
    environment = os.environ | {
        name: str(threads)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    }
    environment |= {
        "NUMBA_NUM_THREADS": str(threads),
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()} "
        f"intra_op_parallelism_threads={threads}",
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, str(HERE / "workloads.py"), str(threads), group]
    if quick:
        command.append("--quick")
    prefix = ["taskset", "-c", "0"] if threads == 1 and sys.platform == "linux" else []
    done = subprocess.run([*prefix, *command], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr[-4000:])
        return None
    return json.loads(done.stdout.splitlines()[-1])


def latencies() -> dict[str, float]:
    """Import time, and first call of the chain cold and from the disk cache, in milliseconds."""
    done = subprocess.run(
        [sys.executable, str(HERE / "latency.py")], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def machine_line() -> str:
    """What the numbers were measured on."""
    names = ("torch", "onnxruntime", "jax", "numba", "numpy")
    have = [n for n in names if importlib.util.find_spec(n)]
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, " + (
        "peers: " + ", ".join(have)
    )


def report(
    groups: dict[str, list[Row]], limits: dict[int, dict[str, float]], times: dict[str, float]
) -> list[str]:
    """The lines of `latest.md`."""
    out = [
        "# Benchmarks",
        "",
        f"Made by `make bench` on {machine_line()}. Microseconds per call (median), all",
        "candidates of a row interleaved in one process. The last column is what counts: above 1",
        "we are faster than the best peer. The limit is the larger of operations over the peak of",
        "multiply-adds and bytes over the copying bandwidth, both measured in the same run (what",
        "stays in a cache may pass it).",
        "",
    ]
    for threads, limit in limits.items():
        gflops, gbytes = limit["flops"] / 1e9, limit["bandwidth"] / 1e9
        out.append(f"Limits of {threads} thread(s): {gflops:.0f} GFLOP/s, {gbytes:.1f} GB/s.")
    out += ["", "| group | threads | geometric mean | least |", "| --- | --- | --- | --- |"]
    for name, rows in groups.items():
        for threads in limits:
            ratios = [r.ratio for r in rows if r.threads == threads and r.ratio is not None]
            if ratios:
                mean = geometric_mean(ratios)
                out.append(f"| {name} | {threads} | **{mean:.2f}** | {min(ratios):.2f} |")
    for name, rows in groups.items():
        out += ["", f"## {name}", "", table(rows, limits)]
    out += ["", "## Latency", "", "| latency | ms |", "| --- | --- |"]
    out += [f"| {name} | {value:.1f} |" for name, value in times.items()]
    failures = [
        f"- {row.workload}, {row.threads} thread(s), {name}: {why}"
        for rows in groups.values()
        for row in rows
        for name, why in row.failed.items()
    ]
    return [*out, *(["", "## Without a time", "", *failures] if failures else [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter timing, for a first look")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", nargs="*", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--output", type=Path, default=HERE / "results")
    options = parser.parse_args()
    limits = {n: in_process(n, "limits", options.quick) for n in options.threads}
    groups: dict[str, list[Row]] = {}
    failed = []
    for name in options.only:
        groups[name] = []
        for threads in options.threads:
            found = in_process(threads, name, options.quick)
            if found is None:
                failed.append(f"{name} with {threads} thread(s)")
                continue
            groups[name] += [Row(**raw) for raw in found]
            print(table(groups[name][-len(found) :], limits), flush=True)
    times = latencies()
    options.output.mkdir(exist_ok=True)
    (options.output / "latest.md").write_text("\n".join(report(groups, limits, times)) + "\n")
    raw = {name: [vars(row) for row in rows] for name, rows in groups.items()}
    kept = {"limits": limits, "latency": times, "groups": raw}
    (options.output / "latest.json").write_text(json.dumps(kept, indent=1) + "\n")
    if importlib.util.find_spec("matplotlib"):
        pictures = importlib.import_module("plot")
        pictures.bars({n: r for n, r in groups.items() if r}, options.output / "latest.svg")
        every = [row for rows in groups.values() for row in rows]
        pictures.roofline(every, limits, options.output / "roofline.svg")
    print(f"written to {options.output}")
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
