"""Calls that are made when somebody waits for them: evaluated where the first who waits stands.

Whether somebody waited is a cell of the heap, so branches and loops tell it as they tell what any
list holds. Where only the running program knows it, who waits again is not compiled.
"""

from __future__ import annotations

from .evaluator import Evaluator
from .values import PERHAPS, AwaitCell, AwaitValue, Value


def waiting(ev: Evaluator, callee: str, arguments: tuple[Value, ...]) -> AwaitValue:
    """A call that nobody has waited for."""
    cell = AwaitCell()
    ev.b.heap[cell] = ()
    return AwaitValue(cell, callee, arguments)


def there(ev: Evaluator, result: Value) -> AwaitValue:
    """What looks like a call, and is its result."""
    cell = AwaitCell()
    ev.b.heap[cell] = (result,)
    return AwaitValue(cell)


def awaited(ev: Evaluator, value: AwaitValue) -> Value:
    """The result of a call, which is made now if nobody has waited for it.

    Raises:
        NotCompilable: somebody may have, in a branch or in an earlier turn of a loop.
    """
    content = ev.b.heap[value.cell]
    if content is PERHAPS:
        ev.b.cannot("a call that may have been made in a branch")
    if not content:
        made = ev.call(value.callee, value.arguments)
        ev.b.heap[value.cell] = content = (made,)
    return content[0]
