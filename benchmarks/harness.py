"""Timing several libraries side by side, each as if it were alone.

Every library is a process of its own (`contender.py`), because thread pools that share a process
keep each other off the CPUs: a worker that spins for its next job takes the CPU of another
library's. Only the process at turn runs; the others are stopped (SIGSTOP), their spinning workers
with them. Turns are interleaved, round after round, so that noise of the machine hits all alike;
each turn starts with untimed calls, which wake the pool and fill the caches. After a few rounds
only those go on that may be the fastest peer, and ours, until their ratio is known well
(`rounds.py`).

A virtual machine's processors may lie behind different third caches for seconds (`distance.py`),
and share their units with somebody else's (`pace.py`). A round waits, for a while, until they are
near and run at their pace, so that all rounds of all libraries, and of another run, meet the same
machine.

What a candidate returns is checked against a float64 reference before it is timed. What counts is
the ratio to the fastest peer of the same run, not the absolute time.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rounds import OWN, Rounds
from rows import Row

HERE = Path(__file__).resolve().parent
TOLERANCE = 2e-3
"""Of the largest magnitude: what a float32 model may lose; a wrong result is far from it."""

NEAR = 8e-8
"""Seconds that a line takes between processors with one third cache, at most."""
SLOW = 1.1
"""A processor whose loop of multiply-adds takes so many times its least time of the run shares its
units with another's."""
PATIENCE = 150.0
"""Most seconds that a run waits for processors; those of some machines are never near."""
WAIT = 3.0
"""Most seconds that a round waits."""
PAUSE = 0.1


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes:
        first: rounds of all candidates, after which those go on that may be the best.
        rounds: of these, at least.
        most: of these, at most.
        budget: seconds after which a workload that had its first rounds has no more.
        seconds: what is timed in a turn, one call at least.
        warm: untimed calls before.
    """

    first: int = 3
    rounds: int = 9
    most: int = 45
    budget: float = 5.0
    seconds: float = 0.03
    warm: float = 0.012


LONG = 0.2
"""A call of so many seconds fills the caches alone."""
QUICK = Effort(rounds=3, most=3, seconds=0.01, warm=0.005)


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
        self.patience, self.pace = PATIENCE, math.inf

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
        rounds = self._play(ready, effort)
        row.seconds, row.ratios = rounds.seconds(), rounds.ratios()
        row.doubt = rounds.doubt()
        return row

    def _play(self, ready: dict[str, tuple[Contender, float]], effort: Effort) -> Rounds:
        """Rounds until the ratio that counts is known well, or there were enough of them."""
        rounds, playing = Rounds(), set(ready)
        end = time.perf_counter() + effort.budget
        for number in range(effort.most):
            if number == effort.first and OWN in ready:
                playing = rounds.close()
            if number >= effort.rounds and rounds.is_sure:
                break
            if number >= effort.first and time.perf_counter() > end:
                break
            self._wait_until_calm()
            rounds.turns.append(
                {n: self._turn(n, *ready[n], effort) for n in ready if n in playing}
            )
        return rounds

    def _turn(self, name: str, contender: Contender, once: float, effort: Effort) -> float:
        """Seconds per call of a candidate, whose call took `once` before."""
        warm = 0.0 if once > LONG else effort.warm
        answer = contender.ask(do="time", name=name, warm=warm, seconds=effort.seconds)
        return float(answer["seconds"])

    def _wait_until_calm(self) -> None:
        """Wait while the processors are apart or shared, as long as there is patience."""
        end = time.perf_counter() + min(WAIT, self.patience)
        while True:
            start = time.perf_counter()
            pace = self.reference.ask(do="pace")["seconds"]
            self.pace = min(self.pace, pace)
            apart = self.threads > 1 and self.reference.ask(do="distance")["seconds"] > NEAR
            if (pace <= SLOW * self.pace and not apart) or start > end:
                return
            time.sleep(PAUSE)
            self.patience -= time.perf_counter() - start

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
