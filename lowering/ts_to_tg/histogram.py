"""Rows of histograms by edges: of numbers, and of points of several dimensions.

Each bin reads all points and takes its own, which has no shape that depends on the data.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.dialects.te.expr import Expr, all_of, binary, const, select

from .builder import Builder, Rows
from .dims import literal, sizes_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .sizes import product
from .values import Tensor, Value


def _counted(
    b: Builder, points: Tensor, edges: Sequence[Tensor], weight: Value, density: Value
) -> Tensor:
    """How many points (N, D) (or what weights) lie in each cell of a grid; a last bin holds its
    end."""
    wide = compute_dtype(points.dtype)
    shape = [sizes_of(b, [e.shape[0] - 1])[0] for e in edges]
    weights = None if weight is None else b.apply("aten::reshape", weight, [-1])
    if weights is not None:
        b.require_same(
            weights.shape[0],
            points.shape[0],
            "torch.histogramdd(): if weight tensor is provided, it should have the same shape as"
            " the input tensor excluding its innermost dimension",
        )

    def held(body: Body, d: int, i: Expr, r: Expr) -> Expr:
        e = body.read(points, [r, d], wide)
        low, high = (body.read(edges[d], [i + k], wide) for k in (0, 1))
        end = binary("and", i.equals(shape[d] - 1), e.equals(high))
        return binary("and", binary("ge", e, low), binary("or", e < high, end))

    def inside(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        hit = all_of([held(body, d, at, r[0]) for d, at in enumerate(i)])
        share = const(1, wide) if weights is None else body.read(weights, r, wide)
        return select(hit, share, const(0, wide))

    found = b.reduce(shape, [points.shape[0]], points.dtype, "add", inside)
    if not density:
        return found
    total = b.apply("aten::sum", found)
    for d, e in enumerate(edges):
        widths = b.apply("aten::diff", e)
        turned = b.apply("aten::reshape", widths, [-1 if k == d else 1 for k in range(len(shape))])
        found = b.apply("aten::div", found, turned)
    return b.apply("aten::div", found, total)


def _check(b: Builder, edges: Sequence[Tensor]) -> None:
    for d, e in enumerate(edges):
        if e.rank != 1:
            b.error(
                "torch.histogramdd: bins tensor should have one dimension, but got"
                f" {e.rank} dimensions in the bins tensor for dimension {d}"
            )


def _edges(b: Builder, x: Tensor, bins: Value, limits: Value) -> Tensor:
    """Of equal bins between two limits, those of the elements if none are given."""
    if not isinstance(bins, int):
        b.cannot("a number of bins that is not known")
    if bins <= 0:
        b.error("torch.histogram(): bins must be > 0")
    low, high = limits if limits is not None else (0.0, 1.0)
    if limits is None and not product(x.shape).is_int(0):
        ends = [as_expr(b.item(b.apply(f"aten::{name}", x))) for name in ("min", "max")]
        same = ends[0].equals(ends[1])
        low = known(select(same, ends[0] - 0.5, ends[0]))
        high = known(select(same, ends[1] + 0.5, ends[1]))
    return b.apply("aten::linspace", low, high, bins + 1, x.dtype.code)


# --- numbers --------------------------------------------------------------------------------------


def _by_edges(
    b: Builder, x: Tensor, edges: Tensor, weight: Value = None, density: Value = False
) -> tuple[Tensor, Tensor]:
    _check(b, [edges])
    points = b.apply("aten::reshape", x, [-1, 1])
    return _counted(b, points, [edges], weight, density), edges


def _by_count(
    b: Builder, x: Tensor, bins: Value, limits: Value = None, weight: Value = None,
    density: Value = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return _by_edges(b, x, _edges(b, x, bins, limits), weight, density)


# --- points ---------------------------------------------------------------------------------------


def _points(
    b: Builder, x: Tensor, bins: Value, limits: Value = None, weight: Value = None,
    density: Value = False,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """x (*, D); bins are edges, or numbers of equal bins, of each dimension."""
    if x.rank < 2:
        b.error(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {x.rank}"
        )
    count = literal(b, x.shape[-1], "the number of dimensions of a histogram")
    given = bins if isinstance(bins, list) else [bins] * count
    if len(given) != count:
        b.error(
            f"torch.histogramdd: expected {count} sequences of bin edges for a"
            f" {count}-dimensional histogram but got {len(given)}"
        )
    points = b.apply("aten::reshape", x, [-1, count])
    edges: list[Tensor] = []
    for d, part in enumerate(given):
        if isinstance(part, Tensor):
            edges.append(part)
            continue
        own = None if limits is None else limits[2 * d : 2 * d + 2]
        edges.append(_edges(b, b.apply("aten::select", points, 1, d), part, own))
    _check(b, edges)
    return _counted(b, points, edges, weight, density), edges


HISTOGRAM: Rows = {
    "aten::histogram.bins_tensor": _by_edges,
    "aten::histogram.bin_ct": _by_count,
    "aten::histogramdd": _points,
}
