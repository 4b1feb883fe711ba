"""What the pipeline leaves of a program: the scheduled te module and where it came from."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tensorscript.base.records import dataclass
from tensorscript.lowering.ts_to_tg.plan import CallPlan

from .observe import Report


@dataclass
class Lowered:
    """Attributes:
    plan: how arguments and results meet those of the caller.
    module: the scheduled te module.
    report: seconds per pass, and the stages' modules if they were kept.
    """

    plan: CallPlan
    module: ModuleOp
    report: Report
