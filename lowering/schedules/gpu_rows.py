"""Rows of a kernel's outer loops on a GPU, each by some threads: a block, a warp or a part of one.

```
for i in 0 .. R {                        for bx in 0 .. R bx { for tx in 0 .. 256 tx {
  t[] = 0                                  own[] = 0                            (register)
  for r in 0 .. C reduce {                 for r_o in 0 .. C / 256 {
    t[] add= x[i, r] }              -->      own[] add= x[bx, r_o * 256 + tx] }
  for j in 0 .. C {                        te.across own add= 32                (shuffles)
    y[i, j] = x[i, j] / t[] }              if tx % 32 == 0 { part[tx / 32] = own[] };  te.sync
}                                          own[] = part[tx % 8];  te.across own add= 8
                                           for j_o .. { y[bx, j_o * 256 + tx] = .. / own[] } } }
```
Each stage deals its elements to the threads in turn, and a barrier stands between stages, so a
stage may read whatever an earlier one wrote. Rows that stages hand over live in shared memory; rows
too long for it are not stored but computed again where they are read. The threads of a row that a
warp has (`gpu_row_threads.py`) need neither `part` nor barriers of the block; where the last block
has fewer rows, its other threads take part in shuffles and barriers, and touch no memory.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, mul
from tensorscript.dialects.te.ops import AllocOp, ForOp, LetOp, StoreOp, SyncOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads

from ..te.affine import known
from .contraction_shape import Axis
from .gpu_row_threads import ColumnThreads, RowThreads, choices
from .gpu_row_writer import RowWriter, ceil_div, perfect_nest

SHARED_LIMIT = 40 * 1024
"""Bytes of rows a block may keep in shared memory (48 KiB, less what partial sums take)."""


def elements(buffer: Buffer) -> int | None:
    """Number of elements, None if a size is symbolic."""
    total = const(1)
    for size in buffer.shape:
        total = mul(total, size)
    return known(total)


def _is_row_code(block: Block) -> bool:
    """Allocations, stores, map nests, and reductions to scalars, each of them by one nest."""
    reduced: set[str] = set()
    for op in block.ops:
        if isinstance(op, ForOp) and op.is_reduction:
            inside = list(perfect_nest(op)[1].ops)
            if not all(isinstance(i, UpdateOp) and not i.indices for i in inside):
                return False
            results = [i.buffer for i in inside if isinstance(i, UpdateOp)]
            if len({*results, *reduced}) < len(results) + len(reduced):
                return False
            reduced.update(results)
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


def _too_long(block: Block, together: int = 1) -> dict[str, StoreOp] | None:
    """The rows that shared memory has no room for, by how they are computed, where so many of each
    are there at once; None if one of them cannot be computed again."""
    definitions = _definitions(block)
    room, inlined = SHARED_LIMIT // together, dict[str, StoreOp]()
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


def _longest(block: Block) -> int | None:
    """Elements of the longest nest of a row, None if that is not known."""
    sizes = [
        known(Axis([f.var for f in loops], [f.extent for f in loops]).size)
        for op in block.ops
        if isinstance(op, ForOp)
        for loops in [perfect_nest(op)[0]]
    ]
    found = [size for size in sizes if size is not None]
    return max(found) if sizes and len(found) == len(sizes) else None


def _threads_for(block: Block, rows: Expr) -> tuple[RowThreads, dict[str, StoreOp]] | None:
    """Who computes a row, and the rows that are computed again for want of shared memory; None if
    one of them cannot be. No row is, where fewer at once find room."""
    for by in choices(_longest(block), rows):
        inlined = _too_long(block, by.rows)
        if inlined is not None and (not inlined or by.is_block):
            return by, inlined
    return None


def row_schedule(
    loops: list[ForOp], block: Block, buffers: dict[str, Buffer]
) -> list[Operation] | None:
    """The statements of a kernel with threads for each iteration of `loops`; None if its code has
    another form or needs more shared memory than there is."""
    size = Axis([f.var for f in loops], [f.extent for f in loops]).size
    if not _is_row_code(block) or (found := _threads_for(block, size)) is None:
        return None
    return _written(loops, block, buffers, *found)


def column_schedule(
    loops: list[ForOp], block: Block, buffers: dict[str, Buffer]
) -> list[Operation] | None:
    """The same where neighbouring iterations of `loops` lie side by side in memory."""
    by = ColumnThreads()
    if not _is_row_code(block) or _too_long(block, by.rows) != {}:
        return None
    return _written(loops, block, buffers, by, {})


def _written(
    loops: list[ForOp],
    block: Block,
    buffers: dict[str, Buffer],
    by: RowThreads,
    inlined: dict[str, StoreOp],
) -> list[Operation]:
    axis = Axis([f.var for f in loops], [f.extent for f in loops])
    writer = RowWriter(block, buffers, inlined, by, by.outside(axis.size))
    for op in block.ops:
        writer.statement(op)
    if writer.out and isinstance(writer.out[-1], SyncOp):
        writer.out.pop()  # nobody waits for what comes last
    places = axis.unflatten(by.row())
    names: list[Operation] = [LetOp(name, place) for name, place in places.items()]
    body = [*names, *writer.allocs, *writer.out]
    return [ForOp("bx", ceil_div(axis.size, by.rows), [ForOp("tx", by.threads, body, "tx")], "bx")]
