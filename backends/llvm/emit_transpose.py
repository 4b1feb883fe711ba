"""A vector loop in a vector loop that copies across: whole vectors, and shuffles of them.

```
te.for u in 0 .. 16 vector { te.for v in 0 .. 16 vector { te.store t[u, v] = x[v, u] } }
```
Memory is contiguous along u in what is read and along v in what is written; one vector per v is
loaded (and converted, where the dtypes differ), and log2 n rounds of interleaving the first half
of the vectors with the second transpose them (the perfect shuffle; Stone, "Parallel Processing with
the Perfect Shuffle", 1971).
```
te.for v in 0 .. 32 vector { te.for u in 0 .. 2 vector { te.store t[v, u] = f(u, v) } }
```
Here what is written is contiguous in both: the vectors of u = 0 and u = 1 (or of up to eight) are
interleaved. A square whose rows are read from their ends is stored from its last row on.
```
te.for u in 0 .. 10 vector { te.for v in 0 .. 16 vector { te.store t[u, v] = x[v, u] } }
```
What is less than a square is one whose last rows are missing or whose last lanes are masked.
```
te.for u in 0 .. 16 vector { te.for v in 0 .. 16 vector {
  te.for g in 0 .. 2 vector { te.store t[u, v, g] = x[v, 2 * u + g] } } }
```
Groups of numbers that stay together are moved like one number that is as wide.
"""

from __future__ import annotations

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, add, const, sub, var
from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.rewriting import loads, substitute

from .emit_cast import to_memory
from .emit_context import Context
from .emit_expr import evaluate, evaluate_scalar
from .emit_scope import Bound, Lane, Place, affine, flat_index
from .emit_types import Value, first_lanes, lane_mask, memory_type, suffix, vector_of

SIZES = (4, 8, 16)
"""Sides of a square that fit the registers."""
INTERLEAVED = range(2, 9)
"""Vectors that become one."""


def emit_across(context: Context, op: ForOp) -> bool:
    """Emit `op` if it copies a square or interleaves vectors; False if it is another loop."""
    inner = op.block.first_op
    if context.vector is not None or not isinstance(inner, ForOp) or inner.next_op is not None:
        return False
    store = inner.block.first_op
    if isinstance(store, ForOp):
        return _emit_groups(context, op, inner, store)
    if not isinstance(store, StoreOp) or store.next_op is not None:
        return False
    size = _size(context, op)
    if inner.kind.data != "vector":
        return False
    count = _size(context, inner)
    is_narrow = count in INTERLEAVED and size > count
    if is_narrow and _emit_interleaved(context, op, inner, store):
        return True
    side = next((s for s in SIZES if s >= max(size, count)), 0)
    if min(size, count) < 2 or not side:
        return False
    written = context.place(store.buffer)
    if (step := _step_along(context, op, inner, store.value)) is None:
        return False
    target = _along(context, inner, op, written, store.indices)
    if target is None:
        return False
    back = step < 0
    rows = [_row(context, op, inner, k, store.value, back, side) for k in range(count)]
    rows += ["poison"] * (side - count)
    _store_across(context, rows, written, target[::-1] if back else target, count)
    return True


def _emit_groups(context: Context, op: ForOp, inner: ForOp, group: ForOp) -> bool:
    """Emit a square of groups that are copied as they are; False if it is another loop."""
    store, size, count = group.block.first_op, _size(context, op), _size(context, inner)
    kinds = {loop.kind.data for loop in (op, inner, group)}
    if not isinstance(store, StoreOp) or store.next_op is not None or kinds != {"vector"}:
        return False
    read, written = store.value, context.place(store.buffer)
    width = _size(context, group) * written.buffer.dtype.itemsize
    side = next((s for s in SIZES if s >= max(size, count)), 0)
    if read.op != "load" or read.dtype is not written.buffer.dtype or width not in (4, 8):
        return False
    source = context.place(str(read.value))
    together = ((source, read.args), (written, store.indices))
    if any(_along(context, group, op, place, indices) is None for place, indices in together):
        return False
    first, step = {group.var: context.resolve(group.start)}, _size(context, group)
    starts = _along(context, op, inner, source, _at(read.args, first), step)
    ends = _along(context, inner, op, written, _at(store.indices, first), step)
    if not side or min(size, count) < 2 or starts is None or ends is None:
        return False
    element = f"i{8 * width}"
    rows = [_group_row(context, source, start, element, size, side) for start in starts]
    rows += ["zeroinitializer"] * (side - count)
    _store_across(context, rows, written, ends, count, element)
    return True


