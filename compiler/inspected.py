"""What a compiled function tells of its code."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from dataclasses import field
from typing import Any, NoReturn

from tensorscript.base.errors import NotCompilable
from tensorscript.base.records import dataclass

from .native import Kernel, KernelTime, Loaded
from .observe import Report
from .program import Program
from .specialisations import Specialisation, Specialisations
from .specialiser import Specialiser


@dataclass
class Stats:
    """What ran how.

    Attributes:
        native: names of specialisations compiled to native code.
        fallbacks: for each that is not, why (one line each).
        interpreted_calls: calls that the graph interpreter ran.
        compile_seconds: spent compiling.
        tuned: what the autotuner found for each kernel (one line each).
    """

    native: list[str] = field(default_factory=list)
    fallbacks: list[str] = field(default_factory=list)
    interpreted_calls: int = 0
    compile_seconds: float = 0.0
    tuned: list[str] = field(default_factory=list)

    @property
    def is_native(self) -> bool:
        """Everything so far ran as native code."""
        return not self.fallbacks and self.interpreted_calls == 0


class Inspected:
    """The part of a compiled function that looks at its latest specialisation."""

    program: Program
    stats: Stats
    __name__: str
    _known: Specialisations
    _specialiser: Specialiser
    _latest: Specialisation | None

    @property
    def names(self) -> tuple[str, ...]:
        """Of its arguments."""
        return self.program.names

    def __copy__(self) -> Inspected:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Inspected:
        """Itself, as of a Python function; an object that it belongs to is not copied with it.

        Raises:
            pickle.PickleError: it belongs to an object.
        """
        return self if self.program.receiver is None else self.__reduce__()

    def __reduce__(self) -> NoReturn:
        raise pickle.PickleError(
            f"{self!r} cannot be pickled: machine code is of one process. Save the script with "
            "jit.save and compile it where it is loaded, or export it with export_library"
        )

    @property
    def changing(self) -> Collection[str]:
        """Paths of the attributes of `self` that native code is known to change."""
        return self._known.changing.keys()

    @property
    def report(self) -> Report:
        """Seconds of each pass of the latest compilation; empty if it came from the disk cache."""
        found = self._latest
        return Report() if found is None or found.report is None else found.report

    def _one(self) -> Specialisation:
        if self._latest is None:
            reasons = "; ".join(self.stats.fallbacks) or "it has not been called yet"
            raise NotCompilable(f"{self.__name__} has no native code: {reasons}")
        return self._latest

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the latest specialisation."""
        return self._one().code.kernels

    @property
    def kernel_times(self) -> tuple[KernelTime, ...]:
        """Calls and seconds of the kernels of the latest specialisation since it was made; empty
        without `CompileOptions(timed=True)`, and on a GPU."""
        loaded = self._one().loaded
        return loaded.kernel_times() if isinstance(loaded, Loaded) else ()

    def ir(self, stage: str = "tg") -> str:
        """The text of a stage of the latest specialisation: ts, tg, kernels, te, scheduled,
        schedule, ll, s (for a GPU also ptx).

        Raises:
            GuardError: no such stage.
        """
        return self._specialiser.text(stage, self._one().specs)

    def asm(self) -> str:
        """Assembly of the latest specialisation."""
        return self.ir("s")
