"""`tensorscript.schedule`: a program's kernels as loops that the user transforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tensorscript.dialects.te.ops import functions
from tensorscript.dialects.te.schedule import Schedule, ScheduleError, pseudo_code, schedules_of

from .examples import argument_specs
from .function import CompiledFunction
from .loop_nest import LoopNest
from .lowered import Lowered
from .options import CompileOptions, options_from_environment
from .programs import program_of
from .schedule_file import Schedules, load_schedules, schedules_text, write_schedules

Start = Literal["logical", "default"]


class ProgramSchedule:
    """The kernels of one specialisation of a program.

    `print` shows their loops as they are now; `compile(program, inputs, schedule=this)` uses them.

    Args:
        nests: the kernels' loops.
    """

    def __init__(self, nests: Mapping[str, LoopNest]) -> None:
        self.kernels = dict(nests)

    def __getitem__(self, kernel: str) -> LoopNest:
        if kernel not in self.kernels:
            known = ", ".join(self.kernels) or "none"
            raise ScheduleError(f"there is no kernel {kernel} (there are: {known})")
        return self.kernels[kernel]

    @property
    def kernel(self) -> LoopNest:
        """The only kernel.

        Raises:
            ScheduleError: there are several, or none.
        """
        if len(self.kernels) != 1:
            names = ", ".join(self.kernels) or "none"
            raise ScheduleError(f"there is not one kernel: name one of {names}")
        return next(iter(self.kernels.values()))

    def __str__(self) -> str:
        return "".join(map(str, self.kernels.values()))

    @property
    def schedules(self) -> dict[str, Schedule]:
        """The steps of each kernel."""
        return {name: nest.schedule for name, nest in self.kernels.items()}

    @property
    def steps(self) -> str:
        """The steps as text, one a line under each kernel's name."""
        return "".join(f"{n}:\n{pseudo_code(s)}" for n, s in self.schedules.items())

    def to_json(self) -> str:
        """The steps as the text of a file."""
        return schedules_text(self.schedules)

    def save(self, path: str | Path) -> None:
        """Write the steps to a file that `compile` and the command line read."""
        write_schedules(self.schedules, path)

    def apply(self, schedules: Schedules) -> None:
        """Apply further steps.

        Raises:
            ScheduleError: an illegal step, or there is no such kernel.
        """
        for kernel, steps in schedules.items():
            self[kernel].apply(*steps)

    def load(self, path: str | Path) -> None:
        """Apply the steps of a file.

        Raises:
            ScheduleError: an unreadable file, an illegal step, or there is no such kernel.
        """
        self.apply(load_schedules(path))


def schedule(
    program: Callable[..., Any] | str | Path | Any,
    example_inputs: Sequence[Any],
    *,
    start: Start = "logical",
    options: CompileOptions | None = None,
) -> ProgramSchedule:
    """The loops of a program for inputs of these kinds.

    Args:
        program: what `compile` takes.
        example_inputs: arrays, numbers or specs.
        start: "logical" gives the loops before any step, "default" after those that the compiler
            would choose.
        options: as for `compile`; target and CPU decide what "default" means.

    Raises:
        NotCompilable: the program has no native form.
        ScheduleError: an unknown start.
    """
    if start not in ("logical", "default"):
        raise ScheduleError(f"a schedule starts from 'logical' or 'default', not {start!r}")
    chosen = options_from_environment(options or CompileOptions())
    found, name = program_of(program)
    function = CompiledFunction(found, chosen, name, fold=not chosen.strict)
    return program_schedule(
        function.lower(argument_specs(function, list(example_inputs)), keep=True), start
    )


def program_schedule(lowered: Lowered, start: Start) -> ProgramSchedule:
    """The kernels of a program whose stages were kept."""
    modules = lowered.report.modules
    kernels = [f for f in functions(modules["te"].clone()) if f.role.data == "kernel"]
    made = ProgramSchedule({f.sym_name.data: LoopNest(f) for f in kernels})
    if start == "default":
        made.apply(schedules_of(modules["scheduled"]))
    return made