def _group_row(
    context: Context, place: Place, start: Expr, element: str, size: int, side: int
) -> str:
    """The first `size` groups from a place on, in a vector of `side`."""
    code, kind, align = context.code, vector_of(element, side), place.buffer.dtype.itemsize
    pointer = _address(context, place, start)
    if size == side:
        return code.let(f"load {kind}, {place.pointer_type} {pointer}, align {align}")
    mask = lane_mask(first_lanes(size, side))
    name = f"llvm.masked.load.{suffix(element, side)}.p{place.space}"
    arguments = [(place.pointer_type, pointer), ("i32", str(align)),
                 (f"<{side} x i1>", mask), (kind, "zeroinitializer")]  # fmt: skip
    return code.call(kind, name, arguments)


def _at(indices: tuple[Expr, ...], values: dict[str, Expr]) -> tuple[Expr, ...]:
    return tuple(substitute(i, values) for i in indices)


def _step_along(context: Context, wide: ForOp, other: ForOp, value: Expr) -> int | None:
    """1 or -1, by which neighbours along `wide` lie apart in what `value` reads (or 0 in some of
    it); None where they lie elsewhere."""
    reads = list(loads(value))
    for step in (1, -1):
        found = []
        for read in reads:
            place = context.place(str(read.value))
            ways = (w for w in (step, 0) if _along(context, wide, other, place, read.args, w))
            found.append(next(ways, None))
        if step in found and None not in found:
            return step
    return None


