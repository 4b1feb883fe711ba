"""Rows whose result is as long as a condition holds: nonzero, masks as indices, unique.

The places where a mask holds are numbered by a running sum, and each is stored at its number; what
does not count goes into one element more, which the result leaves out:

```
mask     0 1 1 0 1         size = 3 (tg.size)
sum      0 1 2 2 3
places   [1, 2, 4 | 3]     view of the first 3
```
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, int64, uint8
from tensorscript.dialects.te.expr import Expr, binary, const, select, var
from tensorscript.dialects.tg import ops as tg

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .emission import Body
from .reshape import reshaped
from .sizes import product, simplify
from .values import ComplexTensor, Tensor, Value
from .view import view


def places(b: Builder, mask: Tensor) -> Tensor:
    """The row-major numbers of the elements of a mask that hold, in order."""
    total = product(mask.shape)
    flat = reshaped(b, mask, (total,))
    ones = b.cast(flat, int64)
    count = b.item(
        b.reduce((), [total], int64, "add", lambda body, i, r: body.read(ones, r, int64))
    )
    size = b.size(b.scalar_of(b.scalar_operand(count)))
    running = b.fresh(b.emit(tg.ScanOp(b.ssa(ones), 0, "add")).result)
    base = b.full((simplify(size + 1),), 0, int64)

    def make(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        number = body.read(running, d, int64) - 1
        return [select(body.read(flat, d, bool_), number, size)], d[0]

    made = b.scatter(base, [total], make)
    return view(made, [size], [var("i0")])


def _taken(b: Builder, x: Tensor, numbers: Tensor) -> Tensor:
    """The elements of a flat tensor at the given places."""

    def make(body: Body, i: list[Expr]) -> Expr:
        return body.read(x, [body.read(numbers, i, int64)], x.dtype)

    return b.compute(numbers.shape, x.dtype, make, tg.GatherOp)


def _coordinates(b: Builder, numbers: Tensor, shape: Sequence[Expr]) -> list[Tensor]:
    """Row-major numbers as an index per dimension."""
    found: list[Tensor] = []
    inner = const(1)
    for size in reversed(shape):
        step = inner

        def make(body: Body, i: list[Expr], step: Expr = step, size: Expr = size) -> Expr:
            at = body.read(numbers, i, int64)
            return (at if step.is_int(1) else at // step) % size

        found.append(b.compute(numbers.shape, int64, make))
        inner = simplify(inner * size)
    return found[::-1]


def nonzero(b: Builder, x: Tensor, *_: Value) -> Tensor:
    """The indices of elements that are not zero, one row each."""
    numbers = places(b, b.cast(x, bool_))
    parts = _coordinates(b, numbers, x.shape)
    if not parts:
        return b.full((numbers.shape[0], 0), 0, int64)

    def make(body: Body, i: list[Expr]) -> Expr:
        out = body.read(parts[-1], [i[0]], int64)
        for d in range(len(parts) - 2, -1, -1):
            out = select(binary("eq", i[1], d), body.read(parts[d], [i[0]], int64), out)
        return out

    return b.compute((numbers.shape[0], len(parts)), int64, make)


def _nonzero_static(b: Builder, x: Tensor, size: Value, fill: Value = -1, *_: Value) -> Tensor:
    """The first `size` rows of `nonzero`, filled up."""
    if not isinstance(size, int):
        b.cannot("a number of rows that is not known")
    if size < 0:
        b.error(f"nonzero_static: 'size' must be an non-negative integer, but got {size}")
    total = product(x.shape)
    flat = reshaped(b, b.cast(x, bool_), (total,))
    running = b.fresh(b.emit(tg.ScanOp(b.ssa(b.cast(flat, int64)), 0, "add")).result)

    def make(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        number = body.read(running, d, int64) - 1
        kept = binary("and", body.read(flat, d, bool_), number < size)
        return [select(kept, number, const(size))], select(kept, d[0], const(-1))

    numbers = b.scatter(b.full((size + 1,), -1, int64), [total], make)

    def index(body: Body, i: list[Expr]) -> Expr:
        at = body.read(numbers, [i[0]], int64)
        out, inner = const(0), const(1)
        for d in range(x.rank - 1, -1, -1):
            found = at // inner % binary("max", x.shape[d], 1)
            out = select(binary("eq", i[1], d), found, out)
            inner = simplify(inner * binary("max", x.shape[d], 1))
        return select(at < 0, body.scalar(fill, int64), out)

    return b.compute((size, x.rank), int64, index)


def nonzero_by_dimension(b: Builder, x: Tensor, *_: Value) -> list[Tensor]:
    """`nonzero(as_tuple=True)`: one vector a dimension."""
    if not x.rank:
        x = reshaped(b, x, (const(1),))
    return _coordinates(b, places(b, b.cast(x, bool_)), x.shape)


def _masked_select(b: Builder, x: AnyTensor, mask: Tensor, *_: Value) -> AnyTensor:
    if mask.dtype is not bool_:
        b.error("masked_select: expected BoolTensor for mask")
    shape = b.broadcast_shapes(x.shape, mask.shape)
    total = (product(shape),)
    where = b.compute(shape, bool_, lambda body, i: body.broadcast(mask, i, bool_, shape))
    numbers = places(b, where)

    def part(t: Tensor) -> Tensor:
        wide = b.compute(shape, t.dtype, lambda body, i: body.broadcast(t, i, t.dtype, shape))
        return _taken(b, reshaped(b, wide, total), numbers)

    return ComplexTensor(*map(part, x.elements)) if isinstance(x, ComplexTensor) else part(x)


def as_mask(b: Builder, index: Tensor | None) -> Tensor | None:
    """An index that is a mask as bools, which bytes are as well; any other one is None."""
    if index is None or index.dtype not in (bool_, uint8):
        return None
    return b.cast(index, bool_)


def without_masks(
    b: Builder, x: Tensor, indices: Sequence[Tensor | None]
) -> tuple[Tensor, list[Tensor | None]]:
    """Indices with the positions in place of each mask, and what they index: `x`, in which a 0-dim
    mask stands for a dimension of its own, of size 1."""
    out: list[Tensor | None] = []
    for index in indices:
        if (mask := as_mask(b, index)) is None:
            out.append(index)
            continue
        if not mask.rank:
            x = b.call("aten::unsqueeze", x, len(out))
        for d, size in enumerate(mask.shape):
            b.require_same(
                size,
                x.shape[len(out) + d],
                f"The shape of the mask {list(mask.shape)} at index {d} does not match the shape"
                f" of the indexed tensor {list(x.shape)} at index {len(out) + d}",
            )
        out += nonzero_by_dimension(b, mask)
    return x, out


def unique(
    b: Builder, x: Tensor, ordered: Value = True, inverse: Value = False, counts: Value = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct elements in ascending order, where each element is among them, and how often
    each occurs (0-sized where not asked for)."""
    total = product(x.shape)
    flat = reshaped(b, x, (total,))
    values, order = b.call("aten::sort", flat, 0, False)
    first = _first_of_each(b, values)
    starts = places(b, first)
    out = _taken(b, values, starts)
    nothing = b.full((0,), 0, int64)
    where = _inverse_of(b, first, order, total, x) if inverse is True else nothing
    return out, where, counts_of(b, starts, total) if counts is True else nothing


