"""Timing several libraries side by side, each as if it were alone.

Every library is a process of its own (`contender.py`), because thread pools that share a process
keep each other off the CPUs: a worker that spins for its next job takes the CPU of another
library's. Only the process at turn runs; the others are stopped (SIGSTOP), their spinning workers
with them. Turns are interleaved, round after round, so that noise of the machine hits all alike;
each turn starts with untimed calls, which wake the pool and fill the caches. Candidates of one
process (PyTorch's three) do not follow each other, for the arrays that they share are larger than
what untimed calls bring back into a third cache. After a few rounds
only those go on that may be the fastest peer, and ours, until their ratio is known well
(`rounds.py`). The workloads of a group are visited for a few rounds each, again and again, so that
the rounds of one lie minutes apart. Where its arrays lie makes one process faster than the next one
of the same library, so everything is measured in several sittings, each of fresh processes, and
what counts is made of the rounds of all.

A virtual machine's processors may lie behind different third caches for seconds (`distance.py`),
and share their units with somebody else's (`pace.py`). A round waits, for a while, until they are
near and run at their pace, so that all rounds of all libraries, and of another run, meet the same
machine; rounds for which that was in vain, or in which the host took processors away, count only
where there are too few others.

What a candidate returns is checked against a reference of higher precision before it is timed. What
counts is the ratio to the fastest peer of the same run, not the absolute time.
"""

from __future__ import annotations

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rounds import OWN, Round, Rounds
from rows import Row

HERE = Path(__file__).resolve().parent
TOLERANCE = 2e-3
"""Of the largest magnitude: what a float32 model may lose; a wrong result is far from it."""

