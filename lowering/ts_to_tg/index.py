"""Rows that read or write at positions held in tensors, embeddings, scans and sorting.

Negative positions count from the end. Positions are checked before they are used: one reduction
over the index tensor and one assertion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary, const, select
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import tensor

from .builder import Builder, Rows, Update
from .compaction import as_mask, without_masks
from .dims import dimension, dtype_of, sizes_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .reshape import reshaped
from .sizes import product, same_size, sizes_text
from .slicing import narrow
from .values import Tensor, Value


def check_bounds(b: Builder, index: Tensor, size: Expr, message: str, low: bool = True) -> None:
    """Assert that every position lies in [-size, size), or [0, size) unless `low`.

    Of many, the signs of both distances to the ends are combined: sums and bits of whole vectors,
    where comparisons would have their masks packed. A distance that wraps around is of a position
    for which the other one is negative, or becomes negative itself.
    """
    if not index.rank:
        e = b.item(index)
        above = binary("ge", e, -size if low else const(0))
        b.check(known(binary("and", above, binary("lt", e, size))), message)
        return
    least = size if low else const(0)

    def outside(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = body.read(index, r, int64)
        return binary("or", e + least, size - 1 - e)

    signs = b.reduce((), index.shape, int64, "or", outside)
    b.check(binary("ge", b.item(signs), 0), message)


def wrapped(e: Expr, size: Expr) -> Expr:
    return select(binary("lt", e, 0), e + size, e)


def index_select(b: Builder, x: Tensor, dim: Value, index: Tensor, *_: Value) -> Tensor:
    d = dimension(b, dim, x.rank)
    check_bounds(b, index, x.shape[d], "index out of range in self", low=False)
    shape = [*x.shape[:d], index.shape[0] if index.rank else const(1), *x.shape[d + 1 :]]

    def make(body: Body, i: list[Expr]) -> Expr:
        at = list(i)
        at[d] = body.read(index, [i[d]] if index.rank else [], int64)
        return body.read(x, at, x.dtype)

    return b.compute(shape, x.dtype, make, tg.GatherOp)


def gather(b: Builder, x: Tensor, dim: Value, index: Tensor, *_: Value) -> Tensor:
    if product(index.shape).is_int(0):
        return b.full(index.shape, 0, x.dtype)
    d = dimension(b, dim, x.rank)
    check_bounds(b, index, x.shape[d], "index out of bounds for dimension", low=False)

    def make(body: Body, i: list[Expr]) -> Expr:
        at = list(i)
        at[d] = body.read(index, i, int64)
        return body.read(x, at, x.dtype)

    return b.compute(index.shape, x.dtype, make, tg.GatherOp)


def of_numbers(row: Callable[..., Tensor], like: int) -> Callable[..., Tensor]:
    """The row, which may take 0-dim tensors for vectors of one; argument `like` (0 the tensor, 1
    the positions) says of what rank the result is then."""

    def run(b: Builder, x: Tensor, dim: Value, index: Tensor, *rest: Value) -> Tensor:
        if x.rank and (index.rank or row is not gather):
            return row(b, x, dim, index, *rest)
        shape = (x, index)[like].shape
        parts = [
            b.call("aten::unsqueeze", v, 0) if isinstance(v, Tensor) and not v.rank else v
            for v in (x, index, *rest)
        ]
        out = row(b, parts[0], dim, *parts[1:])
        return out if shape else b.apply("aten::reshape", out, [])

    return run


def embedding(b: Builder, weight: Tensor, index: Tensor, *_: Value) -> Tensor:
    check_bounds(b, index, weight.shape[0], "index out of range in self", low=False)

    def make(body: Body, i: list[Expr]) -> Expr:
        return body.read(weight, [body.read(index, i[:-1], int64), i[-1]], weight.dtype)

    return b.compute((*index.shape, weight.shape[1]), weight.dtype, make, tg.GatherOp)


def _layout(b: Builder, x: Tensor, indices: list[Tensor | None]) -> tuple[tuple[Expr, ...], int]:
    """Shape the index tensors broadcast to, and where it stands in the result."""
    given = [(d, t) for d, t in enumerate(indices) if t is not None]
    shape = b.broadcast_shapes(*(t.shape for _, t in given))
    dims = [d for d, _ in given]
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    for d, t in given:
        check_bounds(b, t, x.shape[d], f"index is out of bounds for dimension {d} with size")
    return shape, dims[0] if together else 0


def _positions(
    body: Body,
    x: Tensor,
    indices: list[Tensor | None],
    i: Sequence[Expr],
    at: int,
    shape: Sequence[Expr],
) -> list[Expr]:
    """The element of `x` for the result index `i`, of which the part from `at` on indexes what the
    index tensors broadcast to."""
    end = at + len(shape)
    common = i[at:end]
    rest = iter([*i[:at], *i[end:]])
    out = []
    for d in range(x.rank):
        t = indices[d] if d < len(indices) else None
        if t is None:
            out.append(next(rest))
        else:
            out.append(wrapped(body.broadcast(t, common, int64, shape), x.shape[d]))
    return out


def index(b: Builder, x: Tensor, indices: list[Tensor | None], *_: Value) -> Tensor:
    x, indices = without_masks(b, x, indices)
    shape, at = _layout(b, x, indices)
    free = [s for d, s in enumerate(x.shape) if d >= len(indices) or indices[d] is None]
    full = [*free[:at], *shape, *free[at:]]
    return b.compute(
        full,
        x.dtype,
        lambda body, i: body.read(x, _positions(body, x, indices, i, at, shape), x.dtype),
        tg.GatherOp,
    )


def _check_values(b: Builder, values: Tensor, shape: Sequence[Expr]) -> None:
    """What is written broadcasts to the places it is written to."""
    message = (
        f"shape mismatch: value tensor of shape {sizes_text(values.shape)} cannot be broadcast to"
        f" indexing result of shape {sizes_text(shape)}"
    )
    lead = len(shape) - values.rank
    if lead < 0:
        b.error(message)
    for have, want in zip(values.shape, shape[lead:], strict=True):
        if have.is_int(1) or same_size(have, want):
            continue
        b.take_above_one(have)
        fits = binary("eq", have, want)
        if b.is_found(have):
            fits = binary("or", fits, binary("eq", have, 1))
        b.check(known(b.unsized(fits)), message)


def index_put(
    b: Builder,
    x: Tensor,
    indices: list[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    *_: Value,
) -> Tensor:
    alone = len(indices) == 1 and not values.rank and not accumulate
    if alone and (mask := as_mask(b, indices[0])) is not None:
        for _dim in range(x.rank - mask.rank):
            mask = b.call("aten::unsqueeze", mask, -1)
        return b.cast(b.call("aten::where", mask, values, x), x.dtype)
    place, indices = without_masks(b, x, indices)
    shape, at = _layout(b, place, indices)
    free = [s for d, s in enumerate(place.shape) if d >= len(indices) or indices[d] is None]
    full = [*free[:at], *shape, *free[at:]]
    _check_values(b, values, full)

    def make(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
        where = _positions(body, place, indices, d, at, shape)
        return where, body.broadcast(values, d, x.dtype, full)

    made = b.scatter(place, full, make, "add" if accumulate else "set")
    return made if place is x else reshaped(b, made, x.shape)


def scatter(combiner: str) -> Callable[..., Tensor]:
    def row(
        b: Builder, x: Tensor, dim: Value, index: Tensor, source: Value, reduce: str = "", *_: Value
    ) -> Tensor:
        if reduce and reduce not in REDUCE:
            b.error("reduce argument must be either add or multiply.")
        d = dimension(b, dim, x.rank)
        check_bounds(b, index, x.shape[d], "index out of bounds for dimension", low=False)

        def make(body: Body, at: list[Expr]) -> tuple[Sequence[Expr], Expr]:
            where = list(at)
            where[d] = body.read(index, at, int64)
            if isinstance(source, Tensor):
                return where, body.read(source, at, x.dtype)
            return where, body.scalar(source, x.dtype)

        return _wide_sums(b, x, index.shape, make, REDUCE.get(reduce, combiner))

    return row


def _wide_sums(
    b: Builder, x: Tensor, extents: Sequence[Expr], make: Update, combiner: str
) -> Tensor:
    """A scatter whose sums of half types are rounded once, as PyTorch's are."""
    wide = compute_dtype(x.dtype)
    if combiner != "add" or wide is x.dtype:
        return b.scatter(x, extents, make, combiner)
    return b.cast(b.scatter(b.cast(x, wide), extents, make, combiner), x.dtype)


