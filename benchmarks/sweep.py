"""Single operators over many shapes beside PyTorch's eager mode: which of ours take longer?

    python benchmarks/sweep.py [--threads 1] [--under 0.9] [--every N] [MATCH ...]
    python benchmarks/sweep.py --compiled | --named all | --named first

A process of ours and one of PyTorch's build each program (`sweep_programs.py`), whose results have
to agree, and take turns. Prints PyTorch's time over ours, the median of turns, and at last those
under the bound and those that one of the two refuses. The table of `run.py` is of fewer rows, more
peers and longer turns; this looks for what it does not have. `--compiled` asks for `torch.compile`
instead, which takes seconds for each program: `--every` takes one of so many. `--named` compares
our own programs: those whose sizes are named (`all` of them, or the `first` of each argument; equal
ones have one name), so that one program serves any, beside those for these sizes alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from aligned import aligned
from sweep_programs import Program, programs
from workload import BFloat16

OURS = "tensorscript"
TURNS, SECONDS = 5, 0.005


def array(spec: str, random: np.random.Generator) -> np.ndarray:
    """What `kind:sizes` describes, at a cache line, as tensors begin."""
    kind, sizes = spec.split(":")
    shape = tuple(map(int, sizes.split("x")))
    if kind.startswith("below"):
        made: np.ndarray = random.integers(1, int(kind.removeprefix("below")), shape)
    else:
        made = {
            "normal": lambda: random.standard_normal(shape, "f4"),
            "unit": lambda: random.uniform(0.05, 0.95, shape).astype("f4"),
            "wide": lambda: random.uniform(0.05, 0.95, shape),
            "bool": lambda: random.random(shape) > 0.5,
            "rising": lambda: np.sort(random.standard_normal(shape, "f4")),
        }[kind]()
    return aligned(made)


def named(ts: Any, array: np.ndarray, which: str) -> Any:
    """What an array is like, with names for all its sizes but 1, or for the first."""
    sizes = [
        f"S{size}" if size > 1 and (which == "all" or place == 0) else size
        for place, size in enumerate(array.shape)
    ]
    return ts.TensorSpec(sizes, array.dtype.name)


class _Contender:
    """What runs in a process of its own, one program at a time.

    `way` says how: `torch`, `torch compiled`, `tensorscript`, or `tensorscript` with the sizes that
    `named` takes.
    """

    def __init__(self, way: str, threads: int, folder: Path) -> None:
        self.name, *self.how = way.split()
        self.way, self.folder = way, folder
        self.library: Any = importlib.import_module(self.name)
        self.library.set_num_threads(threads)
        self.call: Callable[[], Any] = lambda: None
        self.times = 1

    def build(self, number: int, program: Program) -> None:
        """Make the program from a file, which scripts need, and keep its result for comparison."""
        random = np.random.default_rng(number)
        names, kinds = zip(*(a.split("=") for a in program.arguments), strict=True)
        arrays = [array(kind, random) for kind in kinds]
        file = self.folder / f"{self.way.replace(' ', '_')}_{number}.py"
        file.write_text(
            f"import {self.name} as T\n\n\ndef f({', '.join(names)}):\n    return {program.body}\n"
        )
        found = importlib.util.spec_from_file_location(file.stem, file)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        if self.name == "torch":
            given = [self.library.from_numpy(a) for a in arrays]
            run = module.f
            if self.how:
                self.library.compiler.reset()
                run = self.library.compile(run, dynamic=False)
            self.call = lambda: run(*given)
        else:
            specs = [named(self.library, a, self.how[0]) for a in arrays] if self.how else arrays
            compiled = self.library.compile(module.f, specs, fallback="error")
            self.call = lambda: compiled(*arrays)
        result = self.call()
        wide = result.double() if self.name == "torch" else result
        if getattr(wide, "dtype", None) == np.uint16:  # no program has such but by their bits
            wide = BFloat16(wide).wide
        np.save(self.folder / f"{self.way}.npy", np.asarray(wide, np.float64))
        start = time.perf_counter()
        self.call()
        self.times = max(1, int(SECONDS / (time.perf_counter() - start)))

    def turn(self) -> float:
        """Seconds of a call."""
        self.call()
        start = time.perf_counter()
        for _ in range(self.times):
            self.call()
        return (time.perf_counter() - start) / self.times


def child(way: str, threads: int, folder: Path) -> None:
    """Answer the lines of the parent: a number builds that program, an empty one is a turn."""
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    every = list(programs())
    contender = _Contender(way, threads, folder)
    for line in sys.stdin:
        try:
            if line.strip():
                contender.build(int(line), every[int(line)])
                print("ready", flush=True)
            else:
                print(contender.turn(), flush=True)
        except Exception as error:  # noqa: BLE001  # whatever a library refuses with
            text = str(error).strip().splitlines() or [""]
            print(f"{way}: {type(error).__name__}: {text[0][:200]}", flush=True)


class _Process:
    """A contender's process, as the parent sees it."""

    def __init__(self, way: str, threads: int, folder: Path) -> None:
        self.way = way
        environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
        words = [sys.executable, __file__, "--child", way, "--threads", str(threads)]
        self._process = subprocess.Popen(
            [*words, "--folder", str(folder)], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


def _agree(folder: Path, processes: list[_Process]) -> bool:
    ours, theirs = (np.load(folder / f"{p.way}.npy") for p in processes)
    if ours.shape != theirs.shape:
        return False
    scale = np.nanmax(np.abs(theirs[np.isfinite(theirs)]), initial=1e-30)
    return bool(np.allclose(ours, theirs, 1e-3, 1e-4 * scale, equal_nan=True))


def measured(number: int, processes: list[_Process], folder: Path) -> tuple[float, ...] | str:
    """Ratio and the least seconds of both; or why there are none."""
    answers = [p.ask(str(number)) for p in processes]
    if any(answer != "ready" for answer in answers):
        return "; ".join(answer for answer in answers if answer != "ready")
    if not _agree(folder, processes):
        return "results differ"
    turns = [[float(p.ask("")) for p in processes] for _ in range(TURNS)]
    ratio = statistics.median(theirs / ours for ours, theirs in turns)
    return ratio, *map(min, zip(*turns, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("match", nargs="*", help="texts, one of which is in the program's name")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--under", type=float, default=0.9)
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument("--compiled", action="store_true", help="beside torch.compile")
    beside.add_argument("--named", choices=("all", "first"), help="any sizes beside known ones")
    parser.add_argument("--every", type=int, default=1, help="one of so many programs")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.threads, options.folder)
        return
    ways = [OURS, "torch compiled" if options.compiled else "torch"]
    if options.named:
        ways = [f"{OURS} {options.named}", OURS]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        processes = [_Process(way, options.threads, folder) for way in ways]
        slow: list[str] = []
        for number, program in enumerate(programs()):
            if options.match and not any(text in program.name for text in options.match):
                continue
            if number % options.every:
                continue
            found = measured(number, processes, folder)
            if isinstance(found, str):
                line = f"   -  {program.name}: {found}"
            else:
                ratio, ours, theirs = found
                line = f"{ratio:6.2f}  {program.name}: {ours * 1e6:.1f} us, {theirs * 1e6:.1f}"
            print(line, flush=True)
            if isinstance(found, str) or found[0] < options.under:
                slow.append(line)
        print(f"\nunder {options.under}, or refused:", *sorted(slow), sep="\n")


if __name__ == "__main__":
    main()
