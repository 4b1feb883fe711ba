"""`tensorscript bench`: one program timed as native code, in the interpreter, and eagerly."""

from __future__ import annotations

import statistics
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorscript.base.dtypes import from_numpy
from tensorscript.base.errors import UserError
from tensorscript.eager.tensor import Tensor

from ..entry import Entered
from ..function import CompiledFunction
from ..observe import Report
from ..options import CompileOptions
from ..progress import progress
from ..spec_values import values_of
from .inputs import parse_input, parse_sizes
from .kernels import duration, kernel_table
from .programs import open_program, python_object
from .run import report_of

ROUNDS = 7
ROUND_SECONDS = 0.05


def seconds_per_call(call: Callable[[], Any]) -> float:
    """Median over rounds of the mean of calls; each round lasts `ROUND_SECONDS` or one call."""
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    count = max(1, int(ROUND_SECONDS / once))
    rounds = []
    for _ in range(ROUNDS if once < 1 else 1):
        start = time.perf_counter()
        for _ in range(count):
            call()
        rounds.append((time.perf_counter() - start) / count)
    return statistics.median(rounds)


def run_bench(arguments: Namespace, options: CompileOptions) -> Report:
    """Run the subcommand.

    Raises:
        UserError: inputs that do not fit, or an error of the program.
    """
    program = open_program(arguments.program, options)
    inputs = [parse_input(text) for text in arguments.input]
    values = values_of(inputs, parse_sizes(arguments.size))
    with progress(f"first call of {program.__name__}"):
        start = time.perf_counter()
        program(*values)
        first = time.perf_counter() - start
    interpreted = isinstance(program, CompiledFunction) and not program.stats.is_native
    rows: list[tuple[str, float | str]] = []
    for name, call in _ways(arguments.program, program, values, interpreted):
        with progress(f"timing {name}"):
            rows.append((name, _time(call)))
    sys.stdout.write(f"first call: {duration(first)}\n" + _table(rows))
    if arguments.kernels and isinstance(program, CompiledFunction) and not interpreted:
        with progress("timing kernels"):
            sys.stdout.write(
                kernel_table(program.with_options(replace(options, timed=True)), values)
            )
    return report_of(program)


def _ways(
    text: str, program: Entered, values: Sequence[Any], interpreted: bool
) -> list[tuple[str, Callable[[], Any]]]:
    """The ways to run the program, by name."""
    ways: list[tuple[str, Callable[[], Any]]] = []
    if not interpreted:
        ways.append(("native", lambda: program(*values)))
    if not isinstance(program, CompiledFunction):
        return ways
    tensors = [_tensor(v) for v in values]
    own = program.program
    ways.append(("interpreter", lambda: own.interpret(list(tensors))))
    if callable(eager := python_object(text)):
        ways.append(("eager", lambda: eager(*tensors)))
    return ways


def _tensor(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Tensor(value, from_numpy(value.dtype))
    return value


def _time(call: Callable[[], Any]) -> float | str:
    """Seconds a call takes, or why it cannot run this way."""
    try:
        return seconds_per_call(call)
    except UserError as error:
        return str(error).strip().splitlines()[0]
    except (TypeError, AttributeError) as error:  # what eager Python says of what it lacks
        return f"{type(error).__name__}: {error}"


def _table(rows: Sequence[tuple[str, float | str]]) -> str:
    """One line a way: time of a call, and its ratio to the first."""
    base = next((t for _, t in rows if isinstance(t, float)), 0.0)
    lines = []
    for name, taken in rows:
        if isinstance(taken, str):
            lines.append(f"{name:<12} cannot run: {taken}")
        else:
            lines.append(f"{name:<12} {duration(taken):>10}  {taken / base:8.2f}x")
    return "\n".join(lines) + "\n"
