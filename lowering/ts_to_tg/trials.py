"""Evaluations that are not yet part of the program: a branch, or an iteration of a loop.

A trial evaluates into a block of its own on a copy of the heap; it is adopted, joined with another
one, or left. Errors leave trials at any place, so all that were left are dropped at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Block

from tensorscript.base.records import dataclass
from tensorscript.dialects.walks import walk_ops

from .builder import Builder
from .heap import Heap
from .scopes import Scope
from .values import Value

Evaluate = Callable[[Sequence[Value]], list[Value]]
"""Evaluates a block of ts with these block arguments and gives what it yields."""


class Raised(Exception):
    """The program raises here, certainly (relative to the branch being evaluated)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass
class Trial:
    """Ops, heap and results of an evaluation that is not yet part of the program."""

    block: Block
    scope: Scope
    heap: Heap
    results: list[Value]
    raised: str | None = None


def drop_untaken(tried: Iterable[Block]) -> None:
    """Forget what the ops of blocks read that did not become part of the program."""
    for block in tried:
        if block.parent is None:
            for op in list(walk_ops(block)):
                op.drop_all_references()


def attempt(b: Builder, block: Block, evaluate: Callable[[], list[Value]]) -> Trial:
    """Evaluate into `block` on a copy of the heap; leaves the builder as it was."""
    b.tried.append(block)
    outer, heap, gradients = b.block, b.heap, b.gradients
    b.block, b.heap = block, heap.branched()
    b.scopes.push({})
    results: list[Value] = []
    raised: str | None = None
    try:
        results = evaluate()
    except Raised as error:
        raised = error.message
    finally:
        trial = Trial(block, b.scopes.pop(), b.heap, results, raised)
        b.block, b.heap, b.gradients = outer, heap, gradients
    return trial


def adopt(b: Builder, trial: Trial) -> list[Value]:
    """Make a trial part of the current block."""
    for op in list(trial.block.ops):
        op.detach()
        b.block.add_op(op)
    b.heap = b.heap.followed_by(trial.heap)
    b.scopes.adopt(trial.scope)
    return trial.results


def within(b: Builder, trial: Trial, run: Callable[[], list[Value]]) -> list[Value]:
    """Emit more ops at the end of a trial."""
    outer, heap = b.block, b.heap
    b.block, b.heap = trial.block, trial.heap
    b.scopes.push(trial.scope)
    try:
        return run()
    finally:
        b.scopes.pop()
        b.block, b.heap = outer, heap
