"""xDSL's reader of formats, imported when an op is first printed or parsed, as few ever are.

`late_formats.FormatProgram` stands for `from xdsl.irdl.declarative_assembly_format import ...`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

__all__ = ["FormatProgram"]

__getattr__ = deferred(__name__, {"FormatProgram": "xdsl.irdl.declarative_assembly_format"})
