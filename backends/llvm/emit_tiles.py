"""Matrix loops as the instructions of a matrix unit: tiles of Intel's AMX.

```
te.alloc tile t: f32[32, 32]
te.for i in 0 .. 32 matrix { te.for j in 0 .. 32 matrix { body } }
```
| body | each tile of 16 rows and columns |
|---|---|
| `te.store t[i, j] = 0` | tilezero |
| `te.store t[i, j] = m[.., i, j]` | tileloadd |
| `te.store m[.., i, j] = t[i, j]` | tilestored |
| `te.for g in 0 .. 16 matrix reduce { te.for u in 0 .. 2 matrix reduce { te.update t[i, j] add= f32(x[.., i, 2 * g + u]) * f32(y[.., g, j, u]) } }` | tileloadd of both, tdpbf16ps |

A tile register is 16 rows of 64 bytes; there are eight. Those of a buffer are the first ones, the
factors take the others. Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1,
chapter 18. Where a target has no such unit a buffer of scope tile is in the frame, and the loops
run one after the other.
"""  # noqa: E501 (a row of a table is one line)

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType, bfloat16, float32, int8, int32, uint8
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import loads

from .emit_context import Context
from .emit_expr import evaluate_scalar
from .emit_loops import emit_serial
from .emit_scope import Lane, Place, affine, flat_index
from .emit_stmt import pass_on

SIDE = 16
"""Rows of a tile, and 32-bit numbers of a row."""
REGISTERS = 8
LINE = 64
"""Bytes of a row."""

MULTIPLIES: dict[tuple[DType, DType], tuple[DType, str]] = {
    (bfloat16, bfloat16): (float32, "tdpbf16ps"),
    (int8, int8): (int32, "tdpbssd"),
    (int8, uint8): (int32, "tdpbsud"),
    (uint8, int8): (int32, "tdpbusd"),
    (uint8, uint8): (int32, "tdpbuud"),
}
"""Dtypes of the factors to that of the sums and the instruction."""


class _Walk(NamedTuple):
    """An access by the loops around it: where it begins, and its steps in elements."""

    place: Place
    base: Expr
    steps: tuple[int, ...]