def _emit_interleaved(context: Context, op: ForOp, inner: ForOp, store: StoreOp) -> bool:
    """The vectors of all iterations of `inner`, as one; False if what is written is no row."""
    written, size, count = context.place(store.buffer), _size(context, op), _size(context, inner)
    name = f"{inner.var}$group"
    index = context.resolve(flat_index(written.buffer, store.indices, context.is_flat))
    group = {
        inner.var: add(context.resolve(inner.start), var(name)),
        op.var: context.resolve(op.start),
    }
    steps = [
        affine(_substituted(context, index, values), Lane(name, count, {name}), context.scope)
        for values in (group, {op.var: var(name), inner.var: context.resolve(inner.start)})
    ]
    if any(s is None or not s[1].is_int(k) for k, s in zip((1, count), steps, strict=True)):
        return False
    assert steps[0] is not None
    rows = [_row(context, op, inner, k, store.value) for k in range(count)]
    code, dtype = context.code, written.buffer.dtype
    element = memory_type(dtype)
    pointer = _address(context, written, steps[0][0])
    parts = _merged(context, rows, element, size)
    for number, part in enumerate(parts):
        place, wide = pointer, vector_of(element, size * count // len(parts))
        if number:
            offset = number * size
            place = code.let(
                f"getelementptr inbounds {element}, {written.pointer_type} {pointer}, i64 {offset}",
                "p",
            )
        code.do(f"store {wide} {part}, {written.pointer_type} {place}, align {dtype.itemsize}")
    context.new_statement()
    return True


def _merged(context: Context, rows: list[str], element: str, size: int) -> list[str]:
    """The elements of all rows in turn: as one vector, if there are 2, 4, .. rows, else as many."""
    count = len(rows)
    if count & count - 1 == 0:
        while (half := len(rows) // 2) > 0:
            kind = vector_of(element, size)
            rows = [_both(context, kind, size, rows[k], rows[k + half]) for k in range(half)]
            size *= 2
        return rows
    return [_slice_of_turns(context, rows, vector_of(element, size), size, n) for n in range(count)]


def _slice_of_turns(context: Context, rows: list[str], kind: str, size: int, number: int) -> str:
    """Elements number * size and following ones of all rows in turn: from one row after another."""
    first = number * size
    homes = [divmod(first + k, len(rows))[::-1] for k in range(size)]  # (row, place in it)
    made = rows[0]
    for row in range(1, len(rows)):
        picks = []
        for k, (home, place) in enumerate(homes):
            done = place if row == 1 else k
            picks.append(size + place if home == row else done if home < row else 0)
        text = ", ".join(f"i32 {p}" for p in picks)
        made = context.code.let(
            f"shufflevector {kind} {made}, {kind} {rows[row]}, <{size} x i32> <{text}>"
        )
    return made


def _both(context: Context, kind: str, size: int, a: str, b: str) -> str:
    """a[0], b[0], a[1], b[1], ... (all of both)."""
    picks = ", ".join(f"i32 {k}" for j in range(size) for k in (j, size + j))
    return context.code.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * size} x i32> <{picks}>")


def _size(context: Context, op: ForOp) -> int:
    extent = context.resolve(op.extent)
    return int(str(extent.value)) if extent.is_const else 0


def _along(
    context: Context, wide: ForOp, other: ForOp, place: Place, indices: tuple[Expr, ...],
    step: int = 1,
) -> list[Expr] | None:  # fmt: skip
    """Where vectors along `wide` start, one per iteration of `other`; None where its neighbours do
    not lie `step` apart."""
    scope = context.scope
    index = context.resolve(flat_index(place.buffer, indices, context.is_flat))
    name = f"{wide.var}$lane"
    scope.values[name] = Bound(Value("poison"), int64, True)
    lane = Lane(name, _size(context, wide), {name})
    starts = []
    for k in range(_size(context, other)):
        values = {
            other.var: add(context.resolve(other.start), const(k)),
            wide.var: add(context.resolve(wide.start), var(name)),
        }
        found = affine(_substituted(context, index, values), lane, scope)
        if found is None or not found[1].is_int(step):
            return None
        starts.append(found[0])
    return starts


def _substituted(context: Context, e: Expr, values: dict[str, Expr]) -> Expr:
    before = dict(context.scope.replaced)
    context.scope.replaced.update(values)
    found = context.resolve(e)
    context.scope.replaced = before
    return found


def _row(
    context: Context, wide: ForOp, other: ForOp, k: int, value: Expr, back: bool = False,
    side: int = 0,
) -> str:  # fmt: skip
    """The vector of `value` along `wide` (from its end, if `back`) in iteration k of `other`, as it
    is stored; filled up to `side` lanes."""
    size, name, scope = _size(context, wide), f"{wide.var}$lane", context.scope
    lanes = max(side, size)
    at = sub(const(size - 1), var(name)) if back else var(name)
    scope.replaced[wide.var] = add(context.resolve(wide.start), at)
    scope.replaced[other.var] = add(context.resolve(other.start), const(k))
    scope.values[name] = Bound(Value("poison", lanes), int64, True, 1, lanes - 1, const(lanes))
    context.vector = Lane(name, lanes, {name})
    context.new_statement()
    on = None if size == lanes else first_lanes(size, lanes)
    with context.masked(None if on is None else lane_mask(on), on):
        context.mask_is_any = True
        text = context.widen(evaluate(context, value), value.dtype, lanes)
    context.vector = None
    del scope.replaced[wide.var], scope.replaced[other.var]
    return to_memory(context.code, value.dtype, lanes, text)


def _store_across(
    context: Context, rows: list[str], written: Place, ends: list[Expr], count: int,
    element: str = "",
) -> None:  # fmt: skip
    """Store the columns of the square `rows`, `count` elements of each, at `ends`."""
    code, size = context.code, len(rows)
    dtype = written.buffer.dtype
    kind = vector_of(element or memory_type(dtype), size)
    for _ in range(size.bit_length() - 1):
        half = size // 2
        rows = [
            _interleaved(context, kind, size, rows[k], rows[k + half], start)
            for k in range(half)
            for start in (0, half)
        ]
    for end, row in zip(ends, rows, strict=False):  # what is missing of a square is not stored
        pointer = _address(context, written, end)
        if count < size:
            on = first_lanes(count, size)
            _store_masked(context, written, row, pointer, on, element or memory_type(dtype))
            continue
        code.do(f"store {kind} {row}, {written.pointer_type} {pointer}, align {dtype.itemsize}")
    context.new_statement()


def _store_masked(
    context: Context, written: Place, row: str, pointer: str, on: tuple[bool, ...], element: str
) -> None:
    """Store the lanes of `row` that are on."""
    dtype, lanes = written.buffer.dtype, len(on)
    context.code.call(
        "void",
        f"llvm.masked.store.{suffix(element, lanes)}.p{written.space}",
        [(vector_of(element, lanes), row), (written.pointer_type, pointer),
         ("i32", str(dtype.itemsize)), (f"<{lanes} x i1>", lane_mask(on))],
    )  # fmt: skip


def _address(context: Context, place: Place, index: Expr) -> str:
    offset = evaluate_scalar(context, index, "an address")
    return context.code.let(
        f"getelementptr inbounds {memory_type(place.buffer.dtype)}, "
        f"{place.pointer_type} {place.pointer}, i64 {offset}",
        "p",
    )


def _interleaved(context: Context, kind: str, size: int, a: str, b: str, start: int) -> str:
    """a[start], b[start], a[start + 1], b[start + 1], ... (half of each)."""
    picks = ", ".join(f"i32 {k}" for j in range(start, start + size // 2) for k in (j, size + j))
    return context.code.let(f"shufflevector {kind} {a}, {kind} {b}, <{size} x i32> <{picks}>")
