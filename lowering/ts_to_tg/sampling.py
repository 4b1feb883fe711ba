"""grid_sampler: an image read at places given by another tensor.

A coordinate in [-1, 1] spans the image; padding decides what lies outside: zeros, the border, or
the image mirrored at its edges.
"""

from __future__ import annotations

import itertools

from tensorscript.base.dtypes import DType, int64
from tensorscript.dialects.te.expr import Expr, all_of, binary, call, cast, const, select, unary

from .builder import Builder, Rows
from .elements import compute_dtype, convert, known
from .emission import Body
from .resize import cubic_weight
from .sizes import sizes_text
from .values import Tensor, Value

ZEROS, BORDER, REFLECTION = 0, 1, 2
BILINEAR, NEAREST, BICUBIC = 0, 1, 2


def _clip(e: Expr, last: Expr, n: int) -> Expr:
    """Within [0, last]; NaN gives 0 in an image, and `last` in a volume."""
    below = binary("gt", e, 0.0) if n == 2 else unary("not", binary("lt", e, 0.0))
    low = select(below, e, const(0, e.dtype))
    return select(binary("lt", low, last), low, last)


def _mirror(e: Expr, size: Expr, align: bool) -> Expr:
    """Reflected between the centres (align) or the outer edges of the first and last cell."""
    low = const(0.0 if align else -0.5, e.dtype)
    span = size - 1.0 if align else size
    distance = call("abs", e - low)
    turns = call("floor", distance / span)
    rest = distance - turns * span
    even = binary("truncmod", turns, const(2, e.dtype)).equals(0.0)
    bounced = select(even, rest + low, span - rest + low)
    return select(span.equals(0.0), const(0, e.dtype), bounced)


def source_position(e: Expr, size: Expr, padding: int, align: bool, n: int) -> Expr:
    """The cell coordinate of a grid coordinate, after clipping or mirroring."""
    extent = cast(size, e.dtype)
    at = (e + 1.0) / 2.0 * (extent - 1.0) if align else ((e + 1.0) * extent - 1.0) / 2.0
    return _inside(at, extent, padding, align, n)


def _inside(at: Expr, extent: Expr, padding: int, align: bool, n: int) -> Expr:
    """A cell coordinate after clipping or mirroring."""
    if padding == ZEROS:
        return at
    if padding == REFLECTION:
        at = _mirror(at, extent, align)
    return _clip(at, extent - 1.0, n)


def _is_inside(x: Tensor, at: list[Expr]) -> Expr:
    guards = []
    for e, size in zip(at, x.shape[2:], strict=True):
        guards += [binary("ge", e, 0.0), binary("lt", e, cast(size, e.dtype))]
    return all_of(guards)


def _cell(body: Body, x: Tensor, lead: list[Expr], at: list[Expr], dtype: DType) -> Expr:
    """x at whole-number float positions, 0 outside (NaN is outside)."""
    value = body.read(x, [*lead, *(cast(e, int64) for e in at)], dtype)
    return select(_is_inside(x, at), value, const(0, dtype))


def grid_sampler(
    b: Builder, x: Tensor, grid: Tensor, mode: Value, padding: Value, align: Value, *_: Value
) -> Tensor:
    """x (N, C, H, W), grid (N, h, w, 2) -> (N, C, h, w); grid holds (x, y). 3-d likewise."""
    n = x.rank - 2
    if n not in (2, 3) or grid.rank != x.rank:
        b.error(
            "grid_sampler(): expected grid and input to have same number of dimensions, but got"
            f" input with sizes {sizes_text(x.shape)} and grid with sizes"
            f" {sizes_text(grid.shape)}"
        )
    b.require_same(
        grid.shape[-1],
        const(n),
        f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with"
        f" sizes {sizes_text(grid.shape)}",
    )
    b.require_same(
        x.shape[0],
        grid.shape[0],
        "grid_sampler(): expected grid and input to have same batch size, but got input with sizes"
        f" {sizes_text(x.shape)} and grid with sizes"
        f" {sizes_text(grid.shape)}",
    )
    for d, size in enumerate(x.shape[2:], 2):
        b.check(
            known(binary("gt", size, 0)),
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has"
            f" sizes {sizes_text(x.shape)} with dimension {d} being empty",
        )
    if mode not in (BILINEAR, NEAREST, BICUBIC):
        b.cannot("a way of sampling that is not known")
    if mode == BICUBIC and n == 3:
        b.error("grid_sampler(): bicubic interpolation only supports 4D input")
    wide = compute_dtype(x.dtype)

    def make(body: Body, i: list[Expr]) -> Expr:
        places = [body.read(grid, [i[0], *i[2:], const(n - 1 - d)], wide) for d in range(n)]
        before = ZEROS if mode == BICUBIC else padding
        at = [
            source_position(e, size, before, bool(align), n)
            for e, size in zip(places, x.shape[2:], strict=True)
        ]
        if mode == NEAREST:
            return _cell(body, x, i[:2], [call("round", e) for e in at], wide)
        if mode == BICUBIC:
            return _cubic(body, x, i[:2], at, padding, bool(align))
        return _blend(body, x, i[:2], at, wide)

    return b.compute((*x.shape[:2], *grid.shape[1:-1]), x.dtype, make)


def _blend(body: Body, x: Tensor, lead: list[Expr], at: list[Expr], dtype: DType) -> Expr:
    """The surrounding cells, weighted by nearness; in a volume those outside have no weight, which
    NaN is for an image."""
    low = [call("floor", e) for e in at]
    total: Expr | None = None
    for corner in range(1 << len(at)):
        weight: Expr | None = None
        cell = []
        for d, (e, first) in enumerate(zip(at, low, strict=True)):
            upper = bool(corner >> d & 1)
            share = e - first if upper else first + 1.0 - e
            weight = share if weight is None else weight * share
            cell.append(first + 1.0 if upper else first)
        assert weight is not None
        if len(at) == 3:
            weight = select(_is_inside(x, cell), weight, const(0, weight.dtype))
        term = weight * _cell(body, x, lead, cell, dtype)
        total = term if total is None else total + term
    assert total is not None
    return convert(total, dtype)


def _cubic(
    body: Body, x: Tensor, lead: list[Expr], at: list[Expr], padding: int, align: bool
) -> Expr:
    """The 4 x 4 cells around a place; each of them is clipped or mirrored by itself."""
    dtype = at[0].dtype
    low = [call("floor", e) for e in at]
    sizes = [cast(s, dtype) for s in x.shape[2:]]
    total = const(0, dtype)
    for row, column in itertools.product(range(-1, 3), repeat=2):
        weight, cell = const(1, dtype), []
        for e, first, step, size in zip(at, low, (row, column), sizes, strict=True):
            weight = weight * cubic_weight(e - first - float(step))
            cell.append(_inside(first + float(step), size, padding, align, 2))
        total = total + weight * _cell(body, x, lead, cell, dtype)
    return total


SAMPLING: Rows = {
    "aten::grid_sampler": grid_sampler,
    "aten::grid_sampler_2d": grid_sampler,
    "aten::grid_sampler_3d": grid_sampler,
}
