"""One library in a process of its own, which the harness asks over a pipe.

    python benchmarks/contender.py LIBRARY THREADS

Reads commands and answers them, a line of JSON each: `list`, `forget`, `prepare`, `time`,
`distance` and `pace` (see the methods of `Contender`). LIBRARY is one of `candidates.LIBRARIES`, or
`reference`: our eager tensors over NumPy in float64 (NumPy's own in extended precision where the
program is one of float64), which give what every candidate must return.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from candidates import LIBRARIES, Call
from distance import line_seconds
from groups import GROUPS
from pace import loop_seconds
from peers import torch
from quantized import loaded
from workload import BFloat16, Workload

import tensorscript as ts

Answer = dict[str, Any]
_SET_DEATH_SIGNAL = 1


def as_array(value: Any) -> np.ndarray:
    """The NumPy array of a result of any of the libraries, bfloat16 as float32."""
    if hasattr(value, "detach"):
        value = value.detach()
        value = (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
    made = np.asarray(value)
    return made.astype(np.float32) if made.dtype.name == "bfloat16" else made


def _block(value: Any) -> Any:
    """Wait for an asynchronous result (JAX)."""
    wait = getattr(value, "block_until_ready", None)
    return wait() if wait is not None else value


class Contender:
    """The state of this process: calls by workload and candidate, and how long one took."""

    def __init__(self, library: str, threads: int) -> None:
        self.library, self.threads = library, threads
        self.calls: dict[tuple[int, str], tuple[Call, float]] = {}
        self.dtypes: dict[tuple[int, str], str] = {}

    def forget(self) -> Answer:
        """Drop the calls of the group before."""
        self.calls, self.dtypes = {}, {}
        gc.collect()
        return {}

    def list(self, group: str) -> Answer:
        """The workloads of a group: name, operations, bytes of arguments."""
        rows = [
            {
                "name": w.name,
                "flops": w.flops,
                "bytes": _bytes(w.arguments()),
                "plain": w.plain,
                "unit": w.unit,
            }
            for w in GROUPS[group]
        ]
        return {"rows": rows}

    def prepare(self, group: str, index: int, folder: str) -> Answer:
        """Build each candidate, call it once, and keep its result in `folder`."""
        work, failed = GROUPS[group][index], {}
        if self.library == "reference":
            np.save(f"{folder}/reference.npy", expected(work))
            return {"ready": [], "failed": {}}
        calls: dict[str, Call] = {}
        for name, build in LIBRARIES[self.library](work, work.arguments(), self.threads).items():
            try:
                call = build()
                result = _block(call())
                np.save(f"{folder}/{name}.npy", as_array(result))
                self.dtypes[index, name] = _dtype(result)
            except Exception as error:  # noqa: BLE001  # a peer that fails is a note in the table
                failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
                continue
            calls[name] = call
        if self.threads == 1:
            _keep_to_one_cpu()
        once = {name: min(_seconds(call, 1)[0] for _ in range(3)) for name, call in calls.items()}
        self.calls |= {(index, name): (call, once[name]) for name, call in calls.items()}
        gc.collect()
        return {"ready": list(calls), "failed": failed, "once": once}

    def time(self, index: int, name: str, warm: float, seconds: float) -> Answer:
        """Seconds per call over about `seconds`, after `warm` seconds of calls."""
        call, once = self.calls[index, name]
        end = time.perf_counter() + warm
        while time.perf_counter() < end:
            _block(call())
        count = max(1, round(seconds / once))
        taken, result = _seconds(call, count)
        if (found := _dtype(result)) != (checked := self.dtypes[index, name]):
            raise TypeError(f"{name} was checked in {checked} and is timed in {found}")
        return {"seconds": taken / count}

    def distance(self) -> Answer:
        """Seconds of a cache line from one processor to another."""
        return {"seconds": line_seconds()}

    def pace(self) -> Answer:
        """Seconds of a loop of multiply-adds on each of the processors in use."""
        return {"seconds": loop_seconds(self.threads)}


def _dtype(value: Any) -> str:
    """As its library spells it; of a list or a number, its type."""
    return str(getattr(value, "dtype", type(value).__name__))


def _seconds(call: Call, count: int) -> tuple[float, Any]:
    """And the last call's result."""
    gc.disable()
    start = time.perf_counter()
    for _ in range(count):
        result = call()
    _block(result)
    seconds = time.perf_counter() - start
    gc.enable()
    return seconds, result


def _keep_to_one_cpu() -> None:
    """Every thread of this process, those that libraries have started too."""
    if sys.platform == "linux":
        for task in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})


def _bytes(arguments: Any) -> int:
    return sum(a.nbytes for a in arguments if isinstance(a, np.ndarray | BFloat16))


def expected(work: Workload) -> np.ndarray:
    """The program's result, computed in float64; one of float64 in extended precision, where that
    has a version of NumPy and the machine such numbers."""
    program, arguments = work.build(), work.arguments()
    if work.numpy is not None and any(_is_of(a, np.float64) for a in arguments):
        return as_array(work.numpy(*(_extended(a) for a in arguments)))
    wide = [_wide(a) for a in arguments]
    if work.plain:
        return np.asarray(program(*(_tensor(a) for a in arguments)))
    if work.archive:  # on its grids, one operator after the other
        return as_array(loaded(program)(*(ts.from_numpy(a) for a in arguments)))
    if torch is not None and isinstance(program, torch.nn.Module):
        return as_array(program.double()(*(_tensor(a) for a in wide)))
    return as_array(ts.jit.script(program)(*(ts.from_numpy(a) for a in wide)))


def _wide(value: Any) -> Any:
    if isinstance(value, BFloat16):
        return value.wide
    return value.astype(np.float64) if _is_of(value, np.float32) else value


def _extended(value: Any) -> Any:
    return value.astype(np.longdouble) if _is_of(value, np.float64) else value


def _is_of(value: Any, dtype: type[np.generic]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == dtype


def _tensor(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return torch.from_numpy(value) if torch is not None else ts.from_numpy(value)


def main() -> None:
    library, threads = sys.argv[1], int(sys.argv[2])
    if sys.platform == "linux":  # a stopped process would outlive the harness
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL))
    ts.set_num_threads(threads)
    if torch is not None:
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
    contender = Contender(library, threads)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    for line in sys.stdin:
        command = json.loads(line)
        if sys.platform == "linux" and command["do"] == "prepare":
            os.sched_setaffinity(0, range(os.cpu_count() or 1))
        method: Callable[..., Answer] = getattr(contender, command.pop("do"))
        answers.write(json.dumps(method(**command)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