REDUCE = {"add": "add", "multiply": "mul"}
"""The words of `scatter(..., reduce=)`."""


def along(combiner: str) -> Callable[..., Tensor]:
    """index_add, index_copy: slices of `source` at positions of a vector."""

    def row(
        b: Builder,
        x: Tensor,
        dim: Value,
        index: Tensor,
        source: Tensor,
        alpha: Value = 1,
        *_: Value,
    ) -> Tensor:
        d = dimension(b, dim, x.rank)
        check_bounds(b, index, x.shape[d], "index out of range in self", low=False)

        def make(body: Body, at: list[Expr]) -> tuple[Sequence[Expr], Expr]:
            where = list(at)
            where[d] = body.read(index, [at[d]], int64)
            value = body.read(source, at, x.dtype)
            return where, value if alpha == 1 else value * body.scalar(alpha, x.dtype)

        return b.scatter(x, source.shape, make, combiner)

    return row


def scan(combiner: str) -> Callable[..., Tensor]:
    def row(b: Builder, x: Tensor, dim: Value, dtype: Value = None, *_: Value) -> Tensor:
        kind = dtype_of(dtype, x.dtype if x.dtype.is_floating_point else int64)
        if not x.rank:
            return b.cast(x, kind)
        d = dimension(b, dim, x.rank)
        wide = b.ssa(b.cast(x, compute_dtype(kind)))
        op = b.once(("scan", d, combiner, wide), lambda: tg.ScanOp(wide, d, combiner))
        return b.cast(b.fresh(op.result), kind)

    return row


