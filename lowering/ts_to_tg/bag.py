"""Embedding bags: rows of a table summed, averaged or maximised by bag.

A bag is a span of the indices, so an index's bag is the number of offsets up to it; each bag reads
all indices and takes its own, which has no shape that depends on the data.
"""

from __future__ import annotations

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, select

from .builder import Builder, Rows
from .elements import compute_dtype
from .emission import Body
from .index import check_bounds
from .sizes import simplify
from .values import Tensor, Value

SUM, MEAN, MAX = 0, 1, 2


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
    rows, width = weight.shape
    message = "embedding_bag: Expected idx >= 0 && idx < num_embeddings"
    check_bounds(b, indices, rows, message, low=False)
    if scale is not None and mode != SUM:
        b.error("embedding_bag: per_sample_weights only supported with mode='sum'")
    if padding is not None and not isinstance(padding, int):
        b.cannot("a padding index that is not known")
    total, starts = indices.shape[0], offsets.shape[0]
    bags = simplify(starts - 1) if has_last else starts
    wide = compute_dtype(weight.dtype)

    def begin(body: Body, k: Expr) -> Expr:
        return body.read(offsets, [k], int64)

    def end(body: Body, k: Expr) -> Expr:
        if has_last:
            return begin(body, k + 1)
        following = select(binary("lt", k + 1, starts), k + 1, k)
        return select(binary("lt", k + 1, starts), begin(body, following), total)

    def counts(body: Body, k: Expr, at: Expr) -> Expr:
        """Whether bag k takes index `at`."""
        found = [binary("ge", at, begin(body, k)), binary("lt", at, end(body, k))]
        if padding is not None:
            skipped = simplify(const(padding) % rows)
            found.append(binary("ne", body.read(indices, [at], int64), skipped))
        return all_of(found)

    def entry(body: Body, at: Expr, column: Expr) -> Expr:
        value = body.read(weight, [body.read(indices, [at], int64), column], wide)
        return value if scale is None else value * body.read(scale, [at], wide)

    def taken(rest: Expr) -> object:
        return lambda body, i, r: select(counts(body, i[0], r[0]), entry(body, r[0], i[1]), rest)

    one, zero = const(1), const(0)
    sizes = b.reduce(
        [bags], [total], int64, "add",
        lambda body, i, r: select(counts(body, i[0], r[0]), one, zero),
    )  # fmt: skip
    owner = b.reduce(
        [total], [bags], int64, "max",
        lambda body, i, r: select(
            all_of([binary("ge", i[0], begin(body, r[0])), binary("lt", i[0], end(body, r[0]))]),
            r[0], zero,
        ),
    )  # fmt: skip
    if mode == MAX:
        low = const(float("-inf"), wide)
        most = b.reduce([bags, width], [total], wide, "max", taken(low))  # type: ignore[arg-type]

        def place(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
            hit = entry(body, r[0], i[1]).equals(body.read(most, i, wide))
            mine = all_of([counts(body, i[0], r[0]), hit])
            return select(mine, r[0], total)

        first = b.reduce([bags, width], [total], int64, "min", place)

        def came_from(body: Body, i: list[Expr]) -> Expr:
            at = body.read(first, i, int64)
            inside = binary("lt", at, total)
            row = body.read(indices, [select(inside, at, zero)], int64)
            return select(inside, row, zero)

        def kept(body: Body, i: list[Expr]) -> Expr:
            is_empty = body.read(sizes, i[:1], int64).equals(0)
            return select(is_empty, const(0, wide), body.read(most, i, wide))

        best = b.compute([bags, width], int64, came_from)
        return b.compute([bags, width], weight.dtype, kept), owner, sizes, best
    sums = b.reduce([bags, width], [total], wide, "add", taken(const(0, wide)))  # type: ignore[arg-type]
    if mode == MEAN:
        columns = b.apply("aten::unsqueeze", sizes, 1)
        sums = b.pointwise(
            lambda e, n: e / binary("max", n, 1), sums, columns, dtype=wide, compute=wide
        )
    return b.cast(sums, weight.dtype), owner, sizes, b.full([0], 0, int64)


def _inner_form(b: Builder, *arguments: Value) -> Value:
    """The operator behind it says -1 for no padding."""
    given = list(arguments)
    if len(given) > 8 and isinstance(given[8], int) and given[8] < 0:
        given[8] = None
    return _embedding_bag(b, *given)


BAG: Rows = {
    "aten::embedding_bag": _embedding_bag,
    "aten::_embedding_bag": _inner_form,
    "aten::_embedding_bag_forward_only": _inner_form,
}
