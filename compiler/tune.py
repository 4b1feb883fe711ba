"""The autotuner: tries other schedules for a program's kernels and keeps what is faster.

Kernel by kernel, parameter by parameter (`lowering/schedules/candidates.py`), within a budget of
time: a candidate's results are compared with those of the compiler's own schedules, then both are
timed in turns and their medians compared, twice where it seems to win. What won is kept in the
disk cache under the kernel's text and the machine, so that a kernel is tuned once, in whatever
program it comes again; where the budget did not suffice, the next one goes on from what was found.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tensorscript.backends import target as targets
from tensorscript.base.dtypes import bfloat16
from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.ops import FuncOp, functions
from tensorscript.dialects.te.schedule import Schedule, rows_of, schedule_of
from tensorscript.eager.tensor import Tensor

from . import late
from .cache import DiskCache, cache_key, compiler_identity
from .examples import argument_specs, prepare
from .function import CompiledFunction
from .options import BUDGET, CompileOptions
from .spec_values import values_of

GAIN = 0.97
"""A candidate wins below this part of the time of the best so far: less is noise."""
ROUNDS = 9
LEAST_SECONDS = 2e-3
"""Of calls that a round repeats, so that the clock can tell them apart."""

Call = Callable[[], Any]
Measure = Callable[[Sequence[Call]], Sequence[float]]
"""Seconds of one call of each, taken in turns."""
Clock = Callable[[], float]
Build = Callable[[Mapping[str, Schedule]], Call]
"""The program with schedules for some of its kernels, ready to be called."""
Tell = Callable[[float, str], None]
"""Hears which part of the budget is spent, and what is being tried."""


@dataclass(frozen=True)
class Tuned:
    """What tuning found for one kernel.

    Attributes:
        schedule: the steps to use, None for the compiler's own.
        gain: seconds of a call before, over seconds after.
        tried: other schedules that were made; 0 if the cache knew.
        refused: those of them whose results differed by more than the order of sums explains.
        complete: the budget sufficed for all that there is to try.
    """

    kernel: str
    schedule: Schedule | None
    gain: float
    tried: int
    refused: int = 0
    complete: bool = True

    def __str__(self) -> str:
        source = f"{self.tried} candidates" if self.tried else "from the cache"
        if self.refused:
            source += f", {self.refused} refused for their results"
        what = "the compiler's schedule" if self.schedule is None else f"{self.gain:.2f}x"
        return f"{self.kernel}: {what}, {source}"


def interleaved_medians(calls: Sequence[Call]) -> list[float]:
    """The median seconds of a call of each, over rounds in which all take turns."""
    start = time.perf_counter()
    for call in calls:
        call()
    once = max((time.perf_counter() - start) / len(calls), 1e-7)
    repeats = max(1, int(LEAST_SECONDS / once))
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, samples, strict=True):
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            found.append((time.perf_counter() - start) / repeats)
    return [statistics.median(found) for found in samples]


def agree(a: Any, b: Any) -> bool:
    """Results are the same, but for sums in another order: 256 roundings of the largest value."""
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(agree(a[k], b[k]) for k in a)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dtype is not b.dtype:
            return False
        if a.dtype is bfloat16:  # sums of float32 that are rounded, to another neighbour at most
            return _within(a.float().numpy(), b.float().numpy(), 2.0**-7)
    left, right = np.asarray(a), np.asarray(b)
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.dtype.kind not in "fc":
        return bool(np.array_equal(left, right))
    return _within(left, right, 256 * float(np.finfo(left.dtype).eps))


def _within(left: np.ndarray, right: np.ndarray, share: float) -> bool:
    """Numbers differ by no more than a share of the largest one."""
    finite = np.isfinite(left)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return False
    largest = float(np.max(np.abs(left[finite]), initial=0.0))
    return bool(np.all(np.abs(left[finite] - right[finite]) <= share * largest))


class Store:
    """The schedules that won, in the disk cache: one entry a kernel and machine.

    Args:
        cache: None to keep nothing.
        target: the machine.
    """

    def __init__(self, cache: DiskCache | None, target: targets.Target) -> None:
        self.cache, self._target = cache, target

    def _key(self, func: FuncOp) -> str:
        body = "".join(f"{op}\n" for op in func.block.ops)
        head = func.head().replace(f"@{func.sym_name.data} ", "", 1)
        return cache_key("tuned", compiler_identity(), head, body, self._target.key)

    def load(self, func: FuncOp) -> Tuned | None:
        """What is known of a kernel."""
        if self.cache is None or (hit := self.cache.load(self._key(func))) is None:
            return None
        rows, gain = hit.metadata.get("steps"), hit.metadata.get("gain")
        steps = None if rows is None else schedule_of(rows)
        complete = bool(hit.metadata.get("complete"))
        return Tuned(func.sym_name.data, steps, float(str(gain)), 0, complete=complete)

    def save(self, func: FuncOp, found: Tuned) -> None:
        """Keep what was found, that nothing is faster included."""
        if self.cache is not None:
            rows = None if found.schedule is None else rows_of(found.schedule)
            kept: dict[str, object] = {"steps": rows, "gain": found.gain}
            self.cache.store(self._key(func), b"", kept | {"complete": found.complete})


@dataclass
class Tuner:
    """Tunes the kernels of one program.

    Attributes:
        module: the program at stage te; it stays as it is.
        build: makes the program with given schedules.
        options: of the compilation.
        store: what is known already.
        budget: seconds.
        measure, clock: how time is taken.
        tell: hears of progress.
    """

    module: ModuleOp
    build: Build
    options: CompileOptions
    store: Store
    budget: float = BUDGET
    measure: Measure = interleaved_medians
    clock: Clock = time.perf_counter
    tell: Tell = lambda part, what: None

    def __post_init__(self) -> None:
        self._chosen: dict[str, Schedule] = dict(self.options.schedules)
        self._fixed = late.constant_arguments(self.module)
        self._handed_out = late.handed_out(self.module)
        target = targets.parse(self.options.target, self.options.cpu)
        self._machine = late.cpu_parameters(target, self.options)
        self._start = self.clock()

    def run(self) -> list[Tuned]:
        """Tune kernel after kernel, as far as the budget goes."""
        kernels = [f for f in functions(self.module) if f.role.data == "kernel"]
        wanted = [f for f in kernels if f.sym_name.data not in self._chosen]
        found = {f.sym_name.data: known for f in wanted if (known := self.store.load(f))}
        for known in found.values():
            self._keep(known)
        done = {name for name, known in found.items() if known.complete}
        left = [f for f in wanted if f.sym_name.data not in done]
        if left and self._spent < 1:
            self._tune_all(left, found)
        return [found[f.sym_name.data] for f in wanted if f.sym_name.data in found]

    def _tune_all(self, left: Sequence[FuncOp], found: dict[str, Tuned]) -> None:
        """Tune kernels from what was found of them so far, and note what is found now."""
        best = self.build(self._chosen)
        wanted_result = best()
        for number, func in enumerate(left):
            if self._spent >= 1:
                break
            share = (len(left) - number) ** -1 * (1 - self._spent)
            known = found.get(func.sym_name.data)
            tuned, best = self._tune(func, best, wanted_result, self._spent + share, known)
            self.store.save(func, tuned)
            self._keep(tuned)
            found[tuned.kernel] = tuned

    def _keep(self, tuned: Tuned) -> None:
        if tuned.schedule is not None:
            self._chosen[tuned.kernel] = tuned.schedule

    @property
    def _spent(self) -> float:
        """The part of the budget that is gone."""
        return (self.clock() - self._start) / self.budget if self.budget > 0 else 1.0

    def _tune(
        self, func: FuncOp, best: Call, wanted: Any, until: float, known: Tuned | None
    ) -> tuple[Tuned, Call]:
        """The best schedule of one kernel, and the program with it."""
        name = func.sym_name.data
        fixed, results = (known.get(name, frozenset()) for known in (self._fixed, self._handed_out))
        own = replace(self._machine, fixed=fixed, handed_out=results)
        schedule, gain = (known.schedule, known.gain) if known else (None, 1.0)
        parameters, refused, complete = own, 0, True
        tried = {late.candidate(func, own).schedule}
        for number in range(late.rounds(func, own)):
            for made in late.variations(func, own, parameters, number):
                if made.schedule in tried:
                    continue
                if self._spent >= until:
                    complete = False
                    continue
                self.tell(min(self._spent, 1.0), f"{name}: {len(tried)} tried, {gain:.2f}x")
                tried.add(made.schedule)
                call = self.build({**self._chosen, name: made.schedule})
                if not agree(wanted, call()):
                    refused += 1
                    continue
                if (faster := self._gain(best, call)) > 1:
                    parameters, schedule, best = made.parameters, made.schedule, call
                    gain *= faster
        return Tuned(name, schedule, gain, len(tried) - 1, refused, complete), best

    def _gain(self, best: Call, call: Call) -> float:
        """How many times faster `call` is, 1 if that may be noise: what else the machine does can
        slow one measurement, and rarely two."""
        gain = float("inf")
        for _ in range(2):
            before, after = self.measure([best, call])
            if after >= GAIN * before:
                return 1.0
            gain = min(gain, before / after)
        return gain


def tune(
    function: CompiledFunction,
    example_inputs: Sequence[Any],
    budget: float = BUDGET,
    measure: Measure = interleaved_medians,
    clock: Clock = time.perf_counter,
    tell: Tell = lambda part, what: None,
) -> list[Tuned]:
    """Tune a program for example inputs; arrays are made up for those that are specs.

    Args:
        budget: seconds; at 0 only what the cache knows is used.
        measure, clock: how time is taken.
        tell: hears of progress.

    Raises:
        UserError: a target that is not a CPU of this machine, a program that changes its arguments
            or its object, or a spec with named sizes.
        NotCompilable: the program has no native form.
    """
    options = function.options
    target = targets.parse(options.target, options.cpu)
    if target.key != targets.host().key:
        raise UserError(f"only programs for this machine can be tuned, not for {options.target!r}")
    values = values_of(list(example_inputs), {})
    lowered = function.lower(argument_specs(function, values), keep=True)
    if lowered.plan.has_effects:
        raise UserError(
            f"{function.__name__} changes its arguments or its object: each call would start from "
            "other values, and it cannot be tuned"
        )

    def build(schedules: Mapping[str, Schedule]) -> Call:
        chosen = replace(options, schedules=tuple(schedules.items()), cache=False, fallback="error")
        made = function.with_options(chosen)
        prepare(made, values)
        return lambda: made(*values)

    cache = DiskCache(options.cache_dir) if options.cache else None
    module, store = lowered.report.modules["te"], Store(cache, target)
    return Tuner(module, build, options, store, budget, measure, clock, tell).run()


def with_schedules(function: CompiledFunction, found: Sequence[Tuned]) -> CompiledFunction:
    """The function with the schedules that won; `stats.tuned` says which."""
    won = tuple((t.kernel, t.schedule) for t in found if t.schedule is not None)
    options = function.options
    made = function.with_options(replace(options, schedules=(*options.schedules, *won)))
    made.stats.tuned += map(str, found)
    return made
