"""Schedules as data: what was, or is to be, done to the loops of a te.func.

A schedule is a tuple of steps. A step names a primitive, its target (a loop by its variable, or a
buffer) and arguments; it is hashable, prints as a call and survives JSON:

```
split("i", 8, "guard")
vectorize("i_i")
parallel("i_o", 4)
```

A te.func carries the steps that made it as the attribute `schedule`, which is not part of its text.
The primitives are a table of `lowering/schedule.py`.
"""

from __future__ import annotations

import json

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass

from .ops import FuncOp, functions

Argument = int | float | str | bool | None


class ScheduleError(UserError, RuntimeError):
    """A step that is illegal for the function, or malformed; the message says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a primitive. `target`: a loop variable or a buffer name."""

    primitive: str
    target: str
    args: tuple[Argument, ...] = ()

    def __str__(self) -> str:
        return f"{self.primitive}({', '.join(json.dumps(a) for a in (self.target, *self.args))})"


Schedule = tuple[Step, ...]


def step(primitive: str, target: str, *args: Argument) -> Step:
    """`Step(primitive, target, args)`."""
    return Step(primitive, target, args)


def pseudo_code(schedule: Schedule) -> str:
    """One step a line."""
    return "".join(f"{item}\n" for item in schedule)


def rows_of(schedule: Schedule) -> list[list[Argument]]:
    """The steps as JSON arrays: primitive, target, arguments."""
    return [[s.primitive, s.target, *s.args] for s in schedule]


def schedule_of(rows: object) -> Schedule:
    """Inverse of `rows_of`.

    Raises:
        ScheduleError: not such arrays.
    """
    if not isinstance(rows, list):
        raise ScheduleError(f"not a schedule: {str(rows)[:80]}")
    return tuple(map(_step_of, rows))


def _step_of(row: object) -> Step:
    match row:
        case [str(primitive), str(target), *given]:
            args = [a for a in given if a is None or isinstance(a, int | float | str)]
            if len(args) == len(given):
                return Step(primitive, target, tuple(args))
    raise ScheduleError(
        f"not a step of a schedule: {str(row)[:80]}; expected [primitive, target, arguments ...]"
    )


def to_json(schedule: Schedule) -> str:
    return json.dumps(rows_of(schedule))


def from_json(source: str) -> Schedule:
    """Inverse of `to_json`.

    Raises:
        ScheduleError: the text is not a schedule.
    """
    try:
        rows = json.loads(source)
    except ValueError as error:
        raise ScheduleError(f"not a schedule: {source[:80]}") from error
    return schedule_of(rows)


@irdl_attr_definition
class ScheduleAttr(Data[Schedule]):
    """The steps that made a function what it is, in order."""

    name = "te.schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Schedule:
        with parser.in_angle_brackets():
            return from_json(parser.parse_str_literal())

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(to_json(self.data))


def recorded(func: FuncOp) -> Schedule | None:
    """The steps that a function says were applied to it; None if it says nothing."""
    found = func.attributes.get("schedule")
    return found.data if isinstance(found, ScheduleAttr) else None


def record(func: FuncOp, schedule: Schedule) -> None:
    """Note the steps on the function that they were applied to."""
    func.attributes["schedule"] = ScheduleAttr(schedule)


def schedules_of(module: ModuleOp) -> dict[str, Schedule]:
    """The recorded steps of the kernels of a te module, by kernel."""
    found = {f.sym_name.data: recorded(f) for f in functions(module)}
    return {name: steps for name, steps in found.items() if steps is not None}
