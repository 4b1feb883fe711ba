"""Rows of runs of elements: repeated ones, reductions of segments."""

from __future__ import annotations

import math

from tensorscript.base.dtypes import int32, int64
from tensorscript.dialects.te.expr import Expr, binary, cast, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .dims import dimension, literal, sizes_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
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
    "aten::repeat_interleave.Tensor": _repeated_places,
    "aten::repeat_interleave.self_Tensor": repeated,
    "aten::segment_reduce": _segment_reduce,
}
