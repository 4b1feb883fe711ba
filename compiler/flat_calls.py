"""Calls that a builtin answers: plain arguments in, and results that are put together at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorscript.backends.cpu.signature import Calling
from tensorscript.backends.cpu.thunk_reader import constant_slot, default_slot
from tensorscript.base.records import dataclass
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specs import (
    ArgumentSpec,
    ConstantSpec,
    ListSpec,
    NumberSpec,
    ScalarSpec,
    TensorSpec,
)

from .assembled import is_assembled, is_plain
from .program import Program


@dataclass(frozen=True)
class FlatCall:
    """How a builtin takes a program's arguments.

    Attributes:
        calling: what the code knows of it.
        constants: the objects that parameters must be, by their numbers.
        defaults: what stands for the last parameters.
    """

    calling: Calling
    constants: dict[int, object]
    defaults: dict[int, object]

    @property
    def objects(self) -> dict[str, object]:
        """By their entries in the builtin's table."""
        constants = {constant_slot(at): value for at, value in self.constants.items()}
        return constants | {default_slot(at): value for at, value in self.defaults.items()}

    def arguments(self, leaves: Sequence[Any]) -> Iterator[Any]:
        """All arguments, of those that are inputs of the code."""
        given = iter(leaves)
        for at in range(len(leaves) + len(self.constants)):
            yield self.constants[at] if at in self.constants else next(given)


def flat_call(
    program: Program, specs: Sequence[ArgumentSpec], plan: CallPlan, gradients: bool
) -> FlatCall | None:
    """How a builtin takes arguments of these specs; None if native code alone cannot answer.

    Args:
        gradients: what `is_grad_enabled()` says to the program.
    """
    constants = {
        at: spec.value
        for at, spec in enumerate(specs)
        if isinstance(spec, ConstantSpec | NumberSpec) and is_plain(spec.value)
    }
    if plan.has_effects or not plan.inputs or len(plan.inputs) + len(constants) != len(specs):
        return None
    if not all(at in constants or _is_taken(spec) for at, spec in enumerate(specs)):
        return None
    # Nor does it see which of them are one object.
    if program.asks_objects and sum(isinstance(spec, TensorSpec) for spec in specs) > 1:
        return None
    # Without an array nothing tells the builtin in which kind tensors are wanted.
    told = any(isinstance(spec, TensorSpec) for spec in specs) or not plan.output.has_tensors
    if not told or not is_assembled(plan.output):
        return None
    defaults = _defaults(program)
    asked = gradients if program.asks_gradients else None
    calling = Calling(tuple(constants), len(defaults), asked, plan.above_one)
    return FlatCall(calling, constants, defaults)


def _is_taken(spec: ArgumentSpec) -> bool:
    return isinstance(spec, TensorSpec | ScalarSpec) or (
        isinstance(spec, ListSpec) and spec.depth == 1
    )


def _defaults(program: Program) -> dict[int, object]:
    """Plain defaults of the last parameters."""
    found: dict[int, object] = {}
    names, defaults = program.names, program.defaults
    for at in reversed(range(len(names))):
        if names[at] not in defaults or not is_plain(defaults[names[at]]):
            break
        found[at] = defaults[names[at]]
    return found
