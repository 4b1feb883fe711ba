"""Benchmarks against what is installed: NumPy, PyTorch eager, torch.jit, torch.compile, JAX, Numba.

    python benchmarks/run.py [--quick] [--threads 1 2] [--only chain softmax ...]

Each number of threads runs in a process of its own, because peers read it at start-up. Results go
to `benchmarks/results/latest.md`.
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

from harness import Row, table

HERE = Path(__file__).resolve().parent
WORKLOADS = ("chain", "softmax", "matmul", "call", "scalar", "lists")


def run_in_process(threads: int, only: list[str], quick: bool) -> list[dict[str, object]]:
    """Run the workloads in a fresh interpreter limited to `threads` threads."""
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
    command = [sys.executable, str(HERE / "workloads.py"), str(threads), *only]
    if quick:
        command.append("--quick")
    prefix = ["taskset", "-c", "0"] if threads == 1 and sys.platform == "linux" else []
    done = subprocess.run([*prefix, *command], env=environment, capture_output=True, text=True)
    sys.stderr.write(done.stderr[-4000:] if done.returncode else "")
    if done.returncode:
        raise SystemExit(f"workloads failed with {threads} thread(s)")
    found: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return found


def latencies() -> dict[str, float]:
    """Import time, and first call of the chain cold and from the disk cache, in milliseconds."""
    done = subprocess.run(
        [sys.executable, str(HERE / "latency.py")], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def machine_line() -> str:
    """What the numbers were measured on."""
    names = ("torch", "jax", "numba", "numpy")
    have = [n for n in names if importlib.util.find_spec(n)]
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, " + (
        "peers: " + ", ".join(have)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter timing, for a first look")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", nargs="*", default=list(WORKLOADS))
    options = parser.parse_args()
    rows = []
    for threads in options.threads:
        for raw in run_in_process(threads, options.only, options.quick):
            rows.append(Row(**raw))  # type: ignore[arg-type]  # written by asdict
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    times = latencies()
    text = [
        "# Benchmarks",
        "",
        f"Made by `make bench` on {machine_line()}. Microseconds per call (median), all",
        "candidates of a row interleaved in one process. The last column is what counts.",
        "",
        table(rows),
        "",
        "| latency | ms |",
        "| --- | --- |",
        *(f"| {name} | {value:.1f} |" for name, value in times.items()),
        "",
    ]
    for row in rows:
        for name, why in row.failed.items():
            text.append(f"- {row.workload}, {row.threads} thread(s), {name}: {why}")
    out = HERE / "results" / "latest.md"
    out.parent.mkdir(exist_ok=True)
    out.write_text("\n".join(text) + "\n")
    print(f"\nwritten to {out.relative_to(HERE.parent)}")
    print("\n".join(text[5:]))


if __name__ == "__main__":
    main()
