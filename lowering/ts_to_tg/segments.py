"""Rows of reductions of segments: runs of elements by their lengths or borders."""

from __future__ import annotations

import math

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .dims import dimension, literal, sizes_of
from .elements import compute_dtype
from .emission import Body
from .values import Tensor, Value

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
    forward = b.apply("aten::ge", b.apply("aten::diff", borders, 1, -1), 0)
    checked = offsets is None and not unsafe
    b.check(
        b.item(b.apply("aten::all", forward)),
        "lengths contains negative value!" if checked else
        "Expected segment_length >= 0 to be true, but got false.",
    )  # fmt: skip
    if checked:
        last = b.apply("aten::select", borders, -1, -1)
        b.check(
            b.item(b.apply("aten::all", b.apply("aten::eq", last, x.shape[d]))),
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe.",
        )
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


def _chunks_beside(b: Builder, tensors: list[AnyTensor], dim: Value, count: Value) -> AnyTensor:
    """Every tensor cut (the last chunk filled with zeros), the chunks side by side."""
    d = dimension(b, dim, tensors[0].rank)
    parts = []
    for t in tensors:
        length = literal(b, t.shape[d], "the size that is cut")
        fill = -length % count
        wide = b.apply("aten::constant_pad_nd", t, [*[0, 0] * (t.rank - 1 - d), 0, fill], 0)
        parts.append(b.apply("aten::reshape", wide, [*t.shape[:d], count, -1]))
    return b.apply("aten::cat", parts, d + 1)


SEGMENTS: Rows = {
    "aten::_chunk_cat": _chunks_beside,
    "aten::segment_reduce": _segment_reduce,
}
