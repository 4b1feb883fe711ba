"""Rows of complex operands, imported when an operand is first complex.

`late_complex.complex_row(...)` stands for `from .complex_rows import complex_row` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .complex_rows import complex_row

__all__ = ["complex_row"]

__getattr__ = deferred(__name__, {"complex_row": "tensorscript.lowering.ts_to_tg.complex_rows"})
