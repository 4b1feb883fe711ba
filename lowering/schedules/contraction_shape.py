"""Recognise a matrix product in a logical contraction nest.

A contraction kernel is `out[i..] = epilogue(sum over r.. of X * Y)`. Each loop variable belongs to
one class by the factors that read it:

| class | in X | in Y | role |
|---|---|---|---|
| row (M) | yes | no | rows of the tile |
| column (N) | no | yes | columns of the tile: the output's last dimensions (contiguous stores) |
| batch | yes or no | yes or no | everything else: loops around the product |
| depth (K) | reduction loops | | the sum |

Leading rows that do not follow in memory on those before (images whose channels are the depth) are
loops around the product, too, if many rows are left.

Convolution is the same product with guarded index maps: weights are X, the image is Y, whose
packing gathers the windows (implicit im2col).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import Operation

from tensorscript.base.dtypes import (
    DType,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, cast, const, mul, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, StoreOp, UpdateOp, statements
from tensorscript.dialects.te.polynomial import equal
from tensorscript.dialects.te.ranges import Interval
from tensorscript.dialects.te.rewriting import replace_loads, substitute, transform, walk
from tensorscript.dialects.te.simplify import simplify

from ..te.affine import all_buffers, coefficient, flat_index, known

SUM_DTYPES: dict[DType, DType] = {
    float32: float32, float64: float64, int64: int64,
    **dict.fromkeys((uint8, int8, int16, int32), int32),
}  # fmt: skip
"""In what a product of a dtype is packed and summed up: narrow integers wrap around in 32 bits as
they do in their own. Half types arrive here as conversions to float32."""


LEAST_GROUP = 4
"""Channels of a group that are rows of a product."""
MOST_TURNED = 7
"""Columns of a product whose rows may be its columns."""
LEAST_ROWS = 64
"""Rows that make a product of their own."""


@dataclass
class Axis:
    """A flattened group of loops: row-major order, outermost first."""

    names: list[str]
    extents: list[Expr]

    @property
    def pairs(self) -> list[tuple[str, Expr]]:
        return list(zip(self.names, self.extents, strict=True))

    @property
    def size(self) -> Expr:
        total = const(1)
        for extent in self.extents:
            total = mul(total, extent)
        return total

    def flat(self) -> Expr:
        """The flat position that the loop variables stand at."""
        total = const(0)
        for name, extent in zip(self.names, self.extents, strict=True):
            total = mul(total, extent) + var(name)
        return total

    def is_even(self, position: Expr) -> bool:
        """Whether the flat position moves `position` by the same step everywhere."""
        steps = [coefficient(position, name) for name in self.names]
        if any(step is None for step in steps):
            return False
        known_steps = [step for step in steps if step is not None]
        return all(
            equal(slow, mul(fast, extent))
            for slow, fast, extent in zip(
                known_steps, known_steps[1:], self.extents[1:], strict=False
            )
        )

    def collapse(self, index: Expr) -> dict[str, Expr]:
        """The flat position as the value of the last loop, the others at 0."""
        values = dict.fromkeys(self.names[:-1], const(0))
        return values | {name: index for name in self.names[-1:]}

    def unflatten(self, index: Expr) -> dict[str, Expr]:
        """Values of the loop variables at the flat position `index`."""
        values: dict[str, Expr] = {}
        step = const(1)
        for position in reversed(range(len(self.names))):
            digit = index if step.is_int(1) else index // step
            if position:
                digit = digit % self.extents[position]
            values[self.names[position]] = digit
            step = mul(step, self.extents[position])
        return values


@dataclass
class Product:
    """out = epilogue(sum_k x * y) over batch loops, rows, columns.

    `accumulator` is the buffer the sum is read from in `epilogue`; `epilogue` are the stores after
    the reduction (empty when the output itself is the accumulator, `target`).
    """

    batch: Axis
    rows: Axis
    columns: Axis
    depth: Axis
    x: Expr
    y: Expr
    target: UpdateOp
    epilogue: list[StoreOp]


def perfect_loops(func: FuncOp) -> tuple[list[ForOp], list[Operation]]:
    """Loops that hold nothing but the next one, from the outermost; and what the last holds."""
    loops: list[ForOp] = []
    body = list(func.block.ops)
    while len(body) == 1 and isinstance(body[0], ForOp) and not body[0].is_reduction:
        loops.append(body[0])
        body = list(body[0].block.ops)
    return loops, body


def reduction_in(body: list[Operation]) -> tuple[list[ForOp], UpdateOp] | None:
    """The only nest among statements and the sum inside of it."""
    nests = [op for op in body if isinstance(op, ForOp)]
    if len(nests) != 1:
        return None
    loops: list[ForOp] = []
    current: Operation = nests[0]
    while isinstance(current, ForOp):
        loops.append(current)
        inner = list(statements(current))
        if len(inner) != 1:
            return None
        current = inner[0]
    if not isinstance(current, UpdateOp) or current.combiner != "add":
        return None
    return loops, current


def epilogue_of(body: Sequence[Operation], summed: str) -> list[StoreOp] | None:
    """What a kernel stores after its sum, which it reads from `summed`; None if it does more.

    A number on the way that is kept in a buffer of its own stands in the place of its readers:
    equal expressions are computed once.
    """
    if any(not isinstance(op, StoreOp | ForOp | AllocOp) for op in body):
        return None
    kept = {op.buffer.name for op in body if isinstance(op, AllocOp)} - {summed}
    known: dict[str, Expr] = {}

    def through(n: Expr) -> Expr | None:
        return cast(known[str(n.value)], n.dtype) if n.value in known else None

    out: list[StoreOp] = []
    for op in body:
        if not isinstance(op, StoreOp) or op.buffer == summed:
            continue
        value = replace_loads(op.value, through)
        if op.buffer in kept:
            known[op.buffer] = value
        else:
            out.append(StoreOp(op.buffer, op.indices, value))
    return out


def recognise(func: FuncOp) -> Product | None:
    """The product a kernel computes, or None if it has another form."""
    loops, body = perfect_loops(func)
    if (found := reduction_in(body)) is None or not loops:
        return None
    depth_loops, update = found
    value = update.value
    if value.op != "mul":
        return None
    x, y = value.args
    if (epilogue := epilogue_of(body, update.buffer)) is None:
        return None
    around = Axis([loop.var for loop in loops], [loop.extent for loop in loops])
    around, x, y, update, epilogue = _groups_apart(around, x, y, update, epilogue)

    last = next((n for n, e in reversed(around.pairs) if not e.is_int(1)), around.names[-1])
    if last not in y.free:
        x, y = y, x
    if last not in y.free or last in x.free:
        return None
    columns, rows, batch = _classify(around, x.free, y.free)
    rows, apart = _rows_that_follow(rows, x, all_buffers(func))
    batch = Axis(apart.names + batch.names, apart.extents + batch.extents)
    depth = Axis([loop.var for loop in depth_loops], [loop.extent for loop in depth_loops])
    depth, (x, y) = _by_digits(depth, (x, y))
    return Product(batch, rows, columns, depth, x, y, update, epilogue)


def _groups_apart(
    around: Axis, x: Expr, y: Expr, update: UpdateOp, epilogue: list[StoreOp]
) -> tuple[Axis, Expr, Expr, UpdateOp, list[StoreOp]]:
    """Two loops in the place of one over the channels of all groups, of which one factor reads
    only the group: groups are a batch, and the channels of a group rows."""
    here = (around, x, y, update, epilogue)
    both = [name for name in around.names if name in x.free & y.free]
    parts = [n for n in both if min(_divisors(n, (x, y)), default=0) >= LEAST_GROUP]
    if len(parts) != 1:
        return here
    (name,) = parts
    position = around.names.index(name)
    axis = Axis([name], [around.extents[position]])
    made, (x, y) = _by_digits(axis, (x, y))
    if len(made.names) == 1 or f"{name}_step" in x.free & y.free:
        return here
    digits = {name: made.flat()}
    names, extents = list(around.names), list(around.extents)
    names[position : position + 1], extents[position : position + 1] = made.names, made.extents
    stores = [
        StoreOp(s.buffer, [at(i, digits) for i in s.indices], at(s.value, digits)) for s in epilogue
    ]
    target = UpdateOp(
        update.buffer, [at(i, digits) for i in update.indices], update.combiner, x * y
    )
    return Axis(names, extents), x, y, target, stores


def _by_digits(axis: Axis, readers: tuple[Expr, ...]) -> tuple[Axis, list[Expr]]:
    """Two loops in the place of one that is read by its quotient and remainder, as a flattened
    dimension is: memory goes on evenly in the inner one."""
    made, values, ranges = Axis([], []), dict[str, Expr](), dict[str, Interval]()
    for name, extent in zip(axis.names, axis.extents, strict=True):
        size, parts = known(extent), _divisors(name, readers)
        if size is None or len(parts) != 1 or size % (part := parts.pop()):
            made.names.append(name)
            made.extents.append(extent)
            continue
        outer, inner = f"{name}_part", f"{name}_step"
        made.names += [outer, inner]
        made.extents += [const(size // part), const(part)]
        values[name] = var(outer) * part + var(inner)
        ranges[outer], ranges[inner] = Interval(0, size // part - 1), Interval(0, part - 1)
    return made, [simplify(substitute(e, values), ranges) if values else e for e in readers]


def _divisors(name: str, readers: Iterable[Expr]) -> set[int]:
    """The numbers that a loop variable is divided by."""
    return {
        number
        for reader in readers
        for n in walk(reader)
        if n.op in ("floordiv", "mod") and n.args[0] is var(name)
        if (number := known(n.args[1])) is not None and number > 1
    }


def _classify(around: Axis, in_x: frozenset[str], in_y: frozenset[str]) -> tuple[Axis, Axis, Axis]:
    """(columns, rows, batch): columns are the longest run of trailing loops that only Y reads."""
    count = len(around.names)
    while count and (around.names[count - 1] not in in_x):
        count -= 1
    columns = Axis(around.names[count:], around.extents[count:])
    rows, batch = Axis([], []), Axis([], [])
    for name, extent in zip(around.names[:count], around.extents, strict=False):
        axis = rows if name in in_x and name not in in_y else batch
        axis.names.append(name)
        axis.extents.append(extent)
    return columns, rows, batch


def _rows_that_follow(rows: Axis, x: Expr, buffers: Mapping[str, Buffer]) -> tuple[Axis, Axis]:
    """The last loops of rows, evenly through the memory of X, and those in front of them."""
    memory = memory_of(x)
    if memory is None or len(rows.names) < 2:
        return rows, Axis([], [])
    position = flat_index(buffers[str(memory.value)], memory.args)
    for first in range(len(rows.names)):
        apart, left = (
            Axis(rows.names[part], rows.extents[part])
            for part in (slice(first), slice(first, None))
        )
        if left.is_even(position):
            enough = left.size.is_const and int(str(left.size)) >= LEAST_ROWS
            return (left, apart) if enough else (rows, Axis([], []))
    return rows, Axis([], [])


def product_in_row(rows: Axis, loop: Operation) -> Product | None:
    """The product that a loop over the columns computes a row of, of columns and a depth that are
    known and without a batch; None if the loop does something else."""
    if not isinstance(loop, ForOp) or loop.is_reduction:
        return None
    body = list(loop.block.ops)
    found = reduction_in(body)
    if found is None or found[1].value.op != "mul":
        return None
    depth_loops, update = found
    if (epilogue := epilogue_of(body, update.buffer)) is None:
        return None
    x, y = update.value.args
    if loop.var in x.free:
        x, y = y, x
    if loop.var in x.free or y.free & set(rows.names) or update.value.dtype not in SUM_DTYPES:
        return None
    columns = Axis([loop.var], [loop.extent])
    depth = Axis([inner.var for inner in depth_loops], [inner.extent for inner in depth_loops])
    if known(columns.size) is None or known(depth.size) is None:
        return None
    depth, (x, y) = _by_digits(depth, (x, y))
    return Product(Axis([], []), rows, columns, depth, x, y, update, epilogue)


def rows_apart(product: Product, buffers: Mapping[str, Buffer]) -> Product:
    """The product whose first loops of rows are a batch if they do not follow evenly in memory."""
    rows, apart = _rows_that_follow(product.rows, product.x, buffers)
    return replace(product, batch=apart, rows=rows)


def product_of(func: FuncOp) -> Product | None:
    """The product of matrices that a logical function computes, if it is one."""
    product = recognise(func)
    if product is None or product.target.value.dtype not in SUM_DTYPES:
        return None
    return _turned(product) if _lies_along_rows(product, all_buffers(func)) else product


def _turned(p: Product) -> Product:
    """The product with rows for columns."""
    return replace(p, rows=p.columns, columns=p.rows, x=p.y, y=p.x)


def _lies_along_rows(p: Product, buffers: Mapping[str, Buffer]) -> bool:
    """Too few columns for vectors, and a first factor that lies along the rows: what vectors of
    rows store is scattered, but what they read is most of it."""
    rows, columns, memory = known(p.rows.size), known(p.columns.size), memory_of(p.x)
    if rows is None or columns is None or memory is None or not p.rows.names:
        return False
    if columns > MOST_TURNED or rows < LEAST_ROWS:
        return False
    position = flat_index(buffers[str(memory.value)], memory.args)
    step = coefficient(position, p.rows.names[-1])
    return step is not None and step.is_int(1) and p.rows.is_even(position)


def memory_of(factor: Expr) -> Expr | None:
    """The load that a factor is, perhaps converted; None if it is more."""
    while factor.op == "cast":
        (factor,) = factor.args
    return factor if factor.op == "load" else None


def made_of(factor: Expr, fixed: frozenset[str]) -> bool:
    """A factor is one of the parameters `fixed`, which every call passes a constant for."""
    memory = memory_of(factor)
    return memory is not None and str(memory.value) in fixed


def at(e: Expr, *values: dict[str, Expr]) -> Expr:
    """`e` with loop variables replaced."""
    merged: dict[str, Expr] = {}
    for part in values:
        merged |= part
    return substitute(e, merged)


@dataclass(frozen=True)
class Spots:
    """Flat positions along some axes, put into expressions.

    Where memory goes on evenly from one loop of an axis to the next, an access takes the position
    as the index of the last loop (which may leave its dimension, not the buffer): a vector of
    positions is then a vector in memory. Elsewhere the position is divided up.
    """

    buffers: Mapping[str, Buffer]
    places: tuple[tuple[Axis, Expr], ...]

    def _values(self, position: Expr | None) -> dict[str, Expr]:
        found: dict[str, Expr] = {}
        for axis, index in self.places:
            even = position is not None and axis.is_even(position)
            found |= axis.collapse(index) if even else axis.unflatten(index)
        return found

    def expression(self, e: Expr) -> Expr:
        """Accesses first. They are set aside meanwhile: a position may be made of variables that
        have the names of the axes' loops."""
        accesses: list[Expr] = []

        def visit(n: Expr) -> Expr | None:
            if n.op != "load":
                return None
            position = flat_index(self.buffers[str(n.value)], n.args)
            accesses.append(substitute(n, self._values(position)))
            return var(f"access {len(accesses) - 1}", n.dtype)

        placed = at(transform(e, visit), self._values(None))
        for k, access in reversed(list(enumerate(accesses))):
            placed = substitute(placed, {f"access {k}": access})
        return placed

    def indices(self, buffer: str, indices: Iterable[Expr]) -> list[Expr]:
        """The indices of a store to `buffer`."""
        own = tuple(indices)
        values = self._values(flat_index(self.buffers[buffer], own))
        return [at(i, values) for i in own]


def results(
    product: Product, buffers: Mapping[str, Buffer], row: Expr, column: Expr, total: Expr
) -> list[StoreOp]:
    """What a product stores at a flat row and column, of the sum that is found for them."""
    target = product.target
    total = cast(total, target.value.dtype)
    spots = Spots(buffers, ((product.rows, row), (product.columns, column)))
    if not product.epilogue:
        return [StoreOp(target.buffer, spots.indices(target.buffer, target.indices), total)]

    def through(n: Expr) -> Expr | None:
        return cast(total, n.dtype) if n.value == target.buffer else None

    return [
        StoreOp(
            s.buffer,
            spots.indices(s.buffer, s.indices),
            replace_loads(spots.expression(s.value), through),
        )
        for s in product.epilogue
    ]
