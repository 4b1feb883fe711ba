"""What a program under specialisation may say; see `said.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.records import dataclass

from .specs import OutputTree
from .values import Grown


@dataclass(frozen=True)
class Recorded:
    """A print or a warning as it was evaluated, the fields those of `plan.Saying`.

    Attributes:
        push: notes that it was passed.
        slots: the run-time list of what is not known of it.
    """

    push: Operation
    parts: tuple[OutputTree, ...]
    slots: Grown | None
    warning: int | None = None
    place: tuple[str, int] | None = None

    def is_under(self, entry: Block) -> bool:
        """It stands in the program: not in a branch or a loop that was evaluated in vain."""
        block = self.push.parent
        while block is not None and block is not entry:
            block = block.parent_block()
        return block is entry


@dataclass
class Record:
    """All prints and warnings so far, in the order of their numbers.

    Attributes:
        order: the tg.list of the numbers of what was passed.
        warnings: places of the warnings, by which one it is.
        alone: nothing is recorded, but written at once.
        warned: of such warnings, by which one it is: a tg.list that is no longer empty once it has
            been shown.
    """

    order: SSAValue | None = None
    recorded: list[Recorded] = field(default_factory=list)
    warnings: list[object] = field(default_factory=list)
    alone: bool = False
    warned: dict[int, SSAValue] = field(default_factory=dict)

    def number_of(self, place: object) -> int:
        """Which warning it is that stands at a place."""
        if place not in self.warnings:
            self.warnings.append(place)
        return self.warnings.index(place)

    def kept(self, entry: Block) -> Iterator[tuple[int, Recorded]]:
        """What stands in the program, by number."""
        return ((n, r) for n, r in enumerate(self.recorded) if r.is_under(entry))
