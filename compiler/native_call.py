"""One call of native code: arguments and state handed in, what it wrote and changed put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.errors import GuardError, UserError
from tensorscript.base.records import dataclass
from tensorscript.eager.random import DEFAULT_GENERATOR
from tensorscript.eager.tensor import Tensor
from tensorscript.eager.tracking import written
from tensorscript.lowering.ts_to_tg.plan import CallPlan

from .arguments import Bound, rebuild, tensor_of, wrapper
from .eager_values import overlap
from .jit.boundary import to_python
from .program import Program
from .said import say
from .sharing import shares_with_arguments
from .specialisations import Specialisation
from .state import bind_state, store_state


@dataclass(eq=False, slots=True)
class NativeCall:
    """A specialisation of a program, and arguments that fit it.

    Attributes:
        gpu: the number of the GPU that it runs on; None for the CPU.
    """

    program: Program
    found: Specialisation
    bound: Bound
    gpu: int | None

    def run(self, explained: Callable[[UserError], UserError]) -> Any:
        """The program's results, as the caller wants them.

        Args:
            explained: the error of native code with all that can be told of it.

        Raises:
            GuardError: the program writes to an array that is read-only.
            UserError: as native code does.
        """
        found, bound, own = self.found, self.bound, self.found.plan
        for path, _ in own.mutated_inputs:
            if path in bound.paths and not bound.paths[path].flags.writeable:
                raise GuardError(f"argument {path!r} is written, and its array is read-only")
        state = bound.state or bind_state(self.program.receiver, own, self.gpu)
        drawn = [] if own.random is None else [DEFAULT_GENERATOR.native_state()]
        try:
            given = bound.leaves if found.flat is None else found.flat.arguments(bound.leaves)
            leaves = found.loaded.call(*given, *state.leaves, *drawn)
        except UserError as error:
            if found.fast_class is not None:  # it has been explained
                raise
            raise explained(error) from None
        results = leaves if isinstance(leaves, tuple) else (leaves,)
        dtypes = [spec.dtype for spec in found.code.signature.outputs]
        enum = self.program.interpreter.enum
        if own.said is not None:
            say(own.said, results, lambda leaf, part: Tensor(part, dtypes[leaf]), enum)
        if own.random is not None:
            DEFAULT_GENERATOR.set_native_state(results[own.random])
        if own.mutated_inputs:
            for path, leaf in own.mutated_inputs:
                bound.paths[path][...] = results[leaf]
                if isinstance(target := bound.given.get(path), Tensor):
                    written(target)
        same = dict(own.aliases)
        if own.state_inputs:
            self._store_state(state, results)
        wrap = wrapper(bound.kind)

        def tensor(leaf: int, part: np.ndarray | None) -> Any:
            if (path := same.get(leaf)) in bound.given:
                return bound.given[path]
            return wrap(results[leaf] if part is None else part, dtypes[leaf])

        result = rebuild(own.output, results, tensor, enum)
        return to_python(result, self.program.classes) if own.output.needs_classes else result

    def _store_state(self, state: Bound, results: Sequence[Any]) -> None:
        """Write what the call changed of the object."""
        found, bound, receiver = self.found, self.bound, self.program.receiver
        own = found.plan
        same = dict(own.aliases)
        dtypes = [spec.dtype for spec in found.code.signature.outputs]

        def tensor(leaf: int, part: np.ndarray | None) -> Tensor:
            if (path := same.get(leaf)) in bound.given:
                return tensor_of(bound.given[path])
            if path in state.given:
                return tensor_of(state.given[path])
            return Tensor(results[leaf] if part is None else part, dtypes[leaf])

        store_state(receiver, own, results, tensor, self.program.interpreter.enum)


def mixes(plan: CallPlan, bound: Bound) -> bool:
    """Whether a program writes to memory that several of its arguments, or one of them and its
    object, may share: only the interpreter sees what else that changes."""
    if plan.mutated_inputs and (overlap(bound.leaves) or bound.has_signs):
        return True
    writes = plan.mutated_inputs or plan.state_updates
    return bool(writes) and bound.state is not None and shares_with_arguments(bound, bound.state)
