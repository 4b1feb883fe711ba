"""The primitives of schedules, and what applies them.

A schedule is data (`dialects/te/schedule.py`): a tuple of steps, each a primitive with a target and
arguments. A primitive is a `check` (is it legal? else why not) and an `apply`; its module documents
`before --> after` and when it is legal. Users, heuristics and the tuner all make steps, and
`Scheduler` applies them. A user's steps are checked; those of the heuristics are legal by
construction, which `verify` (and a test) checks.

New loops are named after the old: split and tile make `i_o`, `i_i` (split's tail loop is `i_t`),
fuse `i_f`, distribute `i_d`, slice_head `i_h`, slice_tail `i_t`, rfactor `i_z` (initialisation) and
`i_r` (final step). New buffers: rfactor `y_rf`, cache `y_c` (its copies run over `y_c_r`, `y_c_w`),
compute_at and ahead `t_a` (filled over `t_a_i`), hoist `i_h`. A name that is taken gets `_2`, ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.ops import FuncOp, functions
from tensorscript.dialects.te.schedule import Argument, Schedule, ScheduleError, Step, record

from .schedules import tensorize
from .te import (
    accumulate,
    ahead,
    allot,
    buffers,
    cache,
    collapse,
    compute_at,
    distribute,
    expand,
    fold,
    forward,
    full_unroll,
    fuse,
    fuse_loops,
    hoist,
    inline,
    interleave,
    invariant,
    kinds,
    moments,
    narrow,
    permute,
    prefetch,
    reorder,
    rfactor,
    scan,
    search,
    share,
    slices,
    split,
    squares,
    stream,
    stretch,
    tally,
    temporaries,
    tile,
    track,
    unfuse,
    vectorize_outer,
    whole,
)
from .te.nest import Nest

_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "str": str,
    "bool": bool,
    "int | None": (int, type(None)),
}
"""What an annotated argument of a primitive may be."""


@dataclass(frozen=True)
class Primitive:
    """`check` says why a step is illegal (None: legal); `apply` rewrites, given a legal step.

    Both take the nest, the target, and the arguments, whose names and types are those of `check`.
    `kind` is what the target names: "loop", "buffer" or "function".
    """

    check: Callable[..., str | None]
    apply: Callable[..., None]
    kind: str = "loop"

    @cached_property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """The arguments of a step, after nest and target."""
        return tuple(inspect.signature(self.check).parameters.values())[2:]

    @property
    def usage(self) -> str:
        """The arguments as a reader would write them: `factor, tail="exact"`."""
        return ", ".join(
            str(p.replace(annotation=p.empty)).replace("'", '"') for p in self.parameters
        )

    def misused(self, args: tuple[Argument, ...]) -> str | None:
        """Why `args` are not arguments of this primitive."""
        needed = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL
                     for p in self.parameters)  # fmt: skip
        several = any(p.kind is p.VAR_POSITIONAL for p in self.parameters)
        if len(args) < needed or (len(args) > len(self.parameters) and not several):
            return f"it takes ({self.usage}), got {len(args)} arguments"
        for number, value in enumerate(args):
            p = self.parameters[min(number, len(self.parameters) - 1)]
            wanted = _TYPES[p.annotation]
            is_bool = isinstance(value, bool) and wanted is not bool
            if is_bool or not isinstance(value, wanted):
                return f"{p.name} is of type {p.annotation}, got {value!r}"
        return None


PRIMITIVES: dict[str, Primitive] = {
    "split": Primitive(split.check, split.apply),
    "reorder": Primitive(reorder.check, reorder.apply),
    "fuse": Primitive(fuse.check, fuse.apply),
    "unfuse": Primitive(unfuse.check, unfuse.apply),
    "collapse": Primitive(collapse.check, collapse.apply),
    "vectorize": Primitive(kinds.check_vectorize, kinds.apply_vectorize),
    "vectorize_outer": Primitive(vectorize_outer.check, vectorize_outer.apply),
    "allot": Primitive(allot.check, allot.apply),
    "accumulate": Primitive(accumulate.check, accumulate.apply),
    "scan": Primitive(scan.check, scan.apply),
    "search": Primitive(search.check, search.apply),
    "tally": Primitive(tally.check, tally.apply),
    "stretch": Primitive(stretch.check, stretch.apply),
    "fold": Primitive(fold.check, fold.apply),
    "moments": Primitive(moments.check, moments.apply),
    "track": Primitive(track.check, track.apply),
    "narrow": Primitive(narrow.check, narrow.apply),
    "squares": Primitive(squares.check, squares.apply),
    "interleave": Primitive(interleave.check, interleave.apply),
    "invariant": Primitive(invariant.check, invariant.apply),
    "unroll": Primitive(kinds.check_unroll, kinds.apply_unroll),
    "full_unroll": Primitive(full_unroll.check, full_unroll.apply),
    "parallel": Primitive(kinds.check_parallel, kinds.apply_parallel),
    "bind": Primitive(kinds.check_bind, kinds.apply_bind),
    "serial": Primitive(kinds.check_serial, kinds.apply_serial),
    "rfactor": Primitive(rfactor.check, rfactor.apply),
    "distribute": Primitive(distribute.check, distribute.apply),
    "tile": Primitive(tile.check, tile.apply),
    "slice_head": Primitive(slices.check, slices.apply_head),
    "slice_tail": Primitive(slices.check, slices.apply_tail),
    "normalize": Primitive(slices.check_normalize, slices.apply_normalize),
    "fuse_loops": Primitive(fuse_loops.check, fuse_loops.apply),
    "forward": Primitive(forward.check, forward.apply),
    "hoist": Primitive(hoist.check, hoist.apply),
    "ahead": Primitive(ahead.check, ahead.apply),
    "prefetch": Primitive(prefetch.check, prefetch.apply),
    "name_temporaries": Primitive(temporaries.check, temporaries.apply),
    "share": Primitive(share.check, share.apply),
    "tensorize": Primitive(tensorize.check, tensorize.apply),
    "cache": Primitive(cache.check, cache.apply, "buffer"),
    "compute_at": Primitive(compute_at.check, compute_at.apply, "buffer"),
    "inline": Primitive(inline.check, inline.apply, "buffer"),
    "stream": Primitive(stream.check, stream.apply, "buffer"),
    "set_scope": Primitive(buffers.check_scope, buffers.apply_scope, "buffer"),
    "expand": Primitive(expand.check, expand.apply, "buffer"),
    "permute": Primitive(permute.check, permute.apply, "buffer"),
    "compress_buffer": Primitive(buffers.check_compress, buffers.apply_compress, "buffer"),
    "simplify": Primitive(whole.check, whole.apply_simplify, "function"),
    "eliminate_dead_stores": Primitive(whole.check, whole.apply_dead_stores, "function"),
}


def _malformed(nest: Nest, item: Step) -> str | None:
    known = PRIMITIVES.get(item.primitive)
    if known is None:
        return f"there is no such primitive; there are {', '.join(PRIMITIVES)}"
    if reason := known.misused(item.args):
        return reason
    present: dict[str, Collection[str]] = {
        "loop": nest.loops, "buffer": nest.buffers, "function": (nest.func.sym_name.data,),
    }  # fmt: skip
    if item.target not in present[known.kind]:
        names = ", ".join(present[known.kind]) or "none"
        return f"there is no {known.kind} {item.target} (there are: {names})"
    return None


def check_step(nest: Nest, item: Step) -> str | None:
    """Why `item` is illegal now, or None."""
    return _malformed(nest, item) or PRIMITIVES[item.primitive].check(nest, item.target, *item.args)


class Scheduler:
    """Applies steps to one function and keeps the record of them.

    Args:
        func: rewritten in place.
        checked: ask every step's check first; without it the caller answers for legality.
    """

    def __init__(self, func: FuncOp, checked: bool = True) -> None:
        self.nest = Nest(func)
        self.steps: list[Step] = []
        self._checked = checked

    @property
    def func(self) -> FuncOp:
        return self.nest.func

    @property
    def schedule(self) -> Schedule:
        """What was applied so far."""
        return tuple(self.steps)

    def apply(self, item: Step) -> tuple[str, ...]:
        """Apply one step; the loops that it made, in program order.

        Raises:
            ScheduleError: the step is illegal or malformed; nothing was changed.
        """
        nest = self.nest
        if self._checked and (reason := check_step(nest, item)) is not None:
            raise ScheduleError(f"cannot {item} in {nest.func.sym_name.data}: {reason}")
        before = set(nest.loops)
        PRIMITIVES[item.primitive].apply(nest, item.target, *item.args)
        nest.changed()
        self.steps.append(item)
        return tuple(name for name in nest.loops if name not in before)

    def why_not(self, item: Step) -> str | None:
        """Why a step is illegal now, or None."""
        return check_step(self.nest, item)

    def do(self, primitive: str, target: str, *args: Argument) -> tuple[str, ...]:
        """`apply` a step given by its parts."""
        return self.apply(Step(primitive, target, args))


def apply(func: FuncOp, schedule: Schedule) -> FuncOp:
    """Apply the steps to `func` in place, in order, note them on it, and give it back.

    Raises:
        ScheduleError: a step is illegal; the steps before it stay applied.
    """
    scheduler = Scheduler(func)
    for item in schedule:
        scheduler.apply(item)
    record(func, scheduler.schedule)
    return func


def apply_schedules(module: ModuleOp, schedules: Mapping[str, Schedule]) -> None:
    """Apply steps to the logical kernels that they are for, in place.

    Raises:
        ScheduleError: an illegal step, or there is no such kernel.
    """
    kernels = {f.sym_name.data: f for f in functions(module) if f.role.data == "kernel"}
    for name, steps in schedules.items():
        if (func := kernels.get(name)) is None:
            known = ", ".join(kernels) or "none"
            raise ScheduleError(f"there is no kernel {name} to schedule (there are: {known})")
        if func.level.data != "logical":
            raise ScheduleError(f"kernel {name} is {func.level.data} already")
        apply(func, steps)
        func.properties["level"] = StringAttr("scheduled")
