"""What `programs.py` imports when it is first used: archives and the tuner, which most programs do
not need.

`late_programs.load(...)` stands for `from .jit.load import load` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .jit.load import load
    from .tune import tune, with_schedules

__all__ = ["load", "tune", "with_schedules"]

_OWN = "tensorscript.compiler"
_HOMES = {
    "load": f"{_OWN}.jit.load",
    **dict.fromkeys(("tune", "with_schedules"), f"{_OWN}.tune"),
}

__getattr__ = deferred(__name__, _HOMES)
