"""Embedding bags: rows of a table summed, averaged or maximised by bag.

A bag is a span of the indices, so an index's bag is the number of offsets up to it; each bag reads
all indices and takes its own, which has no shape that depends on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensorscript.base.dtypes import DType, bool_, int64
from tensorscript.dialects.te.expr import Expr, Number, all_of, binary, const, select

from .builder import Builder, Rows
from .elements import compute_dtype, known
from .emission import Body
from .index import check_bounds
from .sizes import simplify, sizes_text
from .values import Tensor, Value

SUM, MEAN, MAX = 0, 1, 2


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

    def _begin(self, body: Body, bag: Expr) -> Expr:
        return body.read(self.offsets, [bag], int64)

    def _end(self, body: Body, bag: Expr) -> Expr:
        if self.has_last:
            return self._begin(body, bag + 1)
        has_next = binary("lt", bag + 1, self.count)
        return select(has_next, self._begin(body, select(has_next, bag + 1, bag)), self.total)

    def spans(self, body: Body, bag: Expr, at: Expr) -> Expr:
        """Whether index number `at` lies in a bag."""
        return all_of(
            [binary("ge", at, self._begin(body, bag)), binary("lt", at, self._end(body, bag))]
        )

    def takes(self, body: Body, bag: Expr, at: Expr) -> Expr:
        """Whether a bag takes index number `at`."""
        inside = self.spans(body, bag, at)
        if self.skipped is None:
            return inside
        return all_of([inside, binary("ne", body.read(self.indices, [at], int64), self.skipped)])


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

    def combined(self, b: Builder, bags: _Bags, combiner: str, rest: Number) -> Tensor:
        """(B, D): over all indices, `rest` for those that the bag does not take."""

        def taken(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            value = self.read(body, bags, r[0], i[1])
            return select(bags.takes(body, i[0], r[0]), value, const(rest, self.dtype))

        return b.reduce([bags.count, self.width], [bags.total], self.dtype, combiner, taken)


def _check(b: Builder, indices: Tensor, offsets: Tensor, has_last: bool) -> None:
    """Bags are spans of a vector that begin with the first of its elements."""
    for name, t in (("input", indices), ("offsets", offsets)):
        if t.rank != 1:
            b.error(f"{name} has to be a 1D Tensor, but got Tensor of dimension {t.rank}")
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
    """weight (V, D), indices (n), offsets (B[+1]) -> (B, D); then the bag of each index, the size
    of each bag and, for max, the row that each value came from."""
    rows = weight.shape[0]
    message = "embedding_bag: Expected idx >= 0 && idx < num_embeddings"
    check_bounds(b, indices, rows, message, low=False)
    _check(b, indices, offsets, bool(has_last))
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
    skipped = None if padding is None else simplify(const(padding) % rows)
    bags = _Bags(indices, offsets, bool(has_last), skipped)
    entries = _Entries(weight, scale, compute_dtype(weight.dtype))
    sizes, owner = _sizes(b, bags), _owners(b, bags)
    if mode == MAX:
        most, best = _greatest(b, bags, entries, sizes)
        return b.cast(most, weight.dtype), owner, sizes, best
    sums = entries.combined(b, bags, "add", 0)
    if mode == MEAN:
        sums = _averaged(b, sums, sizes)
    return b.cast(sums, weight.dtype), owner, sizes, b.full([0], 0, int64)


def _sizes(b: Builder, bags: _Bags) -> Tensor:
    """How many indices each bag takes, (B)."""

    def one(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return select(bags.takes(body, i[0], r[0]), const(1), const(0))

    return b.reduce([bags.count], [bags.total], int64, "add", one)


def _owners(b: Builder, bags: _Bags) -> Tensor:
    """The bag that each index lies in, (n)."""

    def bag(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        return select(bags.spans(body, r[0], i[0]), r[0], const(0))

    return b.reduce([bags.total], [bags.count], int64, "max", bag)


def _averaged(b: Builder, sums: Tensor, sizes: Tensor) -> Tensor:
    columns = b.apply("aten::unsqueeze", sizes, 1)
    return b.pointwise(
        lambda e, n: e / binary("max", n, 1), sums, columns, dtype=sums.dtype, compute=sums.dtype
    )


def _greatest(b: Builder, bags: _Bags, entries: _Entries, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """The greatest value of each bag and column, 0 in an empty bag, and the row it came from."""
    shape, dtype = [bags.count, entries.width], entries.dtype
    most = entries.combined(b, bags, "max", float("-inf"))

    def place(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        hit = entries.read(body, bags, r[0], i[1]).equals(body.read(most, i, dtype))
        mine = all_of([bags.takes(body, i[0], r[0]), hit])
        return select(mine, r[0], bags.total)

    first = b.reduce(shape, [bags.total], int64, "min", place)

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
    """`embedding_renorm_`: rows that are named and longer than `limit` shortened to it."""
    check_bounds(b, indices, x.shape[0], "index out of range in self", low=False)
    flat = b.apply("aten::reshape", indices, [-1])

    def named(body: Body, d: list[Expr]) -> tuple[list[Expr], Expr]:
        return [body.read(flat, d, int64)], const(True, bool_)

    hit = b.scatter(b.full([x.shape[0]], False, bool_), flat.shape, named)
    lengths = b.apply("aten::linalg_vector_norm", x, p, [1])
    wide = compute_dtype(x.dtype)

    def make(body: Body, i: list[Expr]) -> Expr:
        length, most = body.read(lengths, i[:1], wide), body.scalar(limit, wide)
        longer = binary("and", body.read(hit, i[:1], bool_), length > most)
        return body.read(x, i, wide) * select(longer, most / (length + 1e-7), const(1, wide))

    b.write(x, b.compute(x.shape, x.dtype, make))
    return x


BAG: Rows = {
    "aten::embedding_renorm_": _renorm_rows,
    "aten::embedding_bag": _embedding_bag,
    "aten::_embedding_bag": _inner_form,
    "aten::_embedding_bag_forward_only": _inner_form,
}
