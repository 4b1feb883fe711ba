"""The kernels of `tensorize`, imported when a nest first becomes one.

`late_kernels.KERNELS` stands for `from .kernels import KERNELS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .kernels import KERNELS

__all__ = ["KERNELS"]

__getattr__ = deferred(__name__, {"KERNELS": "tensorscript.lowering.schedules.kernels"})
