"""Loops: unrolled, or a tg.loop over what an iteration changes.

```
ts.loop, short or impossible else  -->  unrolled
ts.loop, else                      -->  tg.loop carrying what an iteration changes
```
"""

from __future__ import annotations

from xdsl.ir import Block

from tensorscript.base.errors import NotCompilable
from tensorscript.dialects.te.expr import Expr

from .builder import Builder
from .grown import ListGrows
from .loop_state import MOST_OPTIONS, LoopState
from .trials import Evaluate, Raised, adopt, attempt
from .values import Tensor, Value, is_scalar

UNROLL_OPS = 192
"""A loop is unrolled at once if trips x ops of its body stay below this."""
LONG = 1 << 20
"""The ops of a body that is not to be unrolled."""
UNROLL_LISTS = 2048
"""So many ops a loop may become, rather than have a list that it changes be a run-time list."""
UNROLL_TRIPS = 2048
"""A loop that cannot be a tg.loop is unrolled up to so many iterations."""
ENDLESS = (1 << 63) - 1
"""The trip count of a loop that only its condition ends."""


def loop(
    b: Builder, max_trip: Value, condition: Value, carried: list[Value], body: Evaluate, size: int
) -> list[Value]:
    """The values a ts.loop leaves behind. `body` takes (counter, carried...) and gives
    (condition, carried...); `size` is the number of its ops."""
    if condition is False or (isinstance(max_trip, int) and max_trip <= 0):
        return carried
    is_known = isinstance(max_trip, int) and condition is True
    if is_known and max_trip * size <= UNROLL_OPS:
        try:
            return _unrolled(b, max_trip, carried, body, UNROLL_TRIPS)
        except _Unknown:
            pass
    try:
        return _dynamic(b, max_trip, condition, carried, body)
    except (NotCompilable, ListGrows) as error:
        most = UNROLL_LISTS // size if isinstance(error, ListGrows) else UNROLL_TRIPS
        if not is_known or most < max_trip != ENDLESS:
            raise
        try:
            return _unrolled(b, max_trip, carried, body, most)
        except _Unknown:
            raise error from None


class _Unknown(Exception):
    """Unrolling met a condition that is not known, or too many trips."""


def _unrolled(
    b: Builder, max_trip: int, carried: list[Value], body: Evaluate, most: int
) -> list[Value]:
    """All iterations, one behind the other; at most `most`."""

    def run() -> list[Value]:
        values = carried
        for i in range(max_trip):
            if i >= most:
                raise _Unknown
            condition, *values = body([i, *values])
            if isinstance(condition, Expr) and i + 1 < max_trip:
                raise _Unknown
            if condition is False:
                break
        return values

    written = set(b.written)
    try:
        trial = attempt(b, Block(), run)
    except (_Unknown, NotCompilable):
        b.written = written
        raise
    if trial.raised is not None:
        adopt(b, trial)
        raise Raised(trial.raised)
    return adopt(b, trial)


def _may_vary(value: Value) -> bool:
    """Carried from the start if the body replaces it: numbers change in nearly every loop."""
    return is_scalar(value)


def _dynamic(
    b: Builder, max_trip: Value, condition: Value, carried: list[Value], body: Evaluate
) -> list[Value]:
    """A tg.loop over what an iteration changes."""
    varying = {k for k, v in enumerate(carried) if _may_vary(v)}
    state = LoopState(b, list(carried), varying, {}, b.heap)
    ranks = sum(v.rank for v in carried if isinstance(v, Tensor))
    for _ in range(len(carried) + len(b.heap) + ranks + MOST_OPTIONS + 2):
        if (done := state.iterate(max_trip, condition, body)) is not None:
            return done
    return b.cannot("what the loop carries does not settle")
