"""Is every schedule that the heuristics choose for the benchmarks' programs legal step by step?

The heuristics' own steps are not checked when they are made. Written as JSON and read back they
are the steps of a user, each of which is checked.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tensorscript
from tensorscript.compiler.examples import argument_specs
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.loop_nest import LoopNest
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.programs import program_of
from tensorscript.compiler.schedule_file import parse_schedules, schedules_text
from tensorscript.dialects.te.ops import functions
from tensorscript.dialects.te.schedule import ScheduleError, schedules_of

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from groups import GROUPS
from workload import BFloat16, Workload


def _illegal(work: Workload, cpu: str) -> list[str]:
    arguments = [a.tensor(tensorscript) if isinstance(a, BFloat16) else a for a in work.arguments()]
    program, name = program_of(work.build())
    function = CompiledFunction(program, CompileOptions(cache=False, cpu=cpu), name, fold=True)
    modules = function.lower(argument_specs(function, arguments), keep=True).report.modules
    chosen = parse_schedules(schedules_text(schedules_of(modules["scheduled"])))
    found = []
    for kernel in functions(modules["te"].clone()):
        nest = LoopNest(kernel) if kernel.role.data == "kernel" else None
        try:
            if nest is not None:
                nest.apply(*chosen.get(kernel.sym_name.data, ()))
        except ScheduleError as error:
            found.append(f"{work.name}: {error}")
    return found


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("group", [g for g in GROUPS if g != "model"])
def test_every_step_of_a_group_is_legal(group: str, cpu: str) -> None:
    assert [error for work in GROUPS[group] for error in _illegal(work, cpu)] == []


@pytest.mark.parametrize("name", ["ResNet-18, batch 1", "MiniLM, S=128, batch 1", "LSTM"])
def test_every_step_of_a_model_is_legal(name: str) -> None:
    work = next(work for work in GROUPS["model"] if work.name.startswith(name))
    assert _illegal(work, "x86-64-v4") == []
