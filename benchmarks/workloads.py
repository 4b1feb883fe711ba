"""One group of workloads with a number of threads, in a process of its own: prints JSON.

python benchmarks/workloads.py THREADS GROUP [--quick]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from harness import Candidate, Row, as_array, measure
from limits import limits
from list_programs import programs as list_programs
from models import models
from peers import jax_peer, numba, numba_peer, numpy_peer, own, torch, torch_peers
from scalar_programs import PROGRAMS
from tensor_programs import GROUPS, Workload

import tensorscript as ts

TOLERANCE = 2e-3
"""Of the largest magnitude: what a float32 model may lose; a wrong result is far from it."""


def tensor_row(workload: Workload, threads: int, seconds: float) -> Row:
    arrays = workload.make(np.random.default_rng(0))
    candidates = [
        own(workload.program, arrays),
        *numpy_peer(workload.numpy, arrays),
        *torch_peers(workload.program, arrays, threads),
        *jax_peer(workload.jax, arrays),
        *numba_peer(workload.numba, arrays),
    ]
    row = measure(
        workload.name, threads, candidates, expected(workload, arrays), TOLERANCE, seconds
    )
    row.flops = workload.flops
    row.bytes = float(sum(a.nbytes for a in arrays) + as_array(candidates[0].call()).nbytes)
    return row


def expected(workload: Workload, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """The program's result over NumPy: our eager tensors in float64, interpreted."""
    wide = [a.astype("f8") if a.dtype == np.float32 else a for a in arrays]
    program: Any = workload.program
    if torch is not None and isinstance(program, torch.nn.Module):
        return as_array(program(*(torch.from_numpy(a) for a in arrays)))
    found = ts.jit.script(program)(*(ts.from_numpy(a) for a in wide))
    return np.asarray(found)


def control_row(
    name: str, program: Callable[..., Any], arguments: tuple[Any, ...], threads: int, seconds: float
) -> Row:
    """A program over numbers, lists and elements; the reference is Python itself."""
    compiled = ts.compile(program, list(arguments), fallback="error")
    candidates = [Candidate("tensorscript", lambda: compiled(*arguments))]
    plain = arguments
    if torch is not None:
        plain = tuple(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments)
        scripted = torch.jit.script(program)
        candidates.append(Candidate("torch.jit", lambda: scripted(*plain)))
    candidates.append(Candidate("python", lambda: program(*plain)))
    if all(isinstance(a, int) for a in arguments):
        candidates += numba_peer(lambda: numba.njit(program), arguments)
    wanted = np.asarray(program(*plain))
    return measure(name, threads, candidates, wanted, seconds=seconds, rounds=5)


def rows(group: str, threads: int, seconds: float) -> list[Row]:
    if group == "control flow":
        found = (*PROGRAMS, *list_programs(np.random.default_rng(0)))
        return [control_row(*program, threads, seconds) for program in found]
    workloads = models() if group == "model" else GROUPS[group]
    return [tensor_row(workload, threads, seconds) for workload in workloads]


def main() -> None:
    threads, group = int(sys.argv[1]), sys.argv[2]
    ts.set_num_threads(threads)
    if torch:
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
    if group == "limits":
        print(json.dumps(limits(threads)))
        return
    seconds = 0.1 if "--quick" in sys.argv else 0.4
    print(json.dumps([asdict(row) for row in rows(group, threads, seconds)]))


if __name__ == "__main__":
    main()
