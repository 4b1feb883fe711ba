"""Rows of operators that are short programs of other operators."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import bool_, float64, int64, promote_types
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .complex_tensors import AnyTensor
from .dims import dimension, dimensions, dtype_of, size_of, sizes_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .joining import cat
from .sizes import product, simplify, sizes_text
from .values import ComplexTensor, Tensor, Value


def _logspace(
    b: Builder,
    start: Value,
    end: Value,
    steps: Value,
    base: Value = 10.0,
    dtype: Value = None,
    *_: Value,
) -> Tensor:
    """base ** linspace(start, end)."""
    kind = dtype_of(dtype, b.default_dtype)
    wide = compute_dtype(kind) if kind.is_floating_point else float64
    if kind.is_integral and not size_of(steps).is_int(1):
        # Bounds of whole numbers lose their fractions; the steps between them do not.
        numbers = (b.item(v) if isinstance(v, Tensor) else v for v in (start, end))
        start, end = (b.apply("aten::trunc", b.full((), n, wide)) for n in numbers)
    powers = b.apply("aten::linspace", start, end, steps, wide.code)
    return b.pointwise(lambda e, p: binary("pow", p, e), powers, base, dtype=kind, compute=wide)


def _diagflat(b: Builder, x: Tensor, offset: Value = 0, *_: Value) -> Tensor:
    return b.apply("aten::diag_embed", b.call("aten::reshape", x, [-1]), offset)


def _block_diag(b: Builder, tensors: list[Tensor], *_: Value) -> Tensor:
    """Matrices along the diagonal; numbers and vectors are rows."""
    dtype = b.result_type(*tensors)
    blocks = []
    for k, t in enumerate(tensors):
        if t.rank > 2:
            b.error(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input"
                f" {k} has {t.rank} dimensions"
            )
        shape = [*[1] * (2 - t.rank), *t.shape]
        blocks.append(b.cast(b.apply("aten::reshape", t, shape), dtype))
    width = const(0)
    for t in blocks:
        width = simplify(width + t.shape[1])
    rows, left = [], const(0)
    for t in blocks:
        right = simplify(width - left - t.shape[1])
        sides = [b.full((t.shape[0], n), 0, dtype) for n in (left, right)]
        rows.append(cat(b, [sides[0], t, sides[1]], 1))
        left = simplify(left + t.shape[1])
    return cat(b, rows, 0)


def _ends(b: Builder, x: AnyTensor, d: int) -> tuple[AnyTensor, AnyTensor]:
    """All but the last, and all but the first, along `d`."""
    return b.apply("aten::slice", x, d, 0, -1), b.apply("aten::slice", x, d, 1)


def _panels(b: Builder, name: str, y: AnyTensor, x: AnyTensor, d: int) -> Tensor:
    """Twice the areas of the trapezoids between neighbours, for samples at the places `x`."""
    if bool_ in (y.dtype, x.dtype):
        b.error(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    low, high = _ends(b, y, d)
    shape = list(x.shape)
    if x.rank == 1:
        message = f"{name}: There must be one `x` value for each sample point"
        b.require_same(x.shape[0], y.shape[d], message)
        shape += [const(1)] * (y.rank - 1 - d)
    places = b.apply("aten::reshape", x, [*[1] * (y.rank - len(shape)), *shape])
    left, right = _ends(b, places, d)
    return b.apply("aten::mul", b.call("aten::add", low, high), b.call("aten::sub", right, left))


def _trapezoid(b: Builder, y: Tensor, x: Value = 1, dim: Value = -1, *_: Value) -> Tensor:
    """Sums of neighbours stay in the dtype of `y`, so those of uint8 wrap, as PyTorch's do."""
    d = dimension(b, dim, y.rank)
    if y.shape[d].is_int(0):
        return b.apply("aten::sum.dim_IntList", y, [d], False, y.dtype.code)
    if isinstance(x, Tensor | ComplexTensor):
        areas = _panels(b, "trapezoid", y, x, d)
        return b.apply("aten::div", b.call("aten::sum.dim_IntList", areas, [d]), 2.0)
    ends = b.apply("aten::add", *(b.call("aten::select", y, d, k) for k in (-1, 0)))
    total = b.apply("aten::sum.dim_IntList", y, [d])
    inner = b.apply("aten::sub", total, b.call("aten::mul", ends, 0.5))
    return b.apply("aten::mul", inner, x)


