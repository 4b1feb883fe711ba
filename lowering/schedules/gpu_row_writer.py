"""What the threads of a row on a GPU do, stage after stage; `gpu_rows.py` shows what is written."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Block, Operation

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import Buffer, ExprsAttr
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, load, var
from tensorscript.dialects.te.ops import (
    AcrossOp,
    AllocOp,
    ForOp,
    IfOp,
    StoreOp,
    SyncOp,
    UpdateOp,
)
from tensorscript.dialects.te.rewriting import replace_loads, substitute
from tensorscript.dialects.te.warps import WARP
from tensorscript.dialects.tg.ops import identity

from ..te.affine import known
from ..te.rebuild import copy_all, copy_statement, substituting
from .contraction_shape import Axis
from .gpu_row_threads import RowThreads
from .gpu_row_vectors import vector_width


def ceil_div(total: Expr, by: int) -> Expr:
    return binary("floordiv", total + (by - 1), by)


def perfect_nest(loop: ForOp) -> tuple[list[ForOp], Block]:
    """`loop` and the loops of its kind (reduction or not) directly inside, and the inner block."""
    loops = [loop]
    while True:
        only = list(loops[-1].block.ops)
        if len(only) != 1 or not isinstance(inner := only[0], ForOp):
            return loops, loops[-1].block
        if inner.is_reduction != loop.is_reduction:
            return loops, loops[-1].block
        loops.append(inner)


def private(op: Operation) -> Operation:
    """What one thread allocates lives in its registers, or in its stack if it is an array."""
    for inner in op.walk():
        if isinstance(inner, AllocOp):
            scope = "reg" if not inner.buffer.shape else "stack"
            inner.properties["scope"] = AllocOp(inner.buffer, scope).scope
    return op


class RowWriter:
    """Writes what the threads of one row do; `inlined` are the rows that are computed where read,
    `inside` the condition that there is a row for them, if any."""

    def __init__(
        self,
        block: Block,
        buffers: dict[str, Buffer],
        inlined: dict[str, StoreOp],
        by: RowThreads,
        inside: list[Expr],
    ) -> None:
        self.accumulators = {
            op.buffer for op in block.walk() if isinstance(op, UpdateOp) and not op.indices
        }
        self.inlined, self.by, self.inside = inlined, by, inside
        self.buffers = dict(buffers)
        self.own: dict[str, str] = {}
        self.own_dtypes: dict[str, DType] = {}
        self.registers: set[str] = set()
        self.rows: set[str] = set()
        self.out: list[Operation] = []
        self.allocs: list[Operation] = []

    def value(self, e: Expr) -> Expr:
        """A result of a reduction is in a register of every thread, a shared row that of the
        thread's row; inlined rows are computed."""

        def visit(n: Expr) -> Expr | None:
            name = str(n.value)
            if name in self.own:
                return load(self.own[name], (), n.dtype)
            if name in self.rows:
                return load(name, self.by.place(n.args), n.dtype)
            if (made := self.inlined.get(name)) is not None:
                names = [str(i.value) for i in made.indices]
                return self.value(substitute(made.value, dict(zip(names, n.args, strict=True))))
            return None

        return replace_loads(e, visit)

    def rewritten(self, op: Operation) -> Operation:
        """A copy of a statement that reads and writes where this row's values are."""
        made = copy_statement(op, self.value)
        for inner in list(made.walk()):
            if isinstance(inner, StoreOp | UpdateOp) and inner.buffer in self.rows:
                inner.properties["indices_attr"] = ExprsAttr(self.by.place(inner.indices))
        return made

    def barrier(self) -> None:
        self.out.append(SyncOp(self.by.scope))

    def guarded(self, body: list[Operation], *conditions: Expr) -> list[Operation]:
        """`body` for threads that have a row, and for which the conditions hold."""
        wanted = [*self.inside, *conditions]
        return [IfOp(all_of(wanted), body)] if wanted else body

    def statement(self, op: Operation) -> None:
        match op:
            case AllocOp():
                self.alloc(op)
            case StoreOp() if op.buffer in self.own:
                pass  # the identity: every thread starts its own partial sum with it
            case ForOp() if op.is_reduction:
                self.reduction(op)
            case ForOp():
                self.map(op)
            case StoreOp() if op.buffer in self.registers:
                self.out += self.guarded([self.rewritten(op)])  # every thread has its own
            case StoreOp():
                self.out += self.guarded([self.rewritten(op)], self.by.leads())
                self.barrier()

    def alloc(self, op: AllocOp) -> None:
        buffer = op.buffer
        if buffer.name in self.inlined:
            return
        if buffer.shape:
            self.rows.add(buffer.name)
            buffer = replace(buffer, shape=self.by.shape(buffer.shape), strides=None)
            self.buffers[buffer.name] = buffer
            self.allocs.append(AllocOp(buffer, "shared"))
        elif buffer.name in self.accumulators:
            own = self.own[buffer.name] = f"{buffer.name}_own"
            self.own_dtypes[own] = buffer.dtype
            self.allocs.append(AllocOp(Buffer(own, buffer.dtype, ()), "reg"))
        else:
            self.registers.add(buffer.name)
            self.allocs.append(AllocOp(buffer, "reg"))

    def dealt(self, loops: list[ForOp], body: list[Operation], width: int) -> Operation:
        """`body` for the elements of this thread: vector k of `width` is thread k mod lanes's."""
        axis = Axis([f.var for f in loops], [f.extent for f in loops])
        step, lanes = f"{loops[-1].var}_o", self.by.lanes
        element = (var(step) * lanes + self.by.lane) * width
        each = element if width == 1 else element + var(self.vector_lane(loops))
        made = copy_all(body, substituting(axis.unflatten(each)))
        if width > 1:
            made = [ForOp(self.vector_lane(loops), width, made, "vector")]
        size, together = known(axis.size), lanes * width
        ends = [element < axis.size] if size is None or size % together else []
        return ForOp(step, ceil_div(axis.size, together), self.guarded(made, *ends))

    def vector_lane(self, loops: list[ForOp]) -> str:
        """The loop over the lanes of a vector of a nest."""
        return f"{loops[-1].var}_v"

    def width(self, loops: list[ForOp], body: list[Operation]) -> int:
        """Elements that a thread takes at once; columns lie side by side for other threads."""
        if not self.by.meets:
            return 1
        return vector_width(loops, body, self.buffers, self.own_dtypes, self.by.lanes)

    def map(self, loop: ForOp) -> None:
        loops, block = perfect_nest(loop)
        body = [
            private(self.rewritten(op))
            for op in block.ops
            if not (isinstance(op, StoreOp) and op.buffer in self.inlined)
        ]
        if body:
            self.out.append(self.dealt(loops, body, self.width(loops, body)))
            self.barrier()

    def reduction(self, loop: ForOp) -> None:
        loops, block = perfect_nest(loop)
        body: list[Operation] = []
        updates: list[UpdateOp] = []
        for op in block.ops:
            made = self.rewritten(op)
            if not isinstance(made, UpdateOp):
                body.append(made)
                continue
            own = self.own[made.buffer]
            update = UpdateOp(own, (), made.combiner, made.value)
            self.out.append(StoreOp(own, (), identity(made.combiner, self.own_dtypes[own])))
            body.append(update)
            updates.append(update)
        width = self.width(loops, body)
        after: list[Operation] = []
        if width > 1:
            body, after = self.by_vectors(loops, updates, width)
        self.out += [self.dealt(loops, body, width), *after]
        if not self.by.meets:
            self.between_lanes(updates)
            return
        self.out += [AcrossOp(u.buffer, u.combiner, min(self.by.lanes, WARP)) for u in updates]
        if self.by.in_warp:
            self.barrier()  # a later stage may overwrite a row that this one read
        else:
            self.between_warps(updates)

    def by_vectors(
        self, loops: list[ForOp], updates: list[UpdateOp], width: int
    ) -> tuple[list[Operation], list[Operation]]:
        """The body of a reduction in a vector of partial sums each, and what adds these up."""
        body: list[Operation] = []
        after: list[Operation] = []
        lane = var(self.vector_lane(loops))
        for op in updates:
            sums, dtype = f"{op.buffer}_v", self.own_dtypes[op.buffer]
            start, end = f"{sums}_0", f"{sums}_1"
            self.allocs.append(AllocOp(Buffer(sums, dtype, (const(width),)), "reg"))
            clear = StoreOp(sums, [var(start)], identity(op.combiner, dtype))
            self.out.append(ForOp(start, width, [clear], "unroll"))
            body.append(UpdateOp(sums, [lane], op.combiner, op.value))
            total = UpdateOp(op.buffer, (), op.combiner, load(sums, [var(end)], dtype))
            after.append(ForOp(end, width, [total], "unroll"))
        return body, after

    def between_warps(self, updates: list[UpdateOp]) -> None:
        """The warps' results meet in shared memory, where each warp combines them all."""
        warps = self.by.lanes // WARP
        keep: list[Operation] = []
        again: list[Operation] = []
        for op in updates:
            part, dtype = f"{op.buffer}_part", self.own_dtypes[op.buffer]
            self.allocs.append(AllocOp(Buffer(part, dtype, (const(warps),)), "shared"))
            keep.append(StoreOp(part, [var("tx") // WARP], load(op.buffer, (), dtype)))
            again.append(StoreOp(op.buffer, (), load(part, [var("tx") % warps], dtype)))
            again.append(AcrossOp(op.buffer, op.combiner, warps))
        self.out.append(IfOp(binary("eq", var("tx") % WARP, 0), keep))
        self.barrier()
        self.out += again

    def between_lanes(self, updates: list[UpdateOp]) -> None:
        """The results of a row's threads meet in shared memory, where each combines them all."""
        again: list[Operation] = []
        for op in updates:
            part, dtype = f"{op.buffer}_part", self.own_dtypes[op.buffer]
            shape = self.by.shape((const(self.by.lanes),))
            self.allocs.append(AllocOp(Buffer(part, dtype, shape), "shared"))
            own = load(op.buffer, (), dtype)
            self.out.append(StoreOp(part, self.by.place((self.by.lane,)), own))
            again.append(StoreOp(op.buffer, (), identity(op.combiner, dtype)))
            other = load(part, self.by.place((var(f"{part}_k"),)), dtype)
            update = UpdateOp(op.buffer, (), op.combiner, other)
            again.append(ForOp(f"{part}_k", self.by.lanes, [update], "unroll"))
        self.barrier()
        self.out += again
