"""Rows of `gradient`: slopes between neighbours, as `numpy.gradient` takes them.

Where places are given, the weights are those of the parabola through three of them (Fornberg,
"Generation of finite difference formulas on arbitrarily spaced grids", 1988).
"""

from __future__ import annotations

from tensorscript.dialects.te.expr import binary

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .dims import dimension
from .elements import known
from .pointwise import float_type
from .sizes import simplify
from .values import ComplexTensor, Tensor, Value


def _of_spacing(
    b: Builder, x: Tensor, spacing: Value, dims: Value = None, order: Value = 1
) -> list[Tensor]:
    dims = list(range(x.rank)) if dims is None else dims if isinstance(dims, list) else [dims]
    axes = [dimension(b, axis, x.rank) for axis in dims]
    steps = (
        spacing if isinstance(spacing, list) else [1 if spacing is None else spacing] * len(axes)
    )
    if order not in (1, 2):
        b.error("torch.gradient only supports edge_order=1 and edge_order=2.")
    if twice := [d for d in axes if axes.count(d) > 1]:
        b.error(f"dim {twice[0]} appears multiple times in the list of dims")
    if len(steps) != len(axes):
        b.error(
            "torch.gradient expected spacing to be unspecified, a scalar or it's length to be "
            f"equal to {len(axes)}, but got {len(steps)}"
        )
    return [_slope(b, x, d, step, order) for d, step in zip(axes, steps, strict=True)]


def _slope(b: Builder, x: Tensor, d: int, step: Value, order: int) -> Tensor:
    b.check(
        known(binary("gt", x.shape[d], order)),
        "torch.gradient expected each dimension size to be at least edge_order+1",
    )
    if isinstance(step, Tensor | ComplexTensor):
        return _between_places(b, x, d, step, order)
    x = float_type(b, x)
    if order == 1:
        first = _weighted(b, x, d, (1, 2, 1.0), (0, 1, -1.0))
        last = _weighted(b, x, d, (-1, None, 1.0), (-2, -1, -1.0))
    else:
        first = _weighted(b, x, d, (0, 1, -1.5), (1, 2, 2.0), (2, 3, -0.5))
        last = _weighted(b, x, d, (-1, None, 1.5), (-2, -1, -2.0), (-3, -2, 0.5))
    inner = _weighted(b, x, d, (2, None, 0.5), (0, -2, -0.5))
    return b.apply("aten::div", b.apply("aten::cat", [first, inner, last], d), step)


def _weighted(b: Builder, x: AnyTensor, d: int, *parts: tuple[int, Value, Value]) -> Tensor:
    """The sum of slices along `d`, each (start, end, weight)."""
    scaled = [b.apply("aten::mul", b.apply("aten::slice", x, d, s, e), w) for s, e, w in parts]
    total = scaled[0]
    for more in scaled[1:]:
        total = b.apply("aten::add", total, more)
    return total


def _between_places(b: Builder, x: Tensor, d: int, places: AnyTensor, order: int) -> Tensor:
    if places.rank != 1:
        b.error(
            "torch.gradient expected each element of spacing to have one dimension, but got an "
            f"element with {places.rank} dimensions!"
        )
    b.require_same(
        places.shape[0],
        x.shape[d],
        "torch.gradient expected spacing to be unspecified, a scalar or a list of tensors of"
        " the sizes of the dimensions",
    )
    shape = [simplify(x.shape[d] - 1) if k == d else 1 for k in range(x.rank)]
    gaps = _weighted(b, places, 0, (1, None, 1), (0, -1, -1))
    gaps = b.apply("aten::reshape", gaps, shape)

    def parabola(at: int, near: Tensor, far: Tensor) -> list[Tensor]:
        """Weights of three places `near` and `far` apart, for the slope at one of them."""
        both = b.apply("aten::add", near, far)
        twice = b.apply("aten::add", both, (far, near)[at == 0])
        over = [_product(b, near, both), _product(b, near, far), _product(b, far, both)]
        tops = (
            (_product(b, twice, -1.0), both, _product(b, near, -1.0)),
            (_product(b, far, -1.0), b.apply("aten::sub", far, near), near),
            (far, _product(b, both, -1.0), twice),
        )[at]
        return [b.apply("aten::div", top, under) for top, under in zip(tops, over, strict=True)]

    def gap(start: int, end: Value) -> Tensor:
        return b.apply("aten::slice", gaps, d, start, end)

    if order == 1:
        first = b.apply("aten::div", _weighted(b, x, d, (1, 2, 1.0), (0, 1, -1.0)), gap(0, 1))
        last = b.apply(
            "aten::div", _weighted(b, x, d, (-1, None, 1.0), (-2, -1, -1.0)), gap(-1, None)
        )
    else:
        p, q, r = parabola(0, gap(0, 1), gap(1, 2))
        first = _weighted(b, x, d, (0, 1, p), (1, 2, q), (2, 3, r))
        p, q, r = parabola(2, gap(-2, -1), gap(-1, None))
        last = _weighted(b, x, d, (-3, -2, p), (-2, -1, q), (-1, None, r))
    p, q, r = parabola(1, gap(0, -1), gap(1, None))
    inner = _weighted(b, x, d, (0, -2, p), (1, -1, q), (2, None, r))
    return b.apply("aten::cat", [first, inner, last], d)


def _product(b: Builder, x: Tensor, y: Value) -> Tensor:
    return b.apply("aten::mul", x, y)


DIFFERENCES: Rows = {
    "aten::gradient": _of_spacing,
    "aten::gradient.array": lambda b, x, dims, order=1: _of_spacing(b, x, None, dims, order),
}