def _running_trapezoid(b: Builder, y: Tensor, x: Value = 1, dim: Value = -1, *_: Value) -> Tensor:
    d = dimension(b, dim, y.rank)
    if isinstance(x, Tensor | ComplexTensor):
        areas = _panels(b, "cumulative_trapezoid", y, x, d)
        return b.apply("aten::div", b.call("aten::cumsum", areas, d), 2.0)
    low, high = _ends(b, y, d)
    areas = b.apply(
        "aten::mul", b.call("aten::add", low, high), 0.5 * x if isinstance(x, int | float) else x
    )
    return b.apply("aten::cumsum", areas, d)


def _sum_to_size(b: Builder, x: Tensor, size: Value, *_: Value) -> Tensor:
    """Sums over the dimensions that broadcasting `size` to the shape of `x` would repeat."""
    wanted = sizes_of(b, size)
    lead = x.rank - len(wanted)
    message = (
        f"size {{[{', '.join(map(str, wanted))}]}} is not expandable to size"
        f" {{[{', '.join(map(str, x.shape))}]}}."
    )
    if lead < 0:
        b.error(message)
    if not wanted:
        return b.apply("aten::sum", x)
    over = list(range(lead))
    for d, want in enumerate(wanted):
        have = x.shape[lead + d]
        if want.is_int(1) and not have.is_int(1):
            over.append(lead + d)
        else:
            b.settle(want, have)
            b.require_unbroadcast(want, have, message)
    out = b.apply("aten::sum.dim_IntList", x, over, True) if over else x
    return b.apply("aten::reshape", out, list(wanted))


def _vecdot(b: Builder, x: Tensor, y: Tensor, dim: Value = -1, *_: Value) -> Tensor:
    product = b.apply("aten::mul", x, y)
    return b.cast(b.apply("aten::sum.dim_IntList", product, [dim]), product.dtype)


