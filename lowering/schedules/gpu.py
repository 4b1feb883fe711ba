"""Schedules of kernels for a GPU.

| kernel | schedule |
|---|---|
| pointwise | one thread per element, or per vector of 4 where memory is walked in one stride |
| rows, inner reduction | one block per row: threads stride along it, tree reduction at the end |
| other reductions, contractions, scans, sorts | one thread per outer iteration |

A block kernel is one `tx` loop around the whole row, with te.sync between stages. Every stage deals
element k of a row to thread k mod THREADS, so a thread reads back only what it wrote itself, except
for the results of reductions, which are read after a barrier.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation

from tensorscript.base.errors import NotCompilable
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import (
    Expr,
    binary,
    const,
    load,
    mul,
    replace_loads,
    var,
)
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    IfOp,
    StoreOp,
    SyncOp,
    UpdateOp,
    functions,
)
from tensorscript.dialects.tg.ops import identity

from .affine import accesses, all_buffers, coefficient, flat_index, known
from .collapse import collapse
from .contraction_shape import Axis
from .rebuild import copy_all, copy_statement, substituting

THREADS = 256
VECTOR = 4
SHARED_LIMIT = 40 * 1024
"""Bytes of rows a block may keep in shared memory."""


def _outer_loops(func: FuncOp) -> tuple[list[ForOp], Block]:
    loops: list[ForOp] = []
    block = func.block
    while True:
        only = list(block.ops)
        if len(only) != 1 or not isinstance(only[0], ForOp) or only[0].is_reduction:
            return loops, block
        loops.append(only[0])
        block = only[0].block


def _blocks(total: Expr, by: int) -> Expr:
    return binary("floordiv", total + (by - 1), by)


def _reset(func: FuncOp, made: list[Operation]) -> None:
    for op in list(func.block.ops):
        op.detach()
        op.erase()
    func.block.add_ops(made)


def _private(op: Operation) -> Operation:
    """What one thread allocates lives in its registers."""
    for inner in op.walk():
        if isinstance(inner, AllocOp):
            inner.properties["scope"] = StringAttr("reg" if not inner.buffer.shape else "stack")
    return op


def _can_vectorize(loop: ForOp, func: FuncOp) -> bool:
    size = known(loop.extent)
    if size is None or size % VECTOR:
        return False
    if not all(isinstance(op, StoreOp) for op in loop.block.ops):
        return False
    buffers = all_buffers(func)
    steps = [coefficient(flat_index(buffers[n], i), loop.var) for n, i in accesses(loop)]
    return all(s is not None and (s.is_int(0) or s.is_int(1)) for s in steps)


def per_thread(func: FuncOp) -> None:
    """One thread per iteration of the outer loops (per 4 of them for a straight walk)."""
    loops, block = _outer_loops(func)
    axis = Axis([f.var for f in loops], [f.extent for f in loops])
    thread = var("bx") * THREADS + var("tx")
    vector = len(loops) == 1 and _can_vectorize(loops[0], func)
    if vector:
        item = thread * VECTOR
        body: list[Operation] = copy_all(
            block.ops, substituting({loops[0].var: item + var("lane")})
        )
        body = [ForOp("lane", VECTOR, body, "vector")]
    else:
        item = thread
        body = [_private(op) for op in copy_all(block.ops, substituting(axis.unflatten(item)))]
    total = axis.size
    width = THREADS * (VECTOR if vector else 1)
    size = known(total)
    if size is None or size % width:
        body = [IfOp(item < total, body)]
    threads = ForOp("tx", THREADS, body, "tx")
    _reset(func, [ForOp("bx", _blocks(total, width), [threads], "bx")])


class _BlockRow:
    """Writes the body of one block that computes one row."""

    def __init__(self, func: FuncOp, threads: int) -> None:
        self.buffers = all_buffers(func)
        self.threads = threads
        self.shared: dict[str, str] = {}
        self.out: list[Operation] = []
        self.allocs: list[Operation] = []

    def value(self, e: Expr) -> Expr:
        """Reads of a reduction's result are reads of element 0 of its partial sums."""
        return replace_loads(
            e,
            lambda n: (
                load(self.shared[str(n.value)], [const(0)], n.dtype)
                if str(n.value) in self.shared
                else None
            ),
        )

    def statement(self, op: Operation) -> None:
        match op:
            case AllocOp():
                if op.buffer.shape:
                    self.allocs.append(AllocOp(op.buffer, "shared"))
                else:
                    name = f"{op.buffer.name}_part"
                    part = Buffer(name, op.buffer.dtype, (const(self.threads),))
                    self.shared[op.buffer.name] = name
                    self.allocs.append(AllocOp(part, "shared"))
            case StoreOp() if op.buffer in self.shared:
                pass  # the identity: every thread starts its own partial sum with it
            case ForOp() if op.is_reduction:
                self.reduction(op)
            case ForOp():
                self.map(op)
            case StoreOp():
                made = copy_statement(op, self.value)
                self.out.append(IfOp(binary("eq", var("tx"), 0), [made]))
            case _:
                raise NotCompilable(f"no GPU schedule for {op.name} in a row kernel")

    def _strided(self, loop: ForOp, body: list[Operation]) -> Operation:
        """`body` for the elements of this thread; the loop variable becomes the element."""
        step = f"{loop.var}_o"
        element = var(step) * self.threads + var("tx")
        made = copy_all(body, substituting({loop.var: element}))
        size = known(loop.extent)
        if size is None or size % self.threads:
            made = [IfOp(element < loop.extent, made)]
        return ForOp(step, _blocks(loop.extent, self.threads), made)

    def map(self, loop: ForOp) -> None:
        body = [copy_statement(op, self.value) for op in loop.block.ops]
        self.out.append(self._strided(loop, body))

    def reduction(self, loop: ForOp) -> None:
        body: list[Operation] = []
        finish: list[Operation] = []
        for op in loop.block.ops:
            made = copy_statement(op, self.value)
            if isinstance(made, UpdateOp):
                part, dtype = self.shared[made.buffer], made.value.dtype
                own = f"{part}_own"
                self.out += [
                    AllocOp(Buffer(own, dtype, ()), "reg"),
                    StoreOp(own, (), identity(made.combiner, dtype)),
                ]
                body.append(UpdateOp(own, (), made.combiner, made.value))
                finish.append(StoreOp(part, [var("tx")], load(own, (), dtype)))
            else:
                body.append(made)
        self.out.append(self._strided(loop, body))
        self.out += finish
        for op in loop.block.ops:
            if isinstance(op, UpdateOp):
                self.tree(self.shared[op.buffer], op)
        self.out.append(SyncOp("shared"))

    def tree(self, part: str, op: UpdateOp) -> None:
        """Halve the partial sums until one is left."""
        width = self.threads // 2
        while width:
            other = load(part, [var("tx") + width], op.value.dtype)
            step = UpdateOp(part, [var("tx")], op.combiner, other)
            self.out += [SyncOp("shared"), IfOp(var("tx") < width, [step])]
            width //= 2


