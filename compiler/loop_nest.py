"""The loops of one kernel, to look at and to transform, in the names of PyTorch's NNC.

Each method makes one or a few steps (`dialects/te/schedule.py`), checks and applies them, and gives
back the new loops. A loop is known by its name, which is unique in its kernel and survives saving;
`Loop.path` spells the loops around it, too. What NNC does without asking is checked here.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.printer import Printer

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.ops import ForOp, FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import walk
from tensorscript.dialects.te.schedule import Argument, Schedule, ScheduleError, Step
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.schedule import Scheduler
from tensorscript.lowering.schedules.pieces import cut_at, turning_points
from tensorscript.lowering.te.affine import expressions, known


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel, by name; it stays valid until a step removes the loop.

    Attributes:
        name: of its variable.
        path: the kernel and the loops around it, `k0/i0/i1`.
        start, extent: as text; the loop runs from start over so many iterations.
        kind: serial, parallel, vector, unroll, or a GPU dimension.
        reduces: the order of its iterations does not matter to the updates inside.
    """

    name: str
    path: str
    start: str
    extent: str
    kind: str
    reduces: bool

    def __str__(self) -> str:
        mark = " reduce" if self.reduces else ""
        return f"for {self.name} in {self.start} .. {self.extent} {self.kind}{mark}"


LoopLike = Loop | str
"""A loop, its name, or its path."""