NEAR = 8e-8
"""Seconds that a line takes between processors with one third cache, at most."""
SLOW = 1.1
"""A processor whose loop of multiply-adds takes so many times its least time of the run shares its
units with another's."""
PATIENCE = 75.0
"""Most seconds that a sitting waits for processors; those of some machines are never near."""
WAIT = 3.0
"""Most seconds that a round waits."""
PAUSE = 0.1
STOLEN = 0.02
"""Of a round's time, what the host may take from all processors together."""


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Attributes:
        sittings: how often fresh processes measure everything.
        visit: rounds in a row; after the first ones those go on that may be the best.
        rounds: of a workload in a sitting, at least.
        most: of a workload in a sitting, at most.
        budget: seconds after which a workload has no further visit in a sitting.
        seconds: what is timed in a turn, one call at least.
        warm: untimed calls before.
    """

    sittings: int = 2
    visit: int = 3
    rounds: int = 6
    most: int = 24
    budget: float = 2.5
    seconds: float = 0.03
    warm: float = 0.012


LONG = 0.2
"""A call of so many seconds fills the caches alone."""
QUICK = Effort(sittings=1, rounds=3, most=3, seconds=0.01, warm=0.005)


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


Ready = dict[str, tuple[Contender, float]]
"""Candidates by name: the process that has them, and the seconds of a first call."""


@dataclass
class Seat:
    """A workload that is being measured, visited in turns with the others of its group.

    Attributes:
        index: its number in the group.
        work: what `Arena.workloads` says of it.
        rounds: of all sittings.
        sitting: the number of this one.
        played: rounds of this sitting.
        spent: seconds of this sitting's rounds.
        last: the process of the last turn.
    """

    index: int
    work: dict[str, Any]
    row: Row
    ready: Ready = field(default_factory=dict)
    rounds: Rounds = field(default_factory=Rounds)
    sitting: int = -1
    played: int = 0
    spent: float = 0.0
    last: Contender | None = None

    def sit(self) -> None:
        """Begin a sitting, with nobody ready."""
        self.ready, self.played, self.spent = {}, 0, 0.0
        self.sitting += 1

    def is_done(self, effort: Effort) -> bool:
        """The ratio that counts is known well, or there was time enough for that."""
        out_of_time = self.played and self.spent > effort.budget
        if not self.ready or self.played >= effort.most or out_of_time:
            return True
        return self.played >= effort.rounds and self.rounds.is_sure(self.sitting)

    def lose(self, contender: Contender, why: str) -> None:
        """A process has ended, and with it its candidates."""
        self.row.failed[contender.library] = why
        self.ready = {n: found for n, found in self.ready.items() if found[0] is not contender}

    def result(self) -> Row:
        self.row.seconds, self.row.ratios = self.rounds.seconds(), self.rounds.ratios()
        self.row.doubt = self.rounds.doubt()
        self.row.sittings = [statistics.median(each) for each in self.rounds.best()]
        return self.row


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

    def seats(self, group: str) -> list[Seat]:
        """The workloads of a group, none measured: name, operations and bytes of arguments."""
        works = self.reference.ask(do="list", group=group)["rows"]
        return [
            Seat(k, work, Row(work["name"], self.threads, flops=work["flops"]))
            for k, work in enumerate(works)
        ]

    def measure(self, group: str, seats: Sequence[Seat], effort: Effort) -> Iterator[Seat]:
        """Check and time every candidate of workloads of a group, in one sitting: seats as they are
        done."""
        for contender in self.contenders:
            contender.ask(do="forget")
        waiting: list[Seat] = []
        for seat in seats:
            seat.sit()
            self._check(group, seat, waiting)
            waiting.append(seat)
        while waiting:
            for seat in waiting:
                self._play(seat, effort)
                if seat.is_done(effort):
                    yield seat
            waiting = [seat for seat in waiting if not seat.is_done(effort)]

    def _check(self, group: str, seat: Seat, earlier: list[Seat]) -> None:
        """Seat those candidates whose results are right."""
        row, work = seat.row, seat.work
        with tempfile.TemporaryDirectory() as folder:
            once = self._prepare(group, seat, folder, earlier)
            reference = np.load(f"{folder}/reference.npy")
            for name, (contender, seconds) in once.items():
                got = np.load(f"{folder}/{name}.npy")
                if not close(got, reference, work["unit"]):
                    row.failed[name] = "wrong result"
                    continue
                row.errors[name] = error(got, reference)
                row.deviations[name] = deviation(got, reference)
                seat.ready[name] = contender, seconds
                size = got.nbytes
            if seat.ready and not work["plain"]:
                row.bytes = float(work["bytes"] + size)

    def _play(self, seat: Seat, effort: Effort) -> None:
        """The rounds of one visit, of those that may be the best once that is known."""
        start = time.perf_counter()
        playing = set(seat.ready)
        if seat.played and OWN in seat.ready:
            playing = seat.rounds.close()
        for _ in range(effort.visit):
            calm, stolen, begin = self._wait_until_calm(), stolen_seconds(), time.perf_counter()
            turns = self._turns(seat, spread(seat.ready, playing), effort)
            stolen = (stolen_seconds() - stolen) / (time.perf_counter() - begin)
            seat.rounds.played.append(Round(turns, seat.sitting, calm and stolen <= STOLEN))
            seat.played += 1
        seat.spent += time.perf_counter() - start

    def _turns(self, seat: Seat, names: Sequence[str], effort: Effort) -> dict[str, float]:
        """Seconds per call of each. Candidates of one process share its arguments, and the second
        of two in a row would find them in caches: somebody else has a turn in between."""
        found = {}
        for name in names:
            last, contender = seat.last, seat.ready[name][0]
            others = {n: once for n, (other, once) in seat.ready.items() if other is not contender}
            if last is contender and others:
                peers = {n: once for n, once in others.items() if n != OWN} or others
                self._turn(seat, min(peers, key=peers.__getitem__), effort)
            found[name] = self._turn(seat, name, effort)
        return {name: found[name] for name in seat.ready if name in found}

    def _turn(self, seat: Seat, name: str, effort: Effort) -> float:
        """Seconds per call of a candidate."""
        contender, once = seat.ready[name]
        seat.last = contender
        answer = contender.ask(
            do="time", index=seat.index, name=name, seconds=effort.seconds,
            warm=0.0 if once > LONG else effort.warm,
        )  # fmt: skip
        return float(answer["seconds"])

    def _wait_until_calm(self) -> bool:
        """Wait while the processors are apart or shared, as long as there is patience; whether they
        are not any more."""
        end = time.perf_counter() + min(WAIT, self.patience)
        while True:
            start = time.perf_counter()
            pace = self.reference.ask(do="pace")["seconds"]
            self.pace = min(self.pace, pace)
            apart = self.threads > 1 and self.reference.ask(do="distance")["seconds"] > NEAR
            calm = pace <= SLOW * self.pace and not apart
            if calm or start > end:
                return calm
            time.sleep(PAUSE)
            self.patience -= time.perf_counter() - start

    def _prepare(self, group: str, seat: Seat, folder: str, earlier: list[Seat]) -> Ready:
        """Everybody at once, because some compile for seconds; seconds of a first call by name."""
        everybody = [*self.contenders, self.reference]
        for contender in everybody:
            contender.send(do="prepare", group=group, index=seat.index, folder=folder)
        found: Ready = {}
        for contender in everybody:
            try:
                answer = contender.answer()
            except ChildProcessError as ended:
                contender.__init__(contender.library, self.threads, self.environment)  # type: ignore[misc]
                for lost in (seat, *earlier):
                    lost.lose(contender, str(ended))
                continue
            seat.row.failed |= answer["failed"]
            found |= {name: (contender, answer["once"][name]) for name in answer["ready"]}
        return found


def spread(ready: Ready, playing: Container[str]) -> list[str]:
    """Those that play, such that candidates of one process are far from each other: the k-th of n
    comes at (k + 1/2) / n of the round."""
    of_process: dict[Contender, list[str]] = {}
    for name, (contender, _) in ready.items():
        if name in playing:
            of_process.setdefault(contender, []).append(name)
    places = {n: (k + 0.5) / len(ns) for ns in of_process.values() for k, n in enumerate(ns)}
    return sorted(places, key=places.__getitem__)


def stolen_seconds() -> float:
    """What a virtual machine's host has taken from its processors since it started; 0 elsewhere."""
    if sys.platform != "linux":
        return 0.0
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(ticks[8]) / os.sysconf("SC_CLK_TCK")


def error(got: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference, of the largest magnitude."""
    differences = _differences(got, reference)
    return float(np.max(np.abs(differences))) if differences.size else 0.0


def deviation(got: np.ndarray, reference: np.ndarray) -> float:
    """The root mean square of the differences, of the largest magnitude: where one element is much
    larger than the others, the largest difference is its own, by chance great or small."""
    differences = _differences(got, reference)
    return float(np.sqrt(np.mean(np.square(differences)))) if differences.size else 0.0


def _differences(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Of the largest magnitude; none of truth values."""
    if not reference.size or reference.dtype == np.bool_:
        return np.empty(0)
    scale = float(np.max(np.abs(reference))) or 1.0
    found: np.ndarray = (got.astype("f8") - reference) / scale
    return found


def close(got: np.ndarray, reference: np.ndarray, unit: float) -> bool:
    """Whether a result is right, rounded once to a dtype of that unit (0 for float32)."""
    return got.shape == reference.shape and error(got, reference) <= TOLERANCE + unit
