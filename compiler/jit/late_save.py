"""The writing of archives, imported when something is first saved.

`late_save.save_to_path(...)` stands for `from .save import save_to_path` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .save import archived_function, archived_module, save_to_bytes, save_to_path

__all__ = ["archived_function", "archived_module", "save_to_bytes", "save_to_path"]

_HOMES = dict.fromkeys(__all__, "tensorscript.compiler.jit.save")

__getattr__ = deferred(__name__, _HOMES)