class LoopNest:
    """One kernel's loops.

    Args:
        func: the kernel, at level logical; it is transformed in place.
    """

    def __init__(self, func: FuncOp) -> None:
        func.properties["level"] = StringAttr("scheduled")
        self._scheduler = Scheduler(func)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._scheduler.func.sym_name.data

    @property
    def schedule(self) -> Schedule:
        """The steps so far."""
        return self._scheduler.schedule

    def __str__(self) -> str:
        out = io.StringIO()
        Printer(out).print_op(self._scheduler.func)
        return out.getvalue() + "\n"

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All loops, in program order."""
        return tuple(map(self._loop, self._scheduler.nest.loops))

    @property
    def buffers(self) -> tuple[str, ...]:
        """Parameters and local buffers."""
        return tuple(self._scheduler.nest.buffers)

    def loop(self, at: LoopLike) -> Loop:
        """The loop of a name or path (`i1`, `i0/i1`, `k0/i0/i1`), as it is now.

        Raises:
            ScheduleError: there is no such loop; the message lists those that are.
        """
        return self._loop(self._name(at))

    def get_loops_for(self, buffer: str) -> tuple[Loop, ...]:
        """The loops around the last statement that writes a buffer, outermost first.

        Raises:
            ScheduleError: nothing writes it.
        """
        nest = self._scheduler.nest
        writes = [op for op in walk_ops(nest.func)
                  if isinstance(op, StoreOp | UpdateOp) and op.buffer == buffer]  # fmt: skip
        if not writes:
            known = ", ".join(nest.buffers)
            raise ScheduleError(f"{self.name} does not write {buffer} (buffers are: {known})")
        return tuple(self._loop(loop.var) for loop in nest.enclosing(writes[-1]))

    def get_innermost_loops(self) -> tuple[Loop, ...]:
        """The loops that hold no loop."""
        nest = self._scheduler.nest
        return tuple(
            self._loop(name)
            for name, op in nest.loops.items()
            if not any(isinstance(inner, ForOp) for inner in walk_ops(op))
        )

    def _op(self, name: str) -> ForOp:
        return self._scheduler.nest.loops[name]

    def _loop(self, name: str) -> Loop:
        op = self._op(name)
        around = [outer.var for outer in self._scheduler.nest.enclosing(op)]
        path = "/".join((self.name, *around, name))
        return Loop(name, path, str(op.start), str(op.extent), op.kind.data, op.is_reduction)

    def _name(self, at: LoopLike) -> str:
        text = at.name if isinstance(at, Loop) else str(at)
        *around, name = text.split("/")
        if name not in self._scheduler.nest.loops:
            known = ", ".join(self._scheduler.nest.loops) or "none"
            raise ScheduleError(f"there is no loop {text} in {self.name} (there are: {known})")
        wanted, path = "/".join((*around, name)), self._loop(name).path
        if not f"/{path}".endswith(f"/{wanted}"):
            raise ScheduleError(f"there is no loop {text} in {self.name}; {name} is {path}")
        return name

    # -- steps in general ------------------------------------------------------------------------

    def apply(self, *steps: Step) -> tuple[Loop, ...]:
        """Apply steps; the loops that the last one made.

        Raises:
            ScheduleError: a step is illegal; it changed nothing, those before it stay applied.
        """
        made: tuple[str, ...] = ()
        for item in steps:
            made = self._scheduler.apply(item)
        return tuple(map(self._loop, made))

    def step(self, primitive: str, target: LoopLike, *args: Argument) -> tuple[Loop, ...]:
        """One primitive by name; all of them can be reached so."""
        name = target.name if isinstance(target, Loop) else target.rpartition("/")[2]
        return self.apply(Step(primitive, name, args))

    # -- splitting -------------------------------------------------------------------------------

    def split_with_tail(self, loop: LoopLike, factor: int) -> tuple[Loop, Loop, Loop | None]:
        """i becomes i_o * factor + i_i over whole blocks, and a loop over the rest (None if there
        is none)."""
        made = self.step("split", self._name(loop), factor, "loop")
        return made[0], made[1], made[-1] if len(made) > 2 else None

    def split_with_mask(self, loop: LoopLike, factor: int) -> tuple[Loop, Loop]:
        """i becomes i_o * factor + i_i, guarded where the factor does not divide the extent."""
        outer, inner = self.step("split", self._name(loop), factor, "guard")
        return outer, inner

    def slice_head(self, loop: LoopLike, count: int) -> tuple[Loop, Loop]:
        """The first iterations, and the rest, as two loops."""
        name = self._name(loop)
        head = self.step("slice_head", name, count)[0]
        return head, self._loop(name)

    def slice_tail(self, loop: LoopLike, count: int) -> tuple[Loop, Loop]:
        """All but the last iterations, and those, as two loops."""
        name = self._name(loop)
        tail = self.step("slice_tail", name, count)[0]
        return self._loop(name), tail

    def normalize(self, loop: LoopLike) -> Loop:
        """The loop starts at 0."""
        name = self._name(loop)
        self.step("normalize", name)
        return self._loop(name)

    # -- order -----------------------------------------------------------------------------------

    def reorder(self, loops: Sequence[LoopLike], permutation: Sequence[int]) -> tuple[Loop, ...]:
        """Loops of a perfect nest in another order: place k gets loop `permutation[k]`."""
        names = [self._name(loop) for loop in loops]
        if sorted(permutation) != list(range(len(names))):
            raise ScheduleError(f"{list(permutation)} is no permutation of {len(names)} loops")
        order = [names[k] for k in permutation]
        self.step("reorder", order[0], *order[1:])
        return tuple(map(self._loop, order))

    def reorder_axis(self, a: LoopLike, b: LoopLike) -> None:
        """Two loops of a perfect nest change places."""
        first, second = self._name(a), self._name(b)
        outer = [f.var for f in self._scheduler.nest.enclosing(self._op(second))]
        names = (second, first) if first in outer else (first, second)
        self.step("reorder", *names)

    def tile(self, x: LoopLike, y: LoopLike, x_factor: int, y_factor: int) -> tuple[Loop, ...]:
        """Split both of a perfect nest and bring the inner parts together: x_o, y_o, x_i, y_i."""
        return self.step("tile", self._name(x), self._name(y), x_factor, y_factor, "guard")

    def flatten(self, loops: Sequence[LoopLike]) -> Loop:
        """Loops of a perfect nest, outermost first, become one."""
        outer, *inner = [self._name(loop) for loop in loops]
        for name in inner:
            (made,) = self.step("fuse", outer, name)
            outer = made.name
        return self._loop(outer)

    def fuse_loops(self, loops: Sequence[LoopLike]) -> Loop:
        """Loops of equal bounds, one after the other, become one."""
        first, *others = [self._name(loop) for loop in loops]
        for name in others:
            self.step("fuse_loops", first, name)
        return self._loop(first)

    def distribute_loop(self, loop: LoopLike, cuts: Sequence[int] = ()) -> tuple[Loop, ...]:
        """A loop over several statements becomes several, cut at these positions of its body (none:
        after every statement)."""
        name = self._name(loop)
        made = self.step("distribute", name, *cuts)
        return (self._loop(name), *(m for m in made if m.path.count("/") == self._depth(name)))

    def distribute_loop_over_inner_loops(self, loop: LoopLike) -> tuple[Loop, ...]:
        """Cut behind every loop directly inside."""
        body = list(self._op(self._name(loop)).block.ops)
        cuts = [k + 1 for k, op in enumerate(body[:-1]) if isinstance(op, ForOp)]
        return self.distribute_loop(loop, cuts)

    def distribute_loop_and_parents(self, loop: LoopLike) -> tuple[Loop, ...]:
        """Each statement of a loop gets a nest of its own: the loops around it are cut, too; the
        outermost ones."""
        name = self._name(loop)
        around = [outer.var for outer in self._scheduler.nest.enclosing(self._op(name))]
        made = self.distribute_loop(name)
        for outer in reversed(around):
            made = self.distribute_loop(outer)
        return made

    def optimize_conditionals(self) -> bool:
        """Cut innermost loops where a choice by the loop's variable turns (as in concatenations),
        so that none is left to make; whether there was one."""
        cut = False
        for loop in self.get_innermost_loops():
            op = self._op(loop.name)
            size = known(op.extent)
            if size is None or loop.kind != "serial" or not op.start.is_int(0):
                continue
            chosen = (
                n.args[0]
                for at in op.block.ops
                for e in expressions(at)
                for n in walk(e)
                if n.op == "select"
            )
            if places := {c for e in chosen for c in turning_points(e, loop.name, size)}:
                cut_at(self._scheduler, loop.name, sorted(places))
                cut = True
        if cut:
            self.simplify()
        return cut

    def _depth(self, name: str) -> int:
        return self._loop(name).path.count("/")

    # -- how a loop runs -------------------------------------------------------------------------

    def vectorize(self, loop: LoopLike) -> None:
        """All iterations in lock step, as lanes of vectors; the extent is a constant."""
        self.step("vectorize", self._name(loop))

    def vectorize_inner_loops(self, lanes: int = 16) -> None:
        """Every innermost loop that may, in vectors of so many lanes with a masked rest."""
        for loop in self.get_innermost_loops():
            if loop.kind != "serial":
                continue
            for made in self.apply(Step("split", loop.name, (lanes, "rest"))):
                if self._op(made.name).extent.is_int(lanes):
                    self._vectorize_if_legal(made)

    def _vectorize_if_legal(self, loop: Loop) -> None:
        if self._scheduler.why_not(Step("vectorize", loop.name)) is None:
            self.vectorize(loop)

    def unroll(self, loop: LoopLike, factor: int) -> tuple[Loop, Loop | None]:
        """`factor` iterations at a time, written out; the loop over them and that over the rest."""
        outer, inner, tail = self.split_with_tail(loop, factor)
        self.full_unroll(inner)
        return self._loop(outer.name), tail

    def full_unroll(self, loop: LoopLike) -> None:
        """All iterations written out."""
        self.step("full_unroll", self._name(loop))

    def set_parallel(self, loop: LoopLike, grain: int | None = None) -> None:
        """Iterations by threads, `grain` of them at least to a thread."""
        self.step("parallel", self._name(loop), *([] if grain is None else [grain]))

    parallel = set_parallel

    def bind(self, loop: LoopLike, axis: str) -> None:
        """Iterations by GPU blocks (bx, by, bz) or threads (tx, ty, tz)."""
        self.step("bind", self._name(loop), axis)

    # -- reductions ------------------------------------------------------------------------------

    def rfactor(self, loop: LoopLike, *inner: LoopLike) -> str:
        """Partial results, one for each iteration of the loop (and of inner ones); their buffer."""
        known = set(self.buffers)
        self.step("rfactor", self._name(loop), *map(self._name, inner))
        return next(b for b in self.buffers if b not in known)

    def accumulate(self, loop: LoopLike, lanes: int) -> None:
        """An innermost reduction in vectors with an accumulator a lane."""
        self.step("accumulate", self._name(loop), lanes)

    # -- buffers ---------------------------------------------------------------------------------

    def compute_inline(self, buffer: str) -> None:
        """The buffer's value is computed where it is read."""
        self.apply(Step("inline", buffer))

    def compute_at(self, buffer: str, loop: LoopLike, scope: str = "stack") -> str:
        """Each iteration of the loop computes the part of the buffer that it reads; its buffer."""
        return self._local("compute_at", buffer, loop, scope)

    def cache_accesses(self, buffer: str, loop: LoopLike, scope: str = "stack") -> str:
        """Each iteration works on a copy of the part of the buffer that it touches; the copy."""
        return self._local("cache", buffer, loop, scope)

    def pack(self, buffer: str, loop: LoopLike, order: Sequence[int], scope: str = "stack") -> str:
        """`cache_accesses` with the copy's dimensions in another order; the copy."""
        made = self.cache_accesses(buffer, loop, scope)
        self.apply(Step("permute", made, tuple(order)))
        return made

    def _local(self, primitive: str, buffer: str, loop: LoopLike, scope: str) -> str:
        known = set(self.buffers)
        self.apply(Step(primitive, buffer, (self._name(loop), scope)))
        return next(b for b in self.buffers if b not in known)

    def compress_buffer(self, buffer: str) -> None:
        """Dimensions that only one iteration uses shrink to one."""
        self.apply(Step("compress_buffer", buffer))

    def compress_all_buffers(self) -> None:
        """`compress_buffer` of every local buffer that it may be done to."""
        for buffer in tuple(self._scheduler.nest.allocs):
            if self._scheduler.why_not(Step("compress_buffer", buffer)) is None:
                self.compress_buffer(buffer)

    def inline_intermediate_bufs(self) -> None:
        """Inline every local buffer that can be."""
        for buffer in tuple(self._scheduler.nest.allocs):
            if self._scheduler.why_not(Step("inline", buffer)) is None:
                self.compute_inline(buffer)

    # -- the whole kernel ------------------------------------------------------------------------

    def tensorize(self, loop: LoopLike, kernel: str, *parameters: int) -> None:
        """The kernel's nest becomes one that is written for its form: product, convolution or
        attention."""
        self.step("tensorize", self._name(loop), kernel, *parameters)

    def simplify(self) -> None:
        """Decide what ranges decide; single iterations are loops no longer."""
        self.apply(Step("simplify", self.name))

    def eliminate_dead_stores(self) -> None:
        """What nobody reads is not computed."""
        self.apply(Step("eliminate_dead_stores", self.name))

    def get_loop_at(self, root: LoopLike, indices: Sequence[int]) -> Loop:
        """The loop found from `root` by positions in the bodies on the way.

        Raises:
            ScheduleError: there is no loop there.
        """
        op = self._op(self._name(root))
        for index in indices:
            body = list(op.block.ops)
            found = body[index] if index < len(body) else None
            if not isinstance(found, ForOp):
                raise ScheduleError(f"there is no loop at {list(indices)} of {op.var}")
            op = found
        return self._loop(op.var)
