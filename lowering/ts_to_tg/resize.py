"""Rows of padding and of resizing by interpolation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tensorscript.base.dtypes import DType, float64, int64, uint8
from tensorscript.base.dtypes import float32 as _F32
from tensorscript.base.errors import OperatorError
from tensorscript.base.padding import check_elements, check_sizes, check_structure
from tensorscript.base.resampling import CUBIC, HAT, interpolated_weights
from tensorscript.dialects.te.expr import Expr, all_of, binary, call, cast, const, select
from tensorscript.dialects.tg.ops import ViewOp

from .builder import Builder, Rows
from .byte_images import resampled_bytes
from .dims import sizes_of
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .pointwise import absolute
from .sizes import simplify, sizes_text
from .values import Tensor, Value


def inside(position: Expr, size: Expr, low: bool, high: bool) -> list[Expr]:
    """The conditions of 0 <= position < size that can fail."""
    out = [binary("ge", position, 0)] if low else []
    return [*out, binary("lt", position, size)] if high else out


def _amounts(x: Tensor, pads: Sequence[Value]) -> list[tuple[Expr, Expr]]:
    """(before, after) per dimension; the list starts with the last dimension."""
    out = [(const(0), const(0))] * x.rank
    for k in range(len(pads) // 2):
        out[x.rank - 1 - k] = (as_expr(pads[2 * k]), as_expr(pads[2 * k + 1]))
    return out


def constant_pad(b: Builder, x: Tensor, pads: Value, value: Value = 0, *_: Value) -> Tensor:
    """`x` between `pads` elements of `value` (last dimension first); negative numbers cut."""
    amounts = _amounts(x, pads)
    shape = sizes_of(b, [simplify(s + p + q) for s, (p, q) in zip(x.shape, amounts, strict=True)])
    fill = 0 if value is None else value
    for size, pair in zip(x.shape, amounts, strict=True):
        cut = [p for p in pair if p.op != "const" or int(p) < 0]
        left = sum((binary("min", p, 0) for p in cut), size)
        if cut:
            b.check(known(binary("ge", left, 0)), "narrow(): length must be non-negative.")

    def make(body: Body, i: list[Expr]) -> Expr:
        at, guards = [], []
        for d, (low, high) in enumerate(amounts):
            at.append(simplify(i[d] - low))
            guards += inside(at[-1], x.shape[d], not low.is_int(0), not high.is_int(0))
        element = body.read(x, at, x.dtype)
        return select(all_of(guards), element, body.scalar(fill, x.dtype)) if guards else element

    return b.compute(shape, x.dtype, make)


def _check_room(b: Builder, x: Tensor, amounts: Sequence[tuple[Expr, Expr]], kind: str) -> None:
    """What is copied is there: a mirror has an element more than it shows."""
    if kind == "replicate":
        return
    for d, (pads, size) in enumerate(zip(amounts, x.shape, strict=True)):
        message = (
            "Padding value causes wrapping around more than once."
            if kind == "circular"
            else "Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({pads[0]}, {pads[1]}) at dimension {d} of input {sizes_text(x.shape)}"
        )
        for p in pads:
            if not p.is_int(0):
                room = binary("le" if kind == "circular" else "lt", p, size)
                b.check(known(room), message)
        if kind == "circular":
            left = size + binary("min", pads[0], 0) + binary("min", pads[1], 0)
            grows = binary("max", *pads) > 0
            is_filled = binary("or", left > 0, binary("eq", grows, False))
            b.check(known(is_filled), "can't extend an axis of which nothing is left")


def _wrapped(at: Expr, size: Expr, low: Expr, high: Expr) -> Expr:
    """Where place `at`, 0 at the first element, is found: negative widths cut before the rest goes
    round."""
    first, end = -binary("min", low, 0), size + binary("min", high, 0)
    return simplify((at - first) % (end - first) + first)


def mirrored(kind: str) -> Callable[..., Tensor]:
    """reflect, replicate and circular padding: another index map."""

    def row(b: Builder, x: Tensor, pads: Value, *_: Value) -> Tensor:
        amounts = _amounts(x, pads)
        _check_room(b, x, amounts, kind)
        shape = sizes_of(
            b, [simplify(s + p + q) for s, (p, q) in zip(x.shape, amounts, strict=True)]
        )

        def make(body: Body, i: list[Expr]) -> Expr:
            at = []
            for d, (low, high) in enumerate(amounts):
                if low.is_int(0) and high.is_int(0):
                    at.append(i[d])
                    continue
                e, size = simplify(i[d] - low), x.shape[d]
                if kind == "replicate":
                    e = binary("min", binary("max", e, 0), size - 1)
                elif kind == "circular":
                    e = _wrapped(e, size, low, high)
                else:
                    e = select(e < 0, -e, e)
                    e = select(binary("ge", e, size), 2 * (size - 1) - e, e)
                at.append(e)
            return body.read(x, at, x.dtype)

        return b.compute(shape, x.dtype, make, ViewOp)

    return row


def _pad(
    b: Builder, x: Tensor, pads: Value, mode: str = "constant", value: Value = None, *_: Value
) -> Tensor:
    _check_padding(b, x, pads, mode, value)
    if mode == "constant":
        return constant_pad(b, x, pads, value)
    return mirrored(mode)(b, x, pads)


def _check_padding(b: Builder, x: Tensor, pads: Value, mode: str, value: Value) -> None:
    """Refuse what eager mode does, as far as the sizes are known here."""
    sizes, amounts = [as_expr(s) for s in x.shape], [as_expr(p) for p in pads]
    try:
        check_structure(mode, x.rank, pads, None if isinstance(value, Expr) else value)
        check_elements(mode, x.dtype, pads)
        if all(e.op == "const" for e in (*sizes, *amounts)):
            check_sizes(mode, [int(s) for s in sizes], [int(p) for p in amounts])
    except OperatorError as refusal:
        raise b.placed(refusal) from None


Scales = list[float | None]


def target_sizes(
    b: Builder, x: Tensor, size: Value, rest: Sequence[Value], n: int
) -> tuple[list[Expr], Scales]:
    """Output sizes, and the scale factors that are given: `rest` begins with a list of them, or
    with one a dimension."""
    lead = x.rank - n
    listed = rest[0] if rest and (size is None or isinstance(rest[0], list)) else None
    if size is not None:
        scales = [v if isinstance(v, float) else None for v in listed or rest[:n]]
        return list(sizes_of(b, size)), scales + [None] * (n - len(scales))
    out = []
    for d, factor in enumerate(listed or ()):
        old = x.shape[lead + d]
        if old.op == "const":
            out.append(const(int(int(str(old.value)) * factor)))
        elif float(factor).is_integer():
            out.append(simplify(old * int(factor)))
        else:
            new = cast(cast(b.unsized(old), float64) * factor, int64)
            out.append(b.size(b.scalar_of(b.scalar_operand(new))))
    return out, list(listed or ())


def _ratio(old: Expr, new: Expr, factor: float | None, kind: DType = _F32) -> Expr:
    """Input steps per output step, in `kind`."""
    from_sizes = cast(old, kind) / cast(new, kind)
    return const(1 / factor, kind) if factor else from_sizes


MOST_CHECKED = 1 << 16
"""Positions of which each is looked at."""


def _even_steps(i: Expr, scale: Expr, old: Expr, new: Expr, half: float) -> Expr | None:
    """`floor((i + half) * scale)` as a quotient or a multiple of the integer i, where that is the
    same, and less than `old`, for every i below `new`; None where it is not."""
    size = int(str(new)) if new.is_const else 0
    if not scale.is_const or not 0 < size <= MOST_CHECKED:
        return None
    step = np.float32(str(scale.value))
    if not np.isfinite(step) or step <= 0:
        return None
    every = np.arange(size)
    places = np.floor((every.astype(np.float32) + np.float32(half)) * step)
    if not old.is_const or places[-1] >= int(str(old)):
        return None
    if step >= 1:
        factor = round(float(step))
        return i * factor if np.array_equal(places, every * factor) else None
    divisor = round(1 / float(step))
    return i // divisor if np.array_equal(places, every // divisor) else None


def nearest(n: int, exact: bool = False) -> Callable[..., Tensor]:
    """Rows of `upsample_nearest{n}d`: the element at the scaled index (`exact`: its middle)."""

    def row(b: Builder, x: Tensor, size: Value, *rest: Value) -> Tensor:
        sizes, scales = target_sizes(b, x, size, rest, n)
        lead = x.rank - n

        def make(body: Body, i: list[Expr]) -> Expr:
            at = list(i[:lead])
            for d in range(n):
                old, e = x.shape[lead + d], cast(i[lead + d], _F32)
                scale = _ratio(old, sizes[d], scales[d])
                even = _even_steps(i[lead + d], scale, old, sizes[d], 0.5 if exact else 0.0)
                if even is not None:
                    at.append(even)
                    continue
                position = (e + 0.5) * scale if exact else e * scale
                at.append(binary("min", cast(call("floor", position), int64), old - 1))
            return body.read(x, at, x.dtype)

        return b.compute((*x.shape[:lead], *sizes), x.dtype, make, ViewOp)

    return row


def _place(x: Tensor) -> DType:
    """The dtype in which input positions are computed."""
    return float64 if x.dtype is float64 else _F32


def _source(
    i: Expr, old: Expr, new: Expr, align: bool, factor: float | None, clamp: bool, kind: DType
) -> Expr:
    """The (fractional) input position of output position i."""
    e = cast(i, kind)
    if align:
        if new.is_int(1):
            return const(0, kind)
        return e * (cast(simplify(old - 1), kind) / cast(simplify(new - 1), kind))
    position = (e + 0.5) * _ratio(old, new, factor, kind) - 0.5
    return binary("max", position, const(0, kind)) if clamp else position


def linear(n: int) -> Callable[..., Tensor]:
    """Linear, bilinear, trilinear: the mean of 2**n neighbours."""

    def row(b: Builder, x: Tensor, size: Value, align: bool, *rest: Value) -> Tensor:
        sizes, scales = target_sizes(b, x, size, rest, n)
        if x.dtype is uint8 and n == 2:
            weigh = partial(interpolated_weights, HAT)
            return resampled_bytes(b, x, sizes, scales, bool(align), weigh)
        lead = x.rank - n
        wide, kind = compute_dtype(x.dtype), _place(x)

        def make(body: Body, i: list[Expr]) -> Expr:
            def part(d: int, at: list[Expr]) -> Expr:
                if d == n:
                    return body.read(x, at, wide)
                old = x.shape[lead + d]
                position = _source(i[lead + d], old, sizes[d], align, scales[d], True, kind)
                low = binary("min", cast(position, int64), old - 1)
                high = binary("min", low + 1, old - 1)
                weight = cast(position - cast(low, kind), wide)
                first, second = part(d + 1, [*at, low]), part(d + 1, [*at, high])
                return first * (1 - weight) + second * weight

            return part(0, list(i[:lead]))

        return b.compute((*x.shape[:lead], *sizes), x.dtype, make)

    return row


def cubic_weight(distance: Expr, a: float = -0.75) -> Expr:
    """Keys's cubic convolution: how much a cell at `distance` < 2 counts."""
    d = absolute(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return select(binary("le", d, 1.0), near, far)


def _bicubic(b: Builder, x: Tensor, size: Value, align: bool, *rest: Value) -> Tensor:
    sizes, scales = target_sizes(b, x, size, rest, 2)
    if x.dtype is uint8:
        weigh = partial(interpolated_weights, CUBIC)
        return resampled_bytes(b, x, sizes, scales, bool(align), weigh)
    lead = x.rank - 2
    wide, kind = compute_dtype(x.dtype), _place(x)

    def make(body: Body, i: list[Expr]) -> Expr:
        def part(d: int, at: list[Expr]) -> Expr:
            if d == 2:
                return body.read(x, at, wide)
            old = x.shape[lead + d]
            position = _source(i[lead + d], old, sizes[d], align, scales[d], False, kind)
            base = call("floor", position)
            total: Expr | None = None
            for k in range(-1, 3):
                index = binary("min", binary("max", cast(base, int64) + k, 0), old - 1)
                weight = cast(cubic_weight(position - base - float(k)), wide)
                term = part(d + 1, [*at, index]) * weight
                total = term if total is None else total + term
            assert total is not None
            return total

        return part(0, list(i[:lead]))

    return b.compute((*x.shape[:lead], *sizes), x.dtype, make)


def _pixel_shuffle(b: Builder, x: Tensor, r: int, *_: Value) -> Tensor:
    lead, (c, h, w) = list(x.shape[:-3]), x.shape[-3:]
    message = f"pixel_shuffle expects a positive upscale_factor, but got {r}"
    b.check(known(binary("gt", as_expr(r), 0)), message)
    n = len(lead)
    split = b.call("tg::view", x, [*lead, c // (r * r), r, r, h, w])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return b.apply(
        "aten::reshape", b.call("aten::permute", split, order), [*lead, c // (r * r), h * r, w * r]
    )


RESIZE: Rows = {
    "aten::constant_pad_nd": constant_pad,
    "aten::pad": _pad,
    **{f"aten::reflection_pad{n}d": mirrored("reflect") for n in (1, 2, 3)},
    **{f"aten::replication_pad{n}d": mirrored("replicate") for n in (1, 2, 3)},
    **{f"aten::upsample_nearest{n}d": nearest(n) for n in (1, 2, 3)},
    **{f"aten::_upsample_nearest_exact{n}d": nearest(n, True) for n in (1, 2, 3)},
    "aten::upsample_linear1d": linear(1),
    "aten::upsample_bilinear2d": linear(2),
    "aten::upsample_trilinear3d": linear(3),
    "aten::upsample_bicubic2d": _bicubic,
    "aten::pixel_shuffle": _pixel_shuffle,
}
