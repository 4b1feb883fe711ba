"""Schedules of a program's kernels: their file, and the forms in which users give them.

The file is JSON, one step a line:

```
{"format": "tensorscript-schedule-1", "kernels": {
  "k0": [
    ["split", "i0", 64, "rest"],
    ["vectorize", "i0_i"]
  ]
}}
```
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from tensorscript.dialects.te.schedule import Schedule, ScheduleError, rows_of, schedule_of

FORMAT = "tensorscript-schedule-1"
Schedules = Mapping[str, Schedule]
"""Steps by kernel."""


@runtime_checkable
class HasSchedules(Protocol):
    """What users build schedules with."""

    @property
    def schedules(self) -> Schedules:
        """The steps of each kernel."""
        ...


def schedules_text(schedules: Schedules) -> str:
    """The file's text."""
    kernels = []
    for name, steps in schedules.items():
        lines = ",\n".join(f"    {json.dumps(row)}" for row in rows_of(steps))
        kernels.append(f"  {json.dumps(name)}: [\n{lines}\n  ]" if steps else f'  "{name}": []')
    body = ",\n".join(kernels)
    return f'{{"format": "{FORMAT}", "kernels": {{\n{body}\n}}}}\n'


def parse_schedules(text: str, name: str = "<text>") -> dict[str, Schedule]:
    """Inverse of `schedules_text`.

    Raises:
        ScheduleError: the text is not a file of schedules.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ScheduleError(f"{name} is not a file of schedules: {error}") from error
    match found:
        case {"format": str(form), "kernels": dict(kernels)} if form == FORMAT:
            return {str(kernel): schedule_of(rows) for kernel, rows in kernels.items()}
        case {"format": form}:
            raise ScheduleError(f"{name} is of format {form!r}; this version reads {FORMAT}")
    raise ScheduleError(f"{name} is not a file of schedules: it has no format and kernels")


def write_schedules(schedules: Schedules, path: str | Path) -> None:
    """Write the file, in a folder that is made if there is none."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(schedules_text(schedules))


def load_schedules(path: str | Path) -> dict[str, Schedule]:
    """The schedules of a file.

    Raises:
        ScheduleError: there is no such file, or it is none of schedules.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ScheduleError(f"cannot read schedules from {path}: {error}") from error
    return parse_schedules(text, str(path))


def chosen_schedules(given: object) -> tuple[tuple[str, Schedule], ...]:
    """Schedules as `compile` takes them: what `ts.schedule` gives, a path, or a mapping.

    Raises:
        ScheduleError: another kind of value, or an unreadable file.
    """
    if given is None:
        return ()
    if isinstance(given, HasSchedules):
        given = given.schedules
    elif isinstance(given, str | os.PathLike):
        given = load_schedules(Path(given))
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise ScheduleError(f"a schedule is what ts.schedule gives, or a file, not {kind}")
    return tuple((str(kernel), tuple(steps)) for kernel, steps in given.items())