def _row_fits(block: Block) -> bool:
    rows = 0
    for op in block.ops:
        if isinstance(op, AllocOp) and op.buffer.shape:
            size = const(1)
            for s in op.buffer.shape:
                size = mul(size, s)
            count = known(size)
            if count is None:
                return False
            rows += count * op.buffer.dtype.itemsize
    return rows <= SHARED_LIMIT


def _plain_row(block: Block) -> bool:
    """Scalars, rows, and loops one deep."""
    for op in block.ops:
        if isinstance(op, ForOp):
            if not all(isinstance(inner, StoreOp | UpdateOp) for inner in op.block.ops):
                return False
        elif not isinstance(op, AllocOp | StoreOp):
            return False
    return any(isinstance(op, ForOp) and op.is_reduction for op in block.ops)


def per_block(func: FuncOp) -> bool:
    """One block per row; False if the kernel has another form."""
    loops, block = _outer_loops(func)
    if not _plain_row(block) or not _row_fits(block):
        return False
    writer = _BlockRow(func, THREADS)
    for op in block.ops:
        writer.statement(op)
    axis = Axis([f.var for f in loops], [f.extent for f in loops])
    rewrite = substituting(axis.unflatten(var("bx"))) if loops else substituting({})
    body = copy_all([*writer.allocs, *writer.out], rewrite)
    threads = ForOp("tx", THREADS, body, "tx")
    _reset(func, [ForOp("bx", axis.size, [threads], "bx")])
    return True


def _walks_rows(func: FuncOp) -> bool:
    """The reductions' iterations lie side by side in memory, and there are enough of them."""
    buffers = all_buffers(func)
    for loop in func.walk():
        if not isinstance(loop, ForOp) or not loop.is_reduction:
            continue
        size = known(loop.extent)
        if size is not None and size < 32:
            return False
        for name, indices in accesses(loop):
            step = coefficient(flat_index(buffers[name], indices), loop.var)
            if step is not None and step.is_int(1) and buffers[name].mode == "in":
                return True
    return False


def schedule_gpu(module: ModuleOp) -> None:
    """Schedule every logical kernel of a te module in place.

    Raises:
        NotCompilable: a kernel that has no GPU schedule (ordered scatter).
    """
    for func in functions(module):
        if func.role.data != "kernel" or func.level.data != "logical":
            continue
        category = func.category.data
        if category == "scatter":
            raise NotCompilable("a scatter has no GPU schedule: its updates are ordered")
        if category in ("pointwise", "reduction", "rows"):
            collapse(func.block, all_buffers(func))
        rows = category in ("reduction", "rows") and _walks_rows(func)
        if not (rows and per_block(func)):
            per_thread(func)
        func.properties["level"] = StringAttr("scheduled")
