"""What is imported when it is first used.

A hit of the disk cache needs none of it, and the import of the lowerings and of the generators of
code takes as long as half of what a hit does need.

`late.Maker(...)` stands for `from .making import Maker` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from tensorscript.lowering.schedules.candidates import candidate, rounds, variations
    from tensorscript.lowering.schedules.prepack import constant_arguments
    from tensorscript.lowering.schedules.streamed import handed_out

    from .export import export_library, export_object
    from .making import Maker
    from .pipeline import cpu_parameters

__all__ = [
    "Maker",
    "candidate",
    "constant_arguments",
    "cpu_parameters",
    "export_library",
    "export_object",
    "handed_out",
    "rounds",
    "variations",
]

_OWN, _SCHEDULES = "tensorscript.compiler", "tensorscript.lowering.schedules"
_HOMES = {
    "Maker": f"{_OWN}.making",
    **dict.fromkeys(("export_library", "export_object"), f"{_OWN}.export"),
    **dict.fromkeys(("candidate", "rounds", "variations"), f"{_SCHEDULES}.candidates"),
    "cpu_parameters": f"{_OWN}.pipeline",
    "constant_arguments": f"{_SCHEDULES}.prepack",
    "handed_out": f"{_SCHEDULES}.streamed",
}

__getattr__ = deferred(__name__, _HOMES)
