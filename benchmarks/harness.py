"""Timing several libraries side by side, each as if it were alone.

Every library is a process of its own (`contender.py`), because thread pools that share a process
keep each other off the CPUs: a worker that spins for its next job takes the CPU of another
library's. Only the process at turn runs; the others are stopped (SIGSTOP), their spinning workers
with them. Turns are interleaved, round after round, so that noise of the machine hits all alike;
each turn starts with untimed calls, which wake the pool and fill the caches.

A virtual machine's processors may lie behind different third caches for seconds (`distance.py`). A
round of turns with several threads waits, for a while, until they are near, so that all rounds of
all libraries, and of another run, meet the same machine.

What a candidate returns is checked against a float64 reference before it is timed. What counts is
the ratio to the fastest peer of the same run, not the absolute time.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row

HERE = Path(__file__).resolve().parent
TOLERANCE = 2e-3
"""Of the largest magnitude: what a float32 model may lose; a wrong result is far from it."""

NEAR = 8e-8
"""Seconds that a line takes between processors with one third cache, at most."""
PATIENCE = 300.0
"""Most seconds that a run waits for processors to be near; those of some machines never are."""
PAUSE = 0.1


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes:
        rounds: turns of each candidate.
        seconds: what is timed in a turn, one call at least.
        warm: untimed calls before.
    """

    rounds: int = 9
    seconds: float = 0.03
    warm: float = 0.012

    def of(self, once: float) -> Effort:
        """Fewer turns where one call is long."""
        if once > 0.2:
            return Effort(3, 0.0, 0.0)
        return Effort(5, self.seconds, self.warm) if once > 2 * self.seconds else self


QUICK = Effort(3, 0.01, 0.005)


class Contender:
    """The process of a library, stopped unless it is asked something."""

    def __init__(self, library: str, threads: int, environment: dict[str, str]) -> None:
        command = [sys.executable, str(HERE / "contender.py"), library, str(threads)]
        self.library = library
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def send(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """
        Raises:
            ChildProcessError: the process has ended.
        """
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise ChildProcessError(f"{self.library} ended with {self.process.wait()}")
        self.process.send_signal(signal.SIGSTOP)
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, **command: Any) -> dict[str, Any]:
        self.send(**command)
        return self.answer()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def environment(threads: int) -> dict[str, str]:
    """What limits each library to that number of threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {
        **os.environ,
        **{name: str(threads) for name in names},
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()} "
        f"intra_op_parallelism_threads={threads}",
        "JAX_PLATFORMS": "cpu",
    }


class Arena:
    """The processes of one number of threads."""

    def __init__(self, libraries: Iterable[str], threads: int) -> None:
        self.threads, self.environment = threads, environment(threads)
        self.contenders = [Contender(n, threads, self.environment) for n in libraries]
        self.reference = Contender("reference", threads, self.environment)
        self.patience = PATIENCE if threads > 1 else 0.0

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *ignored: object) -> None:
        for contender in (*self.contenders, self.reference):
            contender.end()

    def workloads(self, group: str) -> list[dict[str, Any]]:
        """Name, operations and bytes of arguments of each workload of a group."""
        rows: list[dict[str, Any]] = self.reference.ask(do="list", group=group)["rows"]
        return rows

    def measure(self, group: str, index: int, work: dict[str, Any], effort: Effort) -> Row:
        """Check and time every candidate of a workload."""
        row = Row(work["name"], self.threads, flops=work["flops"])
        with tempfile.TemporaryDirectory() as folder:
            once = self._prepare(group, index, folder, row)
            reference = np.load(f"{folder}/reference.npy")
            ready = {}
            for name, (contender, seconds) in once.items():
                got = np.load(f"{folder}/{name}.npy")
                if not close(got, reference, work["unit"]):
                    row.failed[name] = "wrong result"
                    continue
                row.errors[name] = error(got, reference)
                ready[name] = contender, seconds
                size = got.nbytes
            if ready and not work["plain"]:
                row.bytes = float(work["bytes"] + size)
        samples: dict[str, list[float]] = {name: [] for name in ready}
        for turn in range(effort.rounds):
            self._wait_until_near()
            for name, (contender, seconds) in ready.items():
                own = effort.of(seconds)
                if turn < own.rounds:
                    answer = contender.ask(do="time", name=name, warm=own.warm, seconds=own.seconds)
                    samples[name].append(answer["seconds"])
        row.seconds = {name: statistics.median(times) for name, times in samples.items()}
        return row

    def _wait_until_near(self) -> None:
        """Wait while the processors are apart, as long as there is patience."""
        while self.patience > 0 and self.reference.ask(do="distance")["seconds"] > NEAR:
            time.sleep(PAUSE)
            self.patience -= PAUSE

    def _prepare(
        self, group: str, index: int, folder: str, row: Row
    ) -> dict[str, tuple[Contender, float]]:
        """Everybody at once, because some compile for seconds; seconds of a first call by name."""
        everybody = [*self.contenders, self.reference]
        for contender in everybody:
            contender.send(do="prepare", group=group, index=index, folder=folder)
        found: dict[str, tuple[Contender, float]] = {}
        for contender in everybody:
            try:
                answer = contender.answer()
            except ChildProcessError as ended:
                row.failed[contender.library] = str(ended)
                contender.__init__(contender.library, self.threads, self.environment)  # type: ignore[misc]
                continue
            row.failed |= answer["failed"]
            found |= {name: (contender, answer["once"][name]) for name in answer["ready"]}
        return found


def error(got: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference, of the largest magnitude."""
    if not reference.size or reference.dtype == np.bool_:
        return 0.0
    scale = float(np.max(np.abs(reference))) or 1.0
    return float(np.max(np.abs(got.astype("f8") - reference))) / scale


def close(got: np.ndarray, reference: np.ndarray, unit: float) -> bool:
    """Whether a result is right, rounded once to a dtype of that unit (0 for float32)."""
    return got.shape == reference.shape and error(got, reference) <= TOLERANCE + unit
