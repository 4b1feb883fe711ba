"""Code for GPUs, imported when it is first made: programs for the CPU need none of it.

`late_gpu.GPUModule(...)` stands for `from .gpu import GPUModule` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from tensorscript.lowering.schedules.gpu import schedule_gpu

    from .gpu import GPULoaded, GPUModule, target_of

__all__ = ["GPULoaded", "GPUModule", "schedule_gpu", "target_of"]

_HOMES = {
    **dict.fromkeys(("GPULoaded", "GPUModule", "target_of"), "tensorscript.compiler.gpu"),
    "schedule_gpu": "tensorscript.lowering.schedules.gpu",
}

__getattr__ = deferred(__name__, _HOMES)
