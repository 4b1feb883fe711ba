"""What `tensorscript.compile` imports when the disk cache does not start a function.

`late_api.compiled(...)` stands for `from .programs import compiled` and a call. It stands beside
`late.py` because what is imported here imports that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .function import CompiledFunction
    from .programs import compiled, resumed
    from .schedule_file import chosen_schedules

__all__ = ["CompiledFunction", "chosen_schedules", "compiled", "resumed"]

_OWN = "tensorscript.compiler"
_HOMES = {
    "CompiledFunction": f"{_OWN}.function",
    "chosen_schedules": f"{_OWN}.schedule_file",
    **dict.fromkeys(("compiled", "resumed"), f"{_OWN}.programs"),
}

__getattr__ = deferred(__name__, _HOMES)
