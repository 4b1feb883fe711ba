"""Embedding bags: rows of a table summed, averaged or maximised by bag.

A bag is a span of the indices, and the bag of an index is the number of bags that begin up to it.
So each index is read once, in order, and what it stands for goes to the row of its bag:

    begins = [1 0 0 1 0 ..]         one at every offset
    owner  = cumsum(begins) - 1
    out[owner[k], :] += table[indices[k], :]

Bags of one length, the rows of indices of two dimensions, are a plain reduction.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.bags import MAX, MEAN, SUM, knows_owners
from tensorscript.base.dtypes import DType, bool_, int32, int64, promote_types
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, Number, all_of, binary, const, select, var
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.tg.ops import ComputeOp

from .builder import Builder, Rows
from .elements import compute_dtype, known
from .emission import Body
from .index import check_bounds, wrapped
from .sizes import same_size, simplify, sizes_text
from .values import Tensor, Value

_NONE = 2**62
"""A number that no index has."""


@dataclass(frozen=True)
class _Bags:
    """Which indices each bag takes.

    Attributes:
        indices: rows of the table, (total).
        offsets: where each bag begins, (count), or with `has_last` where the last ends, too.
        skipped: the row that no bag takes; None if there is none.
    """

    indices: Tensor
    offsets: Tensor
    has_last: bool
    skipped: Expr | None

    @property
    def total(self) -> Expr:
        return self.indices.shape[0]

    @property
    def count(self) -> Expr:
        starts = self.offsets.shape[0]
        return simplify(starts - 1) if self.has_last else starts

    @property
    def read_count(self) -> Expr:
        """How many indices are read: none where there is no bag to take them."""
        return simplify(binary("min", self.total, self.total * self.count))

    def begin(self, body: Body, bag: Expr) -> Expr:
        return body.read(self.offsets, [bag], int64)

    def end(self, body: Body, bag: Expr) -> Expr:
        if self.has_last:
            return self.begin(body, bag + 1)
        has_next = binary("lt", bag + 1, self.count)
        return select(has_next, self.begin(body, select(has_next, bag + 1, bag)), self.total)

    def spans(self, body: Body, at: Expr) -> Expr:
        """Whether index number `at` lies in a bag: behind the last one there may be others."""
        if not self.has_last:
            return const(True, bool_)
        return binary("lt", at, self.begin(body, self.count))

    def takes(self, body: Body, at: Expr) -> Expr:
        """Whether the bag of index number `at` takes it."""
        inside = self.spans(body, at)
        if self.skipped is None:
            return inside
        return all_of([inside, binary("ne", body.read(self.indices, [at], int64), self.skipped)])

    def length(self, b: Builder) -> Expr | None:
        """The one length of all bags, where the program computes the offsets as k * length."""
        op = b.ssa(self.offsets).owner
        if self.has_last or not isinstance(op, ComputeOp) or op.inputs:
            return None
        offset = op.body.data
        length = simplify(substitute(offset, {"i0": const(1)}))
        same = simplify(offset) == simplify(var("i0") * length)
        return length if same and same_size(length * self.count, self.total) else None


@dataclass(frozen=True)
class _Entries:
    """Rows of a table (V, D), each times its weight if there are weights."""

    table: Tensor
    scale: Tensor | None
    dtype: DType

    @property
    def width(self) -> Expr:
        return self.table.shape[1]

    def read(self, body: Body, bags: _Bags, at: Expr, column: Expr) -> Expr:
        """What index number `at` stands for, in one column."""
        value = body.read(self.table, [body.read(bags.indices, [at], int64), column], self.dtype)
        return value if self.scale is None else value * body.read(self.scale, [at], self.dtype)


@dataclass(frozen=True)
class _Reducer:
    """Combines what indices stand for by bag.

    Attributes:
        owner: the bag of each index, (total); 0 for those in none.
        length: of all bags, where it is one.
    """

    b: Builder
    bags: _Bags
    owner: Tensor
    length: Expr | None

    def combine(
        self,
        columns: list[Expr],
        dtype: DType,
        combiner: str,
        rest: Number,
        make: Callable[[Body, Expr, list[Expr]], Expr],
    ) -> Tensor:
        """(count, *columns): `make(body, at, [bag, *column])` over the indices that a bag takes,
        and `rest`."""
        b, bags = self.b, self.bags

        def taken(body: Body, at: Expr, place: list[Expr]) -> Expr:
            return select(bags.takes(body, at), make(body, at, place), const(rest, dtype))

        if (length := self.length) is not None:

            def in_row(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
                return taken(body, i[0] * length + r[0], i)

            return b.reduce([bags.count, *columns], [length], dtype, combiner, in_row)

        def update(body: Body, d: list[Expr]) -> tuple[list[Expr], Expr]:
            place = [body.read(self.owner, d[:1], int64), *d[1:]]
            return place, taken(body, d[0], place)

        base = b.full([bags.count, *columns], rest, dtype)
        return b.scatter(base, [bags.read_count, *columns], update, combiner)


def _check(
    b: Builder, weight: Tensor, indices: Tensor, offsets: Tensor, has_last: bool, padding: Value
) -> None:
    """Bags are spans of a vector that begin with the first of its elements."""
    for name, t, rank in (("input", indices, 1), ("offsets", offsets, 1), ("weight", weight, 2)):
        if t.rank != rank:
            b.error(f"{name} has to be a {rank}D Tensor, but got Tensor of dimension {t.rank}")
    rows = weight.shape[0].value if weight.shape[0].is_const else None
    given = padding if isinstance(padding, int) and padding != -1 else 0
    if isinstance(rows, int) and rows and not -rows <= given < rows:
        b.error(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but"
            f" got {padding}"
        )
    if has_last:
        message = "include_last_offset: number of offset should be at least 1"
        b.check(known(binary("ge", offsets.shape[0], 1)), message)

    def late(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        begin = body.read(offsets, r, int64)
        return all_of([r[0].equals(0), binary("ne", begin, 0)])

    is_late = b.item(b.reduce((), offsets.shape, bool_, "or", late))
    b.check(
        binary("eq", is_late, False),
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from"
        " position 0.",
    )

    def beyond(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        begin = body.read(offsets, r, int64)
        return all_of([r[0].equals(offsets.shape[0] - 1), begin > indices.shape[0]])

    is_beyond = b.item(b.reduce((), offsets.shape, bool_, "or", beyond))
    b.check(binary("eq", is_beyond, False), "offsets[-1] can not be greater than input's length")

    def falls(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        begin, end = (body.read(offsets, [at], int64) for at in (r[0], r[0] + 1))
        return begin > end

    spans = binary("max", simplify(offsets.shape[0] - 1), 0)
    is_falling = b.item(b.reduce((), [spans], bool_, "or", falls))
    b.check(binary("eq", is_falling, False), "offsets must not decrease")


def _embedding_bag(
    b: Builder,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad: Value = False,
    mode: Value = SUM,
    sparse: Value = False,
    scale: Tensor | None = None,
    has_last: Value = False,
    padding: Value = None,
    *_: Value,
) -> Value:
    """weight (V, D), indices (n), offsets (B[+1]) -> (B, D); then what PyTorch keeps for gradients:
    the bag of each index, the size of each bag, and for max the row that each value came from."""
    _check(b, weight, indices, offsets, bool(has_last), padding)
    rows = weight.shape[0]
    if scale is not None:
        if mode != SUM:
            b.error("embedding_bag: per_sample_weights only supported with mode='sum'")
        b.require_alike(
            scale.shape,
            indices.shape,
            f"expected per_sample_weights (shape: {sizes_text(scale.shape)}) to have the same shape"
            f" as input (shape: {sizes_text(indices.shape)})",
        )
    if padding is not None and not isinstance(padding, int):
        b.cannot("a padding index that is not known")
    if not isinstance(mode, int):
        b.cannot("a mode that is not known")
    skipped = None if padding is None else simplify(const(padding) % rows)
    bags = _Bags(indices, offsets, bool(has_last), skipped)
    length = bags.length(b)
    message = "embedding_bag: Expected idx >= 0 && idx < num_embeddings"
    places = indices if length is None else b.apply("aten::reshape", indices, [bags.count, length])
    check_bounds(b, places, rows, message, low=False)
    entries = _Entries(weight, scale, compute_dtype(weight.dtype))
    owner = _owners(b, bags)
    reducer = _Reducer(b, bags, owner, length)
    sizes = _sizes(reducer)
    kept = promote_types(indices.dtype, offsets.dtype)
    if mode == MAX:
        most, best = _greatest(reducer, entries, sizes)
        return b.cast(most, weight.dtype), *(b.cast(x, kept) for x in (owner, sizes, best))

    def entry(body: Body, at: Expr, place: list[Expr]) -> Expr:
        return entries.read(body, bags, at, place[1])

    sums = reducer.combine([entries.width], entries.dtype, "add", 0, entry)
    if mode == MEAN:
        sums = _averaged(b, sums, sizes)
    else:
        sizes = b.full(offsets.shape, 0, int64)
    if not knows_owners(mode, weight.dtype, padding):
        owner = b.full([0], 0, int64)
    return b.cast(sums, weight.dtype), *(b.cast(x, kept) for x in (owner, sizes, sizes))


def _owners(b: Builder, bags: _Bags) -> Tensor:
    """The bag that each index lies in, (n)."""

    def begins(body: Body, d: list[Expr]) -> tuple[list[Expr], Expr]:
        # What lies outside is written to the ends: offsets are not checked one by one.
        at = binary("max", binary("min", bags.begin(body, d[0]), bags.total), 0)
        return [at], const(1)

    marks = b.scatter(b.full([simplify(bags.total + 1)], 0, int64), [bags.count], begins, "add")
    running = b.apply("aten::cumsum", marks, 0)

    def bag(body: Body, i: list[Expr]) -> Expr:
        number = binary("max", body.read(running, i, int64) - 1, 0)
        return select(bags.spans(body, i[0]), number, const(0))

    return b.compute([bags.total], int64, bag)


def _sizes(reducer: _Reducer) -> Tensor:
    """How many indices each bag takes, (B)."""
    b, bags = reducer.b, reducer.bags
    if bags.skipped is not None:
        return reducer.combine([], int64, "add", 0, lambda *_: const(1))

    def span(body: Body, i: list[Expr]) -> Expr:
        return bags.end(body, i[0]) - bags.begin(body, i[0])

    return b.compute([bags.count], int64, span)


def _averaged(b: Builder, sums: Tensor, sizes: Tensor) -> Tensor:
    columns = b.apply("aten::unsqueeze", sizes, 1)
    return b.pointwise(
        lambda e, n: e / binary("max", n, 1), sums, columns, dtype=sums.dtype, compute=sums.dtype
    )


def _greatest(reducer: _Reducer, entries: _Entries, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """The greatest value of each bag and column, 0 in an empty bag, and the row it came from."""
    b, bags, width, dtype = reducer.b, reducer.bags, entries.width, entries.dtype
    shape = [bags.count, width]

    def entry(body: Body, at: Expr, place: list[Expr]) -> Expr:
        return entries.read(body, bags, at, place[1])

    most = reducer.combine([width], dtype, "max", float("-inf"), entry)

    def hit(body: Body, at: Expr, place: list[Expr]) -> Expr:
        is_most = entry(body, at, place).equals(body.read(most, place, dtype))
        return select(is_most, at, const(_NONE))

    first = reducer.combine([width], int64, "min", _NONE, hit)

    def came_from(body: Body, i: list[Expr]) -> Expr:
        at = body.read(first, i, int64)
        inside = binary("lt", at, bags.total)
        row = body.read(bags.indices, [select(inside, at, const(0))], int64)
        return select(inside, row, const(0))

    def kept(body: Body, i: list[Expr]) -> Expr:
        is_empty = body.read(sizes, i[:1], int64).equals(0)
        return select(is_empty, const(0, dtype), body.read(most, i, dtype))

    return b.compute(shape, dtype, kept), b.compute(shape, int64, came_from)


def _inner_form(b: Builder, *arguments: Value) -> Value:
    """The operator behind it says -1 for no padding."""
    given = list(arguments)
    if len(given) > 8 and isinstance(given[8], int) and given[8] < 0:
        given[8] = None
    return _embedding_bag(b, *given)


def _renorm_rows(b: Builder, x: Tensor, indices: Tensor, limit: Value, p: Value) -> Tensor:
    """Rows that are named and longer than `limit` shortened to it, and the others."""
    if indices.dtype not in (int32, int64):
        b.error("embedding_renorm_(): Expected dtype int32/int64 for index")
    check_bounds(b, indices, x.shape[0], "index out of range in self")
    flat = b.apply("aten::reshape", indices, [-1])

    def named(body: Body, d: list[Expr]) -> tuple[list[Expr], Expr]:
        return [wrapped(body.read(flat, d, int64), x.shape[0])], const(True, bool_)

    hit = b.scatter(b.full([x.shape[0]], False, bool_), flat.shape, named)
    lengths = b.apply("aten::linalg_vector_norm", x, p, [1])
    wide = compute_dtype(x.dtype)

    def make(body: Body, i: list[Expr]) -> Expr:
        length, most = body.read(lengths, i[:1], wide), body.scalar(limit, wide)
        longer = binary("and", body.read(hit, i[:1], bool_), length > most)
        return body.read(x, i, wide) * select(longer, most / (length + 1e-7), const(1, wide))

    return b.compute(x.shape, x.dtype, make)


BAG: Rows = {
    "aten::embedding_renorm": _renorm_rows,
    "aten::embedding_bag": _embedding_bag,
    "aten::_embedding_bag": _inner_form,
    "aten::_embedding_bag_forward_only": _inner_form,
}
