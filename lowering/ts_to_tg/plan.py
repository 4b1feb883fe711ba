"""How a call's arguments and results meet those of a specialised function."""

from __future__ import annotations

from tensorscript.base.records import dataclass

from .specs import ArgumentSpec, OutputTree


@dataclass(frozen=True)
class Saying:
    """One `print` or warning of a program.

    Attributes:
        parts: trees of what is shown. A "slot" is number `leaf` of what the running program knows.
        rows: of an element that holds the slots, in the order in which they were recorded; None if
            all is known.
        warning: for a warning which one it is (it may stand in several places of the code, and is
            shown once a run); None for a print.
        place: file and line of a warning, if known.
    """

    parts: tuple[OutputTree, ...]
    rows: OutputTree | None = None
    warning: int | None = None
    place: tuple[str, int] | None = None


@dataclass(frozen=True)
class Said:
    """What a program says while it runs, which its caller shows after the call.

    Attributes:
        order: leaf number of the list of what was said, as numbers of `sayings`.
        sayings: all that may be.
    """

    order: int
    sayings: tuple[Saying, ...]


@dataclass(frozen=True)
class CallPlan:
    """What a caller does around a call of specialised code.

    Attributes:
        inputs: per argument of the tg function (sizes excluded) its path: "x", "xs.0", ...
        output: the tree over the function's results.
        mutated_inputs: (path of the argument, leaf number of its new value).
        state_inputs: paths of attributes of `self` that became trailing arguments because the
            program changes them; all other state is constants.
        state_specs: of these, in order.
        state_known: their ints and bools are constants, which the caller guards.
        state_updates: (path, leaf number) of new elements of tensors that were written in place.
        state_assigned: (path, tree) of new values of attributes.
        state_aliases: paths of tensors that are views of those, as they share their memory.
        aliases: (leaf number, path): a result that is the argument itself.
        sizes: names of the dynamic sizes.
        above_one: those that may not be 1, for the program would be another one.
        random: leaf number of the random generator's state, which is the last argument, too; None
            if the program draws no numbers.
        said: prints and warnings; None if there are none.
    """

    inputs: tuple[str, ...]
    output: OutputTree
    mutated_inputs: tuple[tuple[str, int], ...] = ()
    state_inputs: tuple[str, ...] = ()
    state_specs: tuple[ArgumentSpec, ...] = ()
    state_known: bool = False
    state_updates: tuple[tuple[str, int], ...] = ()
    state_assigned: tuple[tuple[str, OutputTree], ...] = ()
    state_aliases: tuple[str, ...] = ()
    aliases: tuple[tuple[int, str], ...] = ()
    sizes: tuple[str, ...] = ()
    above_one: tuple[str, ...] = ()
    random: int | None = None
    said: Said | None = None

    @property
    def scalar_leaves(self) -> frozenset[int]:
        """Numbers of the results that are Python numbers."""
        trees = (self.output, *(tree for _, tree in self.state_assigned))
        return frozenset[int]().union(*(tree.scalar_leaves for tree in trees))

    @property
    def minds_sharing(self) -> bool:
        """Which tensors of self share memory is part of what the code is made for."""
        trees = (tree for _, tree in self.state_assigned)
        writes = self.state_updates or (self.mutated_inputs and self.state_inputs)
        return bool(writes) or any(tree.has_copies for tree in trees)

    @property
    def is_stateless(self) -> bool:
        """A call needs nothing but its arguments."""
        return not self.state_inputs and self.random is None

    @property
    def has_effects(self) -> bool:
        """A call does more than compute new values from its arguments."""
        return bool(
            self.mutated_inputs
            or self.random is not None
            or self.said is not None
            or self.state_inputs
            or self.state_updates
            or self.state_assigned
            or self.aliases
        )
