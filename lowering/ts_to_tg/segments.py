"""Rows of runs of elements: repeated ones, reductions of segments, histograms by edges."""

from __future__ import annotations

import math

from tensorscript.base.dtypes import int32, int64
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .dims import dimension, sizes_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .sizes import product
from .values import Tensor, Value

# --- repetition -----------------------------------------------------------------------------------


def _repeated_places(b: Builder, repeats: Tensor, size: Value = None, *_: Value) -> Tensor:
    """Place k as often as `repeats` says, in order."""
    if repeats.rank != 1:
        b.error("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (int32, int64):
        b.error("repeats has to be Long or Int tensor")
    fine = b.item(b.apply("aten::all", b.apply("aten::ge", repeats, 0)))
    b.check(fine, "repeats can not be negative")
    total = b.item(b.apply("aten::sum", repeats))
    if size is not None:
        b.check(
            known(binary("eq", as_expr(total), as_expr(size))),
            "allocated size does not match required size",
        )
    (count,) = sizes_of(b, [total if size is None else size])
    numbers = b.compute([count], int64, lambda body, i: i[0])
    running = b.apply("aten::cumsum", repeats, 0)
    found = b.apply("aten::searchsorted", running, numbers, False, True)
    return b.cast(found, repeats.dtype)


def repeated(
    b: Builder, x: AnyTensor, repeats: Tensor, dim: Value = None, size: Value = None, *_: Value
) -> AnyTensor:
    x = b.apply("aten::reshape", x, [-1]) if dim is None else x
    d = dimension(b, 0 if dim is None else dim, x.rank)
    count = x.shape[d] if x.rank else const(1)
    if not repeats.rank or repeats.shape[0].is_int(1):
        repeats = b.apply("aten::expand", b.apply("aten::reshape", repeats, [1]), [count])
    b.require_same(
        repeats.shape[0],
        count,
        "repeats must have the same size as input along dim, but got repeats.size(0) ="
        f" {repeats.shape[0]} and input.size({d}) = {count}",
    )
    return b.apply("aten::index_select", x, d, _repeated_places(b, repeats, size))


# --- segments -------------------------------------------------------------------------------------

_COMBINERS = {"sum": "add", "mean": "add", "max": "max", "min": "min", "prod": "mul"}
_OF_NOTHING = {"sum": 0.0, "mean": math.nan, "max": -math.inf, "min": math.inf, "prod": 1.0}


def _borders(b: Builder, lengths: Tensor) -> Tensor:
    ends = b.apply("aten::cumsum", lengths, -1)
    return b.apply("aten::constant_pad_nd", ends, [1, 0], 0)


def _segment_reduce(
    b: Builder, x: Tensor, reduce: Value, lengths: Value = None, indices: Value = None,
    offsets: Value = None, axis: int = 0, unsafe: Value = False, initial: Value = None,
) -> Tensor:  # fmt: skip
    """Runs along `axis` reduced one by one, by their lengths or borders (.., S + 1)."""
    if reduce not in _COMBINERS:
        b.error(f"unsupported reduction given! {reduce}")
    if lengths is None and offsets is None:
        b.error("Either lengths or offsets must be defined.")
    borders: Tensor = _borders(b, lengths) if offsets is None else offsets
    d = dimension(b, axis, x.rank)
    if offsets is None and not unsafe:
        last = b.apply("aten::select", borders, -1, -1)
        fine = b.item(b.apply("aten::all", b.apply("aten::eq", last, x.shape[d])))
        b.check(fine, "Expected all rows of lengths along axis to sum to data.size(axis)")
    count = sizes_of(b, [borders.shape[-1] - 1])[0]
    wide = compute_dtype(x.dtype)
    combiner = _COMBINERS[reduce]
    neutral = {"add": 0.0, "mul": 1.0, "max": -math.inf, "min": math.inf}[combiner]

    def ends(body: Body, i: list[Expr]) -> tuple[Expr, Expr]:
        low, high = (body.read(borders, [*i[:d], i[d] + k], int64) for k in (0, 1))
        return low, high

    def inside(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        low, high = ends(body, i)
        e = body.read(x, [*i[:d], r[0], *i[d + 1 :]], wide)
        held = binary("and", binary("ge", r[0], low), r[0] < high)
        return select(held, e, const(neutral, wide))

    shape = [*x.shape[:d], count, *x.shape[d + 1 :]]
    found = b.reduce(shape, [x.shape[d]], wide, combiner, inside)

    def finished(body: Body, i: list[Expr]) -> Expr:
        low, high = ends(body, i)
        e = body.read(found, i, wide)
        if initial is not None:
            e = binary(combiner, e, body.scalar(initial, wide))
        if reduce == "mean":
            e = e / cast(binary("max", high - low, 1), wide)
        nothing = _OF_NOTHING[reduce] if initial is None else initial
        return select(high.equals(low), body.scalar(nothing, wide), e)

    return b.compute(shape, x.dtype, finished)


# --- histograms -----------------------------------------------------------------------------------


def _histogram(
    b: Builder, x: Tensor, edges: Tensor, weight: Value = None, density: Value = False
) -> tuple[Tensor, Tensor]:
    """How many elements (or what weights) lie between neighbouring edges; the last bin holds its
    end."""
    if edges.rank != 1:
        b.error(
            "torch.histogramdd: bins tensor should have one dimension, but got"
            f" {edges.rank} dimensions in the bins tensor for dimension 0"
        )
    wide = compute_dtype(x.dtype)
    flat = b.apply("aten::reshape", x, [-1])
    weights = None if weight is None else b.apply("aten::reshape", weight, [-1])
    if weights is not None:
        b.require_same(
            product(weights.shape),
            flat.shape[0],
            "torch.histogram(): if weight tensor is provided, it should have the same shape as"
            " the input tensor",
        )
    (count,) = sizes_of(b, [edges.shape[0] - 1])

    def inside(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = body.read(flat, r, wide)
        low, high = (body.read(edges, [i[0] + k], wide) for k in (0, 1))
        end = binary("and", i[0].equals(count - 1), e.equals(high))
        hit = binary("and", binary("ge", e, low), binary("or", e < high, end))
        share = const(1, wide) if weights is None else body.read(weights, r, wide)
        return select(hit, share, const(0, wide))

    found = b.reduce([count], flat.shape, x.dtype, "add", inside)
    if density:
        widths = b.apply("aten::diff", edges)
        total = b.apply("aten::mul", b.apply("aten::sum", found), widths)
        found = b.apply("aten::div", found, total)
    return found, edges


def _histogram_of_count(
    b: Builder, x: Tensor, bins: Value, limits: Value = None, weight: Value = None,
    density: Value = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Equal bins between two limits, those of the elements if none are given."""
    if not isinstance(bins, int):
        b.cannot("a number of bins that is not known")
    if bins <= 0:
        b.error("torch.histogram(): bins must be > 0")
    if not x.dtype.is_floating_point:
        b.error(f"\"histogramdd\" not implemented for '{x.dtype.word}'")
    low, high = limits if limits is not None else (0.0, 1.0)
    if limits is None and not product(x.shape).is_int(0):
        ends = [as_expr(b.item(b.apply(f"aten::{name}", x))) for name in ("min", "max")]
        same = ends[0].equals(ends[1])
        low = known(select(same, ends[0] - 0.5, ends[0]))
        high = known(select(same, ends[1] + 0.5, ends[1]))
    edges = b.apply("aten::linspace", low, high, bins + 1, x.dtype.code)
    return _histogram(b, x, edges, weight, density)


SEGMENTS: Rows = {
    "aten::repeat_interleave.Tensor": _repeated_places,
    "aten::repeat_interleave.self_Tensor": repeated,
    "aten::segment_reduce": _segment_reduce,
    "aten::histogram.bins_tensor": _histogram,
    "aten::histogram.bin_ct": _histogram_of_count,
}