def sort(b: Builder, x: Tensor, dim: Value = -1, descending: bool = False, *_: Value) -> Value:
    if not x.rank:
        return b.copied(x), b.full((), 0, int64)
    d = dimension(b, dim, x.rank)
    return first_sorted(b, x, d, descending, x.shape[d])


def first_sorted(b: Builder, x: Tensor, d: int, descending: bool, count: Expr) -> Value:
    """The first `count` values in sorted order along `d`, and their indices."""
    value = b.ssa(x)
    kind = tensor(int64, (*x.shape[:d], count, *x.shape[d + 1 :]))
    op = b.once(
        ("sort", d, bool(descending), count, value),
        lambda: tg.SortOp(value, d, bool(descending), kind),
    )
    return b.fresh(op.values), b.fresh(op.indices)


def _topk(
    b: Builder, x: Tensor, k: Value, dim: Value = -1, largest: bool = True, *_: Value
) -> Value:
    if not x.rank:
        fits = binary("and", binary("ge", as_expr(k), 0), binary("le", as_expr(k), 1))
        b.check(known(fits), "selected index k out of range")
        return sort(b, x, dim, largest)
    d = dimension(b, dim, x.rank)
    size = x.shape[d]
    if not isinstance(k, int) or not size.is_const:
        values, indices = sort(b, x, d, largest)
        return b.copied(narrow(b, values, d, 0, k)), b.copied(narrow(b, indices, d, 0, k))
    if not 0 <= k <= int(str(size)):
        b.error("selected index k out of range")
    return first_sorted(b, x, d, largest, const(k))


def _one_hot(b: Builder, x: Tensor, classes: Value = -1, *_: Value) -> Tensor:
    if not isinstance(classes, int):
        b.cannot("a number of classes that is not known")
    if classes < -1:
        b.error("Class values must be smaller than num_classes.")
    if classes < 0:
        if product(x.shape).is_int(0):
            b.error("Can not infer total number of classes from empty tensor.")
        (count,) = sizes_of(b, [as_expr(b.item(b.apply("aten::max", x))) + 1])
    else:
        count = const(classes)
    check_bounds(b, x, count, "Class values must be smaller than num_classes.", low=False)

    def make(body: Body, i: list[Expr]) -> Expr:
        hit = body.read(x, i[:-1], int64).equals(i[-1])
        return select(hit, const(1), const(0))

    return b.compute((*x.shape, count), int64, make)


INDEX: Rows = {
    "aten::index_select": of_numbers(index_select, 0),
    "aten::gather": of_numbers(gather, 1),
    "aten::embedding": embedding,
    "aten::index": index,
    "aten::index_put": index_put,
    "aten::_index_put_impl": index_put,
    "aten::scatter": of_numbers(scatter("set"), 0),
    "aten::scatter_add": of_numbers(scatter("add"), 0),
    "aten::index_add": of_numbers(along("add"), 0),
    "aten::index_copy": of_numbers(along("set"), 0),
    "aten::cumsum": scan("add"),
    "aten::cumprod": scan("mul"),
    "aten::sort": sort,
    "aten::sort.stable": lambda b, x, stable, dim=-1, descending=False: sort(b, x, dim, descending),
    "aten::msort": lambda b, x: sort(b, x, 0)[0],
    "aten::argsort": lambda b, x, *a: sort(b, x, *a)[1],
    "aten::argsort.stable": lambda b, x, stable, dim=-1, descending=False: sort(
        b, x, dim, descending
    )[1],
    "aten::topk": _topk,
    "aten::one_hot": _one_hot,
}
