"""The rows of most families, imported when a program first has an operator of them.

`late_rows.FURTHER` stands for `from .further_rows import FURTHER`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .further_rows import FURTHER

__all__ = ["FURTHER"]

__getattr__ = deferred(__name__, {"FURTHER": "tensorscript.lowering.ts_to_tg.further_rows"})