def _multi_dot(b: Builder, tensors: list[Tensor], *_: Value) -> Tensor:
    if len(tensors) < 2:
        b.error(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    out = tensors[0]
    for t in tensors[1:]:
        out = b.apply("aten::matmul", out, t)
    return out


def _vander(b: Builder, x: Tensor, n: Value = None, *_: Value) -> Tensor:
    if n is not None:
        b.check(known(binary("gt", as_expr(n), 1)), "N must be greater than 1.")
    return _powers(b, x, n)


def _powers(b: Builder, x: Tensor, n: Value) -> Tensor:
    """Powers 0, 1, ... of each element, along a new last dimension."""
    if not x.rank:
        x = b.apply("aten::reshape", x, [1])
    if n is not None:
        b.check(known(binary("ge", as_expr(n), 0)), "N must be non-negative.")
    count = x.shape[-1] if n is None else sizes_of(b, [n])[0]
    dtype = x.dtype if x.dtype.is_floating_point else int64
    powers = b.apply("aten::arange", count, dtype.code)
    return b.apply("aten::pow", b.call("aten::unsqueeze", b.cast(x, dtype), -1), powers)


def _vander_from_highest(
    b: Builder, x: AnyTensor, n: Value = None, increasing: Value = False
) -> AnyTensor:
    if x.rank != 1:
        b.error("x must be a one-dimensional tensor.")
    if isinstance(x, Tensor):
        found: AnyTensor = _powers(b, x, n)
    else:
        found = b.apply("aten::linalg_vander", x, n)
    return found if increasing else b.apply("aten::flip", found, [-1])


def _shifted(backwards: bool) -> Callable[..., Tensor]:
    """fftshift: frequency 0 to the middle, or back."""

    def row(b: Builder, x: Tensor, dims: Value = None, *_: Value) -> Tensor:
        found = dimensions(b, dims, x.rank)
        halves = [x.shape[d] // 2 for d in found]
        moves = [
            simplify(x.shape[d] - h if backwards else h) for d, h in zip(found, halves, strict=True)
        ]
        return b.apply("aten::roll", x, moves, list(found)) if found else x

    return row


def _affine_grid(b: Builder, theta: Tensor, size: Value, align: Value, *_: Value) -> Tensor:
    """Places in [-1, 1] of an (N, C, *) image, last dimension first, times (n, n + 1) matrices."""
    sizes = sizes_of(b, size)
    n, spatial, dtype = len(sizes) - 2, sizes[2:], theta.dtype
    wide = compute_dtype(dtype)

    def place(i: Expr, count: Expr) -> Expr:
        extent = cast(count, wide)
        if count.is_int(1):
            return const(0, wide)
        step = cast(i, wide) * 2.0
        if align:
            return step / (extent - 1.0) - 1.0
        return (step + 1.0) / extent - 1.0

    def make(body: Body, i: list[Expr]) -> Expr:
        row = i[-1]
        total = body.read(theta, [i[0], row, n], wide)
        for k in range(n):
            at = place(i[n - k], spatial[n - 1 - k])
            total = total + body.read(theta, [i[0], row, k], wide) * at
        return total

    return b.compute((sizes[0], *spatial, const(n)), dtype, make)


def _masked_scatter(b: Builder, x: Tensor, mask: Tensor, source: Tensor, *_: Value) -> Tensor:
    """The k-th place of the mask takes the k-th element of `source`."""
    if x.dtype is not source.dtype:
        b.error(
            "masked_scatter: expected self and source to have same dtypes but got"
            f" {x.dtype.word} and {source.dtype.word}"
        )
    if mask.dtype is not bool_:
        b.error(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            + mask.dtype.word
        )
    shape = b.broadcast_shapes(x.shape, mask.shape)
    wide = b.apply("aten::expand", mask, list(shape))
    flat = b.apply("aten::reshape", wide, [-1])
    order = b.apply("aten::sub", b.call("aten::cumsum", flat, 0), 1)
    values = b.apply("aten::reshape", source, [-1])
    count = b.item(b.apply("aten::sum", flat))
    b.check(
        binary("le", count, values.shape[0]),
        "masked_scatter: expected number of elements in source to be at least the number of ones in"
        " mask",
    )
    order = b.apply("aten::reshape", order, list(shape))

    def make(body: Body, i: list[Expr]) -> Expr:
        at = binary("max", body.read(order, i, int64), 0)
        new = body.read(values, [binary("min", at, values.shape[0] - 1)], x.dtype)
        return select(body.read(wide, i), new, body.broadcast(x, i, x.dtype, shape))

    return b.compute(shape, x.dtype, make)


def _unpooled(n: int) -> Callable[..., Tensor]:
    """max_unpool: values back at the places that pooling took them from."""

    def row(b: Builder, x: Tensor, places: Tensor, size: Value, *_: Value) -> Tensor:
        b.require_alike(
            places.shape,
            x.shape,
            "Expected shape of indices to be same as that of the input tensor "
            f"({sizes_text(x.shape)}) but got indices tensor with shape: "
            f"{sizes_text(places.shape)}",
        )
        lead, spatial = list(x.shape[:-n]), sizes_of(b, size)[-n:]
        count = product(x.shape[-n:])
        rows = b.apply("aten::reshape", x, [*lead, count])
        at = b.apply("aten::reshape", places, [*lead, count])
        empty = b.full((*lead, product(tuple(spatial))), 0, x.dtype)
        out = b.apply("aten::scatter.src", empty, -1, at, rows)
        return b.apply("aten::reshape", out, [*lead, *spatial])

    return row


def _histogram(
    b: Builder, x: Tensor, bins: Value = 100, low: Value = 0, high: Value = 0, *_: Value
) -> Tensor:
    """How many elements lie in each of equal bins; the last one holds its end."""
    if not isinstance(bins, int):
        b.cannot("a number of bins that is not known")
    if any(isinstance(end, Expr) and not end.is_const for end in (low, high)):
        b.cannot("ends of a histogram that are not known")
    if bins <= 0:
        b.error(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    given = [float(end.value if isinstance(end, Expr) else end) for end in (low, high)]  # type: ignore[arg-type]  # known numbers
    if not all(map(math.isfinite, given)):
        b.error(f"torch.histc: range of [{given[0]:g}, {given[1]:g}] is not finite")
    wide = compute_dtype(x.dtype)
    flat = b.apply("aten::reshape", x, [-1])
    if low == high and flat.shape[0] is const(0):
        return b.full((const(bins),), 0, x.dtype)
    if low == high:
        ends = [b.item(b.apply(f"aten::{n}", flat)) for n in ("min", "max")]
        # The difference of what is not finite is not finite; of the rest it may overflow.
        for end in ends:
            b.check(binary("eq", end - end, 0), "torch.histc: range is not finite")
        same = binary("eq", ends[0], ends[1])
        low, high = select(same, ends[0] - 1.0, ends[0]), select(same, ends[1] + 1.0, ends[1])
    elif isinstance(low, int | float) and isinstance(high, int | float) and low > high:
        b.error("torch.histc: max must be larger than min")

    def stored(e: Expr) -> Expr:
        """Half types round after each step."""
        return cast(cast(e, x.dtype), wide) if x.dtype is not wide else e

    def inside(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = body.read(flat, r, wide)
        first, last = body.scalar(low, wide), body.scalar(high, wide)
        scaled = stored(stored(stored(e - first) * float(bins)) / stored(last - first))
        at = call("floor", scaled)
        at = binary("min", at, float(bins - 1))
        held = binary("and", binary("ge", e, first), binary("le", e, last))
        hit = binary("and", held, at.equals(cast(i[0], wide)))
        return select(hit, const(1, wide), const(0, wide))

    return b.reduce((const(bins),), flat.shape, x.dtype, "add", inside)


COMPOSITE: Rows = {
    **{
        f"aten::{n}": lambda b, x, *_: x
        for n in ("conj", "conj_physical", "_conj", "_conj_physical")
    },
    "aten::logspace": _logspace,
    "aten::diagflat": _diagflat,
    "aten::block_diag": _block_diag,
    **{f"aten::{n}": _trapezoid for n in ("trapezoid", "trapz")},
    "aten::cumulative_trapezoid": _running_trapezoid,
    "aten::sum_to_size": _sum_to_size,
    "aten::linalg_diagonal": lambda b, x, offset=0, p=-2, q=-1: b.call(
        "aten::diagonal", x, offset, p, q
    ),
    "aten::linalg_vecdot": _vecdot,
    "aten::linalg_multi_dot": _multi_dot,
    "aten::linalg_vander": _vander,
    "aten::vander": _vander_from_highest,
    "aten::fft_fftshift": _shifted(False),
    "aten::fft_ifftshift": _shifted(True),
    "aten::affine_grid_generator": _affine_grid,
    "aten::masked_scatter": _masked_scatter,
    "aten::max_unpool2d": _unpooled(2),
    "aten::max_unpool3d": _unpooled(3),
    "aten::histc": _histogram,
    "aten::result_type": lambda b, x, y: b.result_type(x, y).code,
    "aten::promote_types": lambda b, p, q: (
        promote_types(dtype_of(p, bool_), dtype_of(q, bool_)).code
    ),
}