def unique_consecutive(
    b: Builder, x: Tensor, inverse: Value = False, counts: Value = False
) -> tuple[Tensor, Tensor, Tensor]:
    """`unique` of runs of equal elements, in the order they stand in."""
    total = product(x.shape)
    flat = reshaped(b, x, (total,))
    first = _first_of_each(b, flat)
    starts = places(b, first)
    nothing = b.full((0,), 0, int64)
    where = nothing
    if inverse is True:
        where = reshaped(b, ranks_of(b, first), x.shape)
    counted = counts_of(b, starts, total) if counts is True else nothing
    return _taken(b, flat, starts), where, counted


def _first_of_each(b: Builder, x: Tensor) -> Tensor:
    """Where an element differs from the one before."""

    def make(body: Body, i: list[Expr]) -> Expr:
        before = body.read(x, [i[0] - 1], x.dtype)
        differs = binary("ne", body.read(x, i, x.dtype), before)
        return select(binary("eq", i[0], 0), const(True, bool_), differs)

    return b.compute(x.shape, bool_, make)


def ranks_of(b: Builder, first: Tensor) -> Tensor:
    """The number of the run that each element belongs to."""
    running = b.fresh(b.emit(tg.ScanOp(b.ssa(b.cast(first, int64)), 0, "add")).result)
    return b.compute(first.shape, int64, lambda body, i: body.read(running, i, int64) - 1)


def _inverse_of(b: Builder, first: Tensor, order: Tensor, total: Expr, x: Tensor) -> Tensor:
    ranks = ranks_of(b, first)

    def make(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        return [body.read(order, d, int64)], body.read(ranks, d, int64)

    placed = b.scatter(b.full((total,), 0, int64), [total], make)
    return reshaped(b, placed, x.shape)


def counts_of(b: Builder, starts: Tensor, total: Expr) -> Tensor:
    """The distance from each start to the next, for the last one to the end."""
    size = starts.shape[0]

    def make(body: Body, i: list[Expr]) -> Expr:
        last = binary("eq", i[0], size - 1)
        following = select(last, total, body.read(starts, [i[0] + 1], int64))
        return following - body.read(starts, i, int64)

    return b.compute((size,), int64, make)


COMPACTION: Rows = {
    "aten::nonzero": nonzero,
    "aten::nonzero_static": _nonzero_static,
    "aten::argwhere": nonzero,
    "aten::nonzero_numpy": nonzero_by_dimension,
    "aten::masked_select": _masked_select,
    "aten::_unique2": unique,
    "aten::_unique": lambda b, x, ordered=True, inverse=False: unique(b, x, ordered, inverse)[:2],
}
