"""One GPU block for each iteration of a kernel's outer loops: the row schedule.

```
for i in 0 .. R {                        for bx in 0 .. R bx { for tx in 0 .. 256 tx {
  t[] = 0                                  own[] = 0                            (register)
  for r in 0 .. C reduce {                 for r_o in 0 .. C / 256 {
    t[] add= x[i, r] }              -->      own[] add= x[bx, r_o * 256 + tx] }
  for j in 0 .. C {                        part[tx] = own[]                     (shared memory)
    y[i, j] = x[i, j] / t[] }              tree of part, with te.sync
}                                          for j_o .. { y[bx, j_o * 256 + tx] = .. / part[0] } } }
```
Each stage deals its elements to the threads in turn, and a barrier stands between stages, so a
stage may read whatever an earlier one wrote. Rows that stages hand over live in shared memory; rows
too long for it are not stored but computed again where they are read.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, mul, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    IfOp,
    StoreOp,
    SyncOp,
    UpdateOp,
)
from tensorscript.dialects.te.rewriting import loads, replace_loads, substitute
from tensorscript.dialects.tg.ops import identity

from ..te.affine import known
from ..te.rebuild import copy_all, copy_statement, substituting
from .contraction_shape import Axis

THREADS = 256
SHARED_LIMIT = 40 * 1024
"""Bytes of rows a block may keep in shared memory (48 KiB, less what partial sums take)."""


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


def elements(buffer: Buffer) -> int | None:
    """Number of elements, None if a size is symbolic."""
    total = const(1)
    for size in buffer.shape:
        total = mul(total, size)
    return known(total)


class _BlockWriter:
    """Writes the body of one block; `inlined` are the rows that are computed where read."""

    def __init__(self, block: Block, inlined: dict[str, StoreOp]) -> None:
        self.accumulators = {
            op.buffer for op in block.walk() if isinstance(op, UpdateOp) and not op.indices
        }
        self.inlined = inlined
        self.parts: dict[str, str] = {}
        self.part_dtypes: dict[str, DType] = {}
        self.registers: set[str] = set()
        self.out: list[Operation] = []
        self.allocs: list[Operation] = []

    def value(self, e: Expr) -> Expr:
        """A result of a reduction is element 0 of its partial sums; inlined rows are computed."""

        def visit(n: Expr) -> Expr | None:
            name = str(n.value)
            if name in self.parts:
                return load(self.parts[name], [const(0)], n.dtype)
            if (made := self.inlined.get(name)) is not None:
                names = [str(i.value) for i in made.indices]
                return self.value(substitute(made.value, dict(zip(names, n.args, strict=True))))
            return None

        return replace_loads(e, visit)

    def barrier(self) -> None:
        self.out.append(SyncOp("shared"))

    def statement(self, op: Operation) -> None:
        match op:
            case AllocOp():
                self.alloc(op)
            case StoreOp() if op.buffer in self.parts:
                pass  # the identity: every thread starts its own partial sum with it
            case ForOp() if op.is_reduction:
                self.reduction(op)
            case ForOp():
                self.map(op)
            case StoreOp() if op.buffer in self.registers:
                self.out.append(copy_statement(op, self.value))  # a register: every thread its own
            case StoreOp():
                made = copy_statement(op, self.value)
                self.out.append(IfOp(binary("eq", var("tx"), 0), [made]))
                self.barrier()

    def alloc(self, op: AllocOp) -> None:
        buffer = op.buffer
        if buffer.name in self.inlined:
            return
        if buffer.shape:
            self.allocs.append(AllocOp(buffer, "shared"))
        elif buffer.name in self.accumulators:
            part = self.parts[buffer.name] = f"{buffer.name}_part"
            self.part_dtypes[part] = buffer.dtype
            shared = Buffer(part, buffer.dtype, (const(THREADS),))
            self.allocs.append(AllocOp(shared, "shared"))
        else:
            self.registers.add(buffer.name)
            self.allocs.append(AllocOp(buffer, "reg"))

    def dealt(self, loops: list[ForOp], body: list[Operation]) -> Operation:
        """`body` for the elements of this thread: element k goes to thread k mod THREADS."""
        axis = Axis([f.var for f in loops], [f.extent for f in loops])
        step = f"{loops[-1].var}_o"
        element = var(step) * THREADS + var("tx")
        made = copy_all(body, substituting(axis.unflatten(element)))
        size = known(axis.size)
        if size is None or size % THREADS:
            made = [IfOp(element < axis.size, made)]
        return ForOp(step, ceil_div(axis.size, THREADS), made)

    def map(self, loop: ForOp) -> None:
        loops, block = perfect_nest(loop)
        body = [
            private(copy_statement(op, self.value))
            for op in block.ops
            if not (isinstance(op, StoreOp) and op.buffer in self.inlined)
        ]
        if body:
            self.out.append(self.dealt(loops, body))
            self.barrier()

    def reduction(self, loop: ForOp) -> None:
        loops, block = perfect_nest(loop)
        body: list[Operation] = []
        finish: list[Operation] = []
        updates: list[tuple[str, UpdateOp]] = []
        for op in block.ops:
            made = copy_statement(op, self.value)
            if not isinstance(made, UpdateOp):
                body.append(made)
                continue
            part = self.parts[made.buffer]
            dtype = self.part_dtypes[part]
            own = f"{part}_own"
            self.allocs.append(AllocOp(Buffer(own, dtype, ()), "reg"))
            self.out.append(StoreOp(own, (), identity(made.combiner, dtype)))
            body.append(UpdateOp(own, (), made.combiner, made.value))
            finish.append(StoreOp(part, [var("tx")], load(own, (), dtype)))
            updates.append((part, made))
        self.out += [self.dealt(loops, body), *finish]
        self.tree(updates)
        self.barrier()

    def tree(self, updates: list[tuple[str, UpdateOp]]) -> None:
        """Halve the partial sums until one is left."""
        width = THREADS // 2
        while width:
            steps: list[Operation] = []
            for part, op in updates:
                other = load(part, [var("tx") + width], self.part_dtypes[part])
                steps.append(UpdateOp(part, [var("tx")], op.combiner, other))
            self.barrier()
            self.out.append(IfOp(var("tx") < width, steps))
            width //= 2


def _is_row_code(block: Block) -> bool:
    """Allocations, stores, map nests, and reductions to scalars."""
    for op in block.ops:
        if isinstance(op, ForOp) and op.is_reduction:
            inside = list(perfect_nest(op)[1].ops)
            if not all(isinstance(i, UpdateOp) and not i.indices for i in inside):
                return False
        elif not isinstance(op, AllocOp | StoreOp | ForOp):
            return False
    return True


def _rows(block: Block) -> list[Buffer]:
    return [op.buffer for op in block.ops if isinstance(op, AllocOp) and op.buffer.shape]


def _definitions(block: Block) -> dict[str, StoreOp]:
    """Rows with one store, `row[i, j] = e`, in a nest of exactly the loops i, j."""
    stores: dict[str, list[StoreOp | UpdateOp]] = {}
    nests: dict[str, list[str]] = {}
    for op in block.ops:
        for inner in op.walk():
            if isinstance(inner, StoreOp | UpdateOp):
                stores.setdefault(inner.buffer, []).append(inner)
                if isinstance(op, ForOp) and not op.is_reduction:
                    loops, body = perfect_nest(op)
                    if inner.parent is body:
                        nests[inner.buffer] = [f.var for f in loops]
    found: dict[str, StoreOp] = {}
    for name, made in stores.items():
        only = made[0]
        if len(made) != 1 or not isinstance(only, StoreOp) or name not in nests:
            continue
        if (
            [i.value for i in only.indices if i.op == "var"]
            == nests[name]
            == [str(i.value) for i in only.indices]
        ):
            found[name] = only
    return found


def _too_long(block: Block) -> dict[str, StoreOp] | None:
    """The rows that shared memory has no room for, by how they are computed; None if one of them
    cannot be computed again."""
    definitions = _definitions(block)
    room, inlined = SHARED_LIMIT, dict[str, StoreOp]()
    for buffer in _rows(block):
        count = elements(buffer)
        size = None if count is None else count * buffer.dtype.itemsize
        if size is not None and size <= room:
            room -= size
        elif buffer.name in definitions:
            inlined[buffer.name] = definitions[buffer.name]
        else:
            return None
    local = {
        op.buffer.name for op in block.walk() if isinstance(op, AllocOp) and op.parent != block
    }
    for store in inlined.values():
        if any(str(n.value) in local for n in loads(store.value)):
            return None
    return inlined


def row_schedule(func: FuncOp, loops: list[ForOp], block: Block) -> list[Operation] | None:
    """The statements of the kernel with one block per iteration of `loops`; None if its code has
    another form or needs more shared memory than there is."""
    if not _is_row_code(block) or (inlined := _too_long(block)) is None:
        return None
    writer = _BlockWriter(block, inlined)
    for op in block.ops:
        writer.statement(op)
    axis = Axis([f.var for f in loops], [f.extent for f in loops])
    rewrite = substituting(axis.unflatten(var("bx")) if loops else {})
    body = copy_all([*writer.allocs, *writer.out], rewrite)
    return [ForOp("bx", axis.size, [ForOp("tx", THREADS, body, "tx")], "bx")]
