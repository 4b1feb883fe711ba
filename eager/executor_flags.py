"""What libraries of models ask PyTorch's binary module, and flags of its executors that they set.

Programs set the flags and read them back; none of them changes a result here.
"""

from __future__ import annotations

from tensorscript.base.records import dataclass

from .tracing import Tracer, active_tracer


def is_scripting() -> bool:
    """True in script; this is Python."""
    return False


@dataclass
class Flag:
    """A flag that keeps what it was told."""

    on: bool

    def __call__(self) -> bool:
        return self.on

    def set(self, on: bool) -> None:
        """Note a new state."""
        self.on = bool(on)

    def exchange(self, on: bool) -> bool:
        """Note a new state, and give the one before."""
        before, self.on = self.on, bool(on)
        return before


@dataclass
class Count:
    """A number that keeps what it was told."""

    number: int

    def __call__(self) -> int:
        return self.number

    def exchange(self, number: int) -> int:
        """Note another number, and give the one before."""
        before, self.number = self.number, int(number)
        return before


PROFILING_EXECUTOR, PROFILING_MODE = Flag(True), Flag(True)
TEXPR_FUSER, TEXPR_REDUCTIONS = Flag(True), Flag(False)
TEXPR_NEEDS_LLVM, TEXPR_DYNAMIC_SHAPES = Flag(True), Flag(False)
FUSES_ON_CPU, FUSES_ON_GPU = Flag(True), Flag(False)
INLINES_FUSION_GROUPS, INLINES_EVERYTHING = Flag(True), Flag(True)
OPTIMIZES = Flag(True)
"""Whether calls may run native code, and not only the graph interpreter."""

PROFILED_RUNS, BAILOUT_DEPTH = Count(1), Count(12)


def ignore(*_: object) -> None:
    """Nothing is noted: PyTorch, which has no NVFuser any more, notes nothing, too."""


def get_tracing_state() -> Tracer | None:
    """The tracer that records now; None if nothing is traced."""
    return active_tracer()


def is_tracing() -> bool:
    """Whether something is traced."""
    return active_tracer() is not None


def are_functorch_transforms_active() -> bool:
    """False: there are no such transforms."""
    return False


def log_api_usage_once(event: str) -> None:
    """Nothing is logged."""
