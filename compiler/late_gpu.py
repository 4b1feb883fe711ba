"""Code for GPUs, imported when it is first made: programs for the CPU need none of it.

`late_gpu.GPUModule(...)` stands for `from .gpu import GPUModule` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .deferred import deferred

if TYPE_CHECKING:
    from .gpu import GPULoaded, GPUModule, target_of

__all__ = ["GPULoaded", "GPUModule", "target_of"]

_HOMES = dict.fromkeys(__all__, "tensorscript.compiler.gpu")

__getattr__ = deferred(__name__, _HOMES)
