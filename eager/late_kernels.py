"""The kernels and their layouts, imported when an operator first runs: compilers ask for neither.

`late_kernels.KERNELS` stands for `from .kernels.table import KERNELS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .kernels.table import KERNELS
    from .layouts import laid_out_kernel

__all__ = ["KERNELS", "laid_out_kernel"]

_OWN = "tensorscript.eager"
_HOMES = {"KERNELS": f"{_OWN}.kernels.table", "laid_out_kernel": f"{_OWN}.layouts"}

__getattr__ = deferred(__name__, _HOMES)