def allocate_tiles(context: Context, op: AllocOp) -> bool:
    """Put a buffer of scope tile into registers; False where the target has none for it."""
    buffer = op.buffer
    if op.scope.data != "tile" or not context.options.tiles or context.vector is not None:
        return False
    sizes = [int(str(s)) if s.is_const else 0 for s in buffer.shape]
    if len(sizes) != 2 or any(s % SIDE for s in sizes):
        return False
    rows, columns = (s // SIDE for s in sizes)
    taken = rows * columns + min(rows, columns) + 1
    others = context.tiles.keys() - {buffer.name}
    if others or rows * columns == 0 or taken > REGISTERS:
        return False
    if buffer.dtype not in (float32, int32):
        return False
    context.scope.places[buffer.name] = Place(buffer, "", LINE)
    context.tiles[buffer.name] = (rows, columns)
    pass_on(context, context.code.call("i32", "ts_tiles", []))
    context.code.call("void", "llvm.x86.ldtilecfg", [("ptr", _configuration(context))])
    return True


def _configuration(context: Context) -> str:
    """The symbol of the layout of registers: palette 1, each of 16 rows of 64 bytes."""
    name = "@tiles.layout"
    row_bytes, rows = f"\\{LINE:02X}\\00" * REGISTERS, f"\\{SIDE:02X}" * REGISTERS
    data = "\\01" + "\\00" * 15 + row_bytes + "\\00" * 16 + rows + "\\00" * 8
    context.code.module.add_global(
        f'{name} = private unnamed_addr constant [{LINE} x i8] c"{data}", align {LINE}'
    )
    return name


def emit_matrix(context: Context, op: ForOp) -> None:
    """A nest of matrix loops."""
    loops, body = _nest(op)
    touched = context.tiles.keys() & _buffers(body)
    if not touched:
        emit_serial(context, op)
        return
    done = False
    if len(touched) == 1 and context.vector is None:
        (name,) = touched
        match body:
            case StoreOp():
                done = _emit_move(context, name, loops, body)
            case UpdateOp():
                done = _emit_product(context, name, loops, body)
    if not done:
        raise context.refuse(f"the matrix unit has no instruction for {op.head()}: {body}")


def _nest(op: ForOp) -> tuple[list[ForOp], Operation]:
    """The matrix loops from one on, and what the innermost holds (or a loop of another kind)."""
    loops, body = [op], list(op.block.ops)
    while len(body) == 1 and isinstance(body[0], ForOp) and body[0].kind.data == "matrix":
        loops.append(body[0])
        body = list(body[0].block.ops)
    return loops, body[0] if len(body) == 1 else loops[-1]


def _buffers(op: Operation) -> set[str]:
    if not isinstance(op, StoreOp | UpdateOp):
        return set()
    return {op.buffer, *(str(n.value) for n in loads(op.value))}


def _walk(
    context: Context, buffer: str, indices: tuple[Expr, ...], loops: list[ForOp]
) -> _Walk | None:
    """An access, if it moves by constant steps with every loop."""
    place = context.scope.places[buffer]
    resolved = tuple(context.resolve(i) for i in indices)
    base, steps = context.resolve(flat_index(place.buffer, resolved, context.is_flat)), []
    for loop in loops:
        width = int(str(loop.extent))
        if not loop.start.is_int(0):
            return None
        found = affine(base, Lane(loop.var, width, {loop.var}), context.scope)
        if found is None or not found[1].is_const:
            return None
        base = found[0]
        steps.append(int(str(found[1])))
    return _Walk(place, base, tuple(steps))


def _is_whole(context: Context, name: str, indices: tuple[Expr, ...], loops: list[ForOp]) -> bool:
    """Whether two loops go over all of a buffer in registers, and others stay where they are."""
    rows, columns = context.tiles[name]
    found = _walk(context, name, indices, loops)
    extents = [int(str(loop.extent)) for loop in loops]
    steps = (columns * SIDE, 1, *[0] * (len(loops) - 2))
    whole = extents[:2] == [rows * SIDE, columns * SIDE]
    return found is not None and whole and found.base.is_int(0) and found.steps == steps


def _emit_move(context: Context, name: str, loops: list[ForOp], op: StoreOp) -> bool:
    """All of the registers cleared, filled or emptied."""
    value = op.value
    if len(loops) != 2:
        return False
    if op.buffer == name:
        if not _is_whole(context, name, op.indices, loops):
            return False
        if value.is_const and value.value == 0:
            for number, _, _ in _registers(context, name):
                context.code.call("void", "llvm.x86.tilezero", [("i8", str(number))])
            return True
        memory, kind = value, "llvm.x86.tileloadd64"
        if value.op != "load" or value.value == name:
            return False
        found = _walk(context, str(memory.value), memory.args, loops)
    else:
        if value.op != "load" or not _is_whole(context, name, value.args, loops):
            return False
        found, kind = _walk(context, op.buffer, op.indices, loops), "llvm.x86.tilestored64"
    if found is None or found.steps[1] != 1 or found.place.buffer.dtype.itemsize != 4:
        return False
    for number, row, column in _registers(context, name):
        offset = SIDE * (row * found.steps[0] + column)
        _transfer(context, kind, number, found, offset, found.steps[0])
    return True


def _registers(context: Context, name: str) -> Iterator[tuple[int, int, int]]:
    """The registers of a buffer: number, row and column of tiles."""
    rows, columns = context.tiles[name]
    for row in range(rows):
        for column in range(columns):
            yield row * columns + column, row, column


def _transfer(
    context: Context, kind: str, register: int, walk: _Walk, offset: int, step: int
) -> None:
    """Load or store a register, `offset` elements behind where an access begins, rows `step`
    elements apart."""
    size = walk.place.buffer.dtype.itemsize
    start = evaluate_scalar(context, walk.base + offset, "an address")
    address = context.code.let(
        f"getelementptr inbounds i{8 * size}, ptr {walk.place.pointer}, i64 {start}", "p"
    )
    arguments = [("i8", str(register)), ("ptr", address), ("i64", str(step * size))]
    context.code.call("void", kind, arguments)


def _emit_product(context: Context, name: str, loops: list[ForOp], op: UpdateOp) -> bool:
    """A product of so many rows and columns is added to all of the registers."""
    value = op.value
    if len(loops) != 4 or op.combiner != "add" or value.op != "mul" or op.buffer != name:
        return False
    factors = [f.args[0] if f.op == "cast" else f for f in value.args]
    if any(f.op != "load" for f in factors) or not _is_whole(context, name, op.indices, loops):
        return False
    walks = [_walk(context, str(f.value), f.args, loops) for f in factors]
    sizes = [int(str(loop.extent)) for loop in loops]
    x, y = next(((a, b) for a, b in (walks, walks[::-1]) if _fits(a, b, sizes)), (None, None))
    if x is None or y is None:
        return False
    row = MULTIPLIES.get((x.place.buffer.dtype, y.place.buffer.dtype))
    if row is None or row[0] is not context.scope.places[name].buffer.dtype:
        return False
    _multiply(context, name, f"llvm.x86.{row[1]}", x, y)
    return True


def _fits(x: _Walk | None, y: _Walk | None, sizes: list[int]) -> bool:
    """Rows of x lie along the depth, rows of y have groups side by side."""
    if x is None or y is None:
        return False
    *_, groups, count = sizes
    size = x.place.buffer.dtype.itemsize
    whole = groups == SIDE and SIDE * count * size == LINE and y.place.buffer.dtype.itemsize == size
    in_rows = x.steps[1:] == (0, count, 1)
    in_groups = y.steps[0] == 0 and y.steps[1] == count and y.steps[3] == 1
    return whole and in_rows and in_groups


def _multiply(context: Context, name: str, instruction: str, x: _Walk, y: _Walk) -> None:
    """The tiles of the factor with fewer of them stay in registers, those of the other pass."""
    rows, columns = context.tiles[name]
    first, load = rows * columns, "llvm.x86.tileloadd64"
    per_line = LINE // x.place.buffer.dtype.itemsize

    def tile_of_x(register: int, row: int) -> None:
        _transfer(context, load, register, x, SIDE * row * x.steps[0], x.steps[0])

    def tile_of_y(register: int, column: int) -> None:
        _transfer(context, load, register, y, per_line * column, y.steps[2])

    kept, passing = (tile_of_y, tile_of_x) if columns <= rows else (tile_of_x, tile_of_y)
    count, times = min(rows, columns), max(rows, columns)
    for k in range(count):
        kept(first + k, k)
    free = list(range(first + count, REGISTERS))
    for t in range(times):
        register = free[t % len(free)]
        passing(register, t)
        for k in range(count):
            row, column = (t, k) if columns <= rows else (k, t)
            a, b = (register, first + k) if columns <= rows else (first + k, register)
            numbers = (row * columns + column, a, b)
            context.code.call("void", instruction, [("i8", str(n)) for n in numbers])
