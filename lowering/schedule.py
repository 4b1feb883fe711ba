"""Schedules as data: what to do to which loop, and the table of primitives that do it.

A schedule is a tuple of steps. A step names a primitive, its target (a loop by its variable, or a
buffer) and arguments; it is hashable, prints as pseudo-code and survives JSON:

```
split("i", 8, "guard")
vectorize("i_i")
parallel("i_o", 4)
```

New loops are named after the old: split and tile make `i_o`, `i_i` (split's tail loop is `i_t`),
fuse `i_f`, distribute `i_d`, slice_head `i_h`, slice_tail `i_t`, rfactor `i_z` (initialisation) and
`i_r` (final step). New buffers: rfactor `y_rf`, cache `y_c` (its copies run over `y_c_r`, `y_c_w`),
compute_at `t_a` (filled over `t_a_i`). A name that is taken gets `_2`, `_3`, ... Each primitive's
module documents `before --> after` and when it is legal.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorscript.base.errors import UserError
from tensorscript.dialects.te.ops import FuncOp

from .te import (
    buffers,
    cache,
    compute_at,
    distribute,
    expand,
    fuse,
    fuse_loops,
    inline,
    kinds,
    permute,
    reorder,
    rfactor,
    slices,
    split,
    tile,
)
from .te.nest import Nest

Argument = int | float | str | bool | None


class ScheduleError(UserError, RuntimeError):
    """A step that is illegal for the function, or malformed; the message says why."""


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a primitive. `target`: a loop variable or a buffer name."""

    primitive: str
    target: str
    args: tuple[Argument, ...] = ()

    def __str__(self) -> str:
        return f"{self.primitive}({', '.join(json.dumps(a) for a in (self.target, *self.args))})"


Schedule = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Primitive:
    """`check` says why a step is illegal (None: legal); `apply` rewrites, given a legal step.

    `kind` is what the target names: "loop" or "buffer". `arity` bounds the number of arguments.
    """

    check: Callable[..., str | None]
    apply: Callable[..., None]
    arity: tuple[int, int]
    kind: str = "loop"


_MANY = 64
PRIMITIVES: dict[str, Primitive] = {
    "split": Primitive(split.check, split.apply, (1, 2)),
    "reorder": Primitive(reorder.check, reorder.apply, (1, _MANY)),
    "fuse": Primitive(fuse.check, fuse.apply, (1, 1)),
    "vectorize": Primitive(kinds.check_vectorize, kinds.apply_vectorize, (0, 0)),
    "unroll": Primitive(kinds.check_unroll, kinds.apply_unroll, (0, 0)),
    "parallel": Primitive(kinds.check_parallel, kinds.apply_parallel, (0, 1)),
    "bind": Primitive(kinds.check_bind, kinds.apply_bind, (1, 1)),
    "serial": Primitive(kinds.check_serial, kinds.apply_serial, (0, 0)),
    "rfactor": Primitive(rfactor.check, rfactor.apply, (0, _MANY)),
    "distribute": Primitive(distribute.check, distribute.apply, (0, _MANY)),
    "tile": Primitive(tile.check, tile.apply, (3, 4)),
    "slice_head": Primitive(slices.check, slices.apply_head, (1, 1)),
    "slice_tail": Primitive(slices.check, slices.apply_tail, (1, 1)),
    "normalize": Primitive(slices.check_normalize, slices.apply_normalize, (0, 0)),
    "cache": Primitive(cache.check, cache.apply, (1, 2), "buffer"),
    "compute_at": Primitive(compute_at.check, compute_at.apply, (1, 2), "buffer"),
    "inline": Primitive(inline.check, inline.apply, (0, 0), "buffer"),
    "set_scope": Primitive(buffers.check_scope, buffers.apply_scope, (1, 1), "buffer"),
    "expand": Primitive(expand.check, expand.apply, (1, 1), "buffer"),
    "permute": Primitive(permute.check, permute.apply, (0, _MANY), "buffer"),
    "compress_buffer": Primitive(buffers.check_compress, buffers.apply_compress, (0, 0), "buffer"),
    "fuse_loops": Primitive(fuse_loops.check, fuse_loops.apply, (1, 1)),
}


def step(primitive: str, target: str, *args: Argument) -> Step:
    """`Step(primitive, target, args)`."""
    return Step(primitive, target, args)


def _malformed(nest: Nest, item: Step) -> str | None:
    known = PRIMITIVES.get(item.primitive)
    if known is None:
        return "unknown primitive"
    low, high = known.arity
    if not low <= len(item.args) <= high:
        return f"takes {low} to {high} arguments, got {len(item.args)}"
    present: dict[str, Any] = nest.loops if known.kind == "loop" else nest.buffers
    if item.target not in present:
        return f"there is no {known.kind} {item.target}"
    return None


def check_step(nest: Nest, item: Step) -> str | None:
    """Why `item` is illegal now, or None."""
    return _malformed(nest, item) or PRIMITIVES[item.primitive].check(nest, item.target, *item.args)


def apply_step(nest: Nest, item: Step) -> None:
    """Apply one step in place.

    Raises:
        ScheduleError: the step is illegal or malformed; nothing was changed.
    """
    if (reason := check_step(nest, item)) is not None:
        raise ScheduleError(f"cannot {item}: {reason}")
    PRIMITIVES[item.primitive].apply(nest, item.target, *item.args)
    nest.changed()


def apply(func: FuncOp, schedule: Schedule) -> FuncOp:
    """Apply the steps to `func` in place, in order, and give it back.

    Raises:
        ScheduleError: a step is illegal; the steps before it stay applied.
    """
    nest = Nest(func)
    for item in schedule:
        apply_step(nest, item)
    return func


def pseudo_code(schedule: Schedule) -> str:
    """One step a line."""
    return "".join(f"{item}\n" for item in schedule)


def to_json(schedule: Schedule) -> str:
    return json.dumps([[s.primitive, s.target, list(s.args)] for s in schedule])


def from_json(source: str) -> Schedule:
    """Inverse of `to_json`.

    Raises:
        ScheduleError: the text is not a schedule.
    """
    try:
        items = json.loads(source)
        steps = tuple(Step(str(p), str(t), tuple(args)) for p, t, args in items)
        hash(steps)  # a list or an object among the arguments is a TypeError
        return steps
    except (ValueError, TypeError) as error:
        raise ScheduleError(f"not a schedule: {source[:80]}") from error
