"""Rows of convolutions: one contraction over (input channel, kernel position) by index maps.

```
out[n, o, y, ..] = sum over c, ky, .. of
                   in[n, g*C + c, y*stride + ky*dilation - pad, ..] * w[o, c, ky, ..]
```
Reads outside of the input are guarded by a select. A transposed convolution is one convolution per
phase of its output, (y + pad) modulo the stride, which sees every stride-th tap of the kernel; the
phases are rows of one product, or a batch, interleaved by a view. With a dilation it gathers
instead: the input position is (y + pad - ky*dilation) / stride where that divides.
"""

from __future__ import annotations

from tensorscript.base.dtypes import DType
from tensorscript.dialects.te.expr import Expr, all_of, binary, const, known_as, select

from .builder import Builder, Rows
from .elements import as_expr, compute_dtype, known
from .emission import Body
from .linalg import with_bias
from .normalization import per_channel
from .sizes import simplify
from .values import Tensor, Value

LEAST_CHANNELS = 16
"""Rows of a product that is as fast alone as with those of the other phases."""
MOST_WASTE = 1.1
"""Of a grid that all phases lie in."""
Length = int | Expr
"""A size of a kernel, known or not."""


def spread(value: Value, count: int) -> list[int]:
    """One number, or one per spatial dimension."""
    if isinstance(value, int):
        return [value] * count
    return list(value) * count if len(value) == 1 else list(value)


def inside(position: Expr, size: Expr, low: bool, high: bool) -> list[Expr]:
    """The conditions of 0 <= position < size that can fail."""
    out = [binary("ge", position, 0)] if low else []
    return [*out, binary("lt", position, size)] if high else out


def _with_dimensions(b: Builder, x: Tensor) -> Tensor:
    """`x`, copied where dimensions of it are one in memory: windows reach over the edge of each."""
    places = {f"i{d}" for d in range(x.rank)}
    merges = any(len(places & e.free) > 1 for e in x.indices or ())
    return b.copied(x) if merges else x


def convolve(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Value,
    padding: Value,
    dilation: Value,
    groups: Length,
) -> Tensor:
    """Convolution of (N, C, ...) by (O, C / groups, ...) in any number of dimensions."""
    spatial = weight.rank - 2
    if x.rank == spatial + 1:
        out = convolve(
            b, b.call("aten::unsqueeze", x, 0), weight, bias, stride, padding, dilation, groups
        )
        return b.apply("aten::squeeze", out, 0)
    x = _with_dimensions(b, x)
    steps, dilations = spread(stride, spatial), spread(dilation, spatial)
    kernel: list[Length] = [known(s) for s in weight.shape[2:]]
    low, high = _padding(padding, kernel, dilations)
    b.require_same(
        x.shape[1],
        simplify(weight.shape[1] * groups),
        f"Given groups={groups}, weight of size {list(weight.shape)}, expected"
        f" input{list(x.shape)} to have {simplify(weight.shape[1] * groups)} channels, but got"
        f" {x.shape[1]} channels instead",
    )
    if x.shape[1].is_int(0):
        b.cannot("no channels")
    sizes = []
    for d in range(spatial):
        reach = dilations[d] * (kernel[d] - 1) + 1
        sizes.append(simplify((x.shape[2 + d] + (low[d] + high[d] - reach)) // steps[d] + 1))
    channels, per_group = weight.shape[0], simplify(weight.shape[0] // groups)
    wide = compute_dtype(x.dtype)

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        group = const(0) if known_as(groups, 1) else i[1] // per_group
        at = [
            i[2 + d] * steps[d] + (r[1 + d] * dilations[d] - low[d]) if not known_as(low[d], 0) else
            i[2 + d] * steps[d] + r[1 + d] * dilations[d]
            for d in range(spatial)
        ]  # fmt: skip
        guards: list[Expr] = []
        for d, e in enumerate(at):
            guards += inside(e, x.shape[2 + d], not known_as(low[d], 0), not known_as(high[d], 0))
        channel = r[0] if known_as(groups, 1) else simplify(group * weight.shape[1] + r[0])
        element = body.read(x, [i[0], channel, *at], wide)
        guarded = select(all_of(guards), element, const(0, wide)) if guards else element
        return guarded * body.read(weight, [i[1], r[0], *r[1:]], wide)

    shape = (x.shape[0], channels, *sizes)
    out = b.contract(shape, [weight.shape[1], *weight.shape[2:]], wide, make)
    return _with_bias(b, out, bias, x.dtype)


def _with_bias(b: Builder, out: Tensor, bias: Tensor | None, dtype: DType) -> Tensor:
    spread_out = None if bias is None else per_channel(b, bias, out.rank)
    return with_bias(b, out, spread_out, dtype)


def _padding(
    padding: Value, kernel: list[Length], dilation: list[int]
) -> tuple[list[Length], list[Length]]:
    """Padding before and after each dimension; "same" puts the odd one behind."""
    if padding == "valid":
        return [0] * len(kernel), [0] * len(kernel)
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return [t // 2 for t in totals], [t - t // 2 for t in totals]
    both: list[Length] = list(spread(padding, len(kernel)))
    return both, both


def transposed(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Value,
    padding: Value,
    output_padding: Value,
    groups: Length,
    dilation: Value,
) -> Tensor:
    """Transposed convolution by a weight of (C, O / groups, ...)."""
    spatial = weight.rank - 2
    if x.rank == spatial + 1:
        batched = b.call("aten::unsqueeze", x, 0)
        out = transposed(
            b, batched, weight, bias, stride, padding, output_padding, groups, dilation
        )
        return b.apply("aten::squeeze", out, 0)
    x = _with_dimensions(b, x)
    steps, pads = spread(stride, spatial), spread(padding, spatial)
    extra, dilations = spread(output_padding, spatial), spread(dilation, spatial)
    kernel: list[Length] = [known(s) for s in weight.shape[2:]]
    sizes = []
    for d in range(spatial):
        reach = dilations[d] * (kernel[d] - 1) + 1
        sizes.append(simplify((x.shape[2 + d] - 1) * steps[d] + (reach + extra[d] - 2 * pads[d])))
    per_group = weight.shape[1]
    inner = simplify(weight.shape[0] // groups)
    wide = compute_dtype(x.dtype)
    if all(known_as(d, 1) for d in dilations):
        out = _phased(b, x, weight, sizes, steps, pads, kernel, groups)
        return _with_bias(b, out, bias, x.dtype)

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        group = const(0) if known_as(groups, 1) else i[1] // per_group
        channel = r[0] if known_as(groups, 1) else simplify(group * inner + r[0])
        at, guards = [], []
        for d in range(spatial):
            position = simplify(i[2 + d] + pads[d] - r[1 + d] * dilations[d])
            if not known_as(steps[d], 1):
                guards.append(binary("eq", position % steps[d], 0))
                position = position // steps[d]
            guards += inside(position, x.shape[2 + d], True, True)
            at.append(position)
        element = body.read(x, [i[0], channel, *at], wide)
        out = i[1] if known_as(groups, 1) else i[1] % per_group
        return select(all_of(guards), element, const(0, wide)) * body.read(
            weight, [channel, out, *r[1:]], wide
        )

    shape = (x.shape[0], simplify(per_group * groups), *sizes)
    out = b.contract(shape, [inner, *weight.shape[2:]], wide, make)
    return _with_bias(b, out, bias, x.dtype)


def _grids_apart(sizes: list[Expr], steps: list[int], pads: list[int], channels: Expr) -> bool:
    """Whether phases that begin at different places have a grid each, a batch of convolutions; else
    they are rows of one, on a grid that all of them lie in."""
    count = known(channels)
    if not isinstance(count, int) or count < LEAST_CHANNELS:
        return False
    waste = 1.0
    for size, step, pad in zip(map(known, sizes), steps, pads, strict=True):
        if not isinstance(size, int):
            return False
        waste *= ((size + pad - 1) // step + 1) / -(-size // step)
    return waste > MOST_WASTE


def _phased(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    sizes: list[Expr],
    steps: list[int],
    pads: list[int],
    kernel: list[Length],
    groups: Length,
) -> Tensor:
    """The transposed convolution by phases: output y is phase p = (y + shift) % stride at place
    a = (y + shift) // stride. With q = p + pad - shift it sums, over u,
    w[q % stride + stride*u] * in[a + q // stride - u]."""
    spatial, wide = len(steps), compute_dtype(x.dtype)
    per_group, inner = weight.shape[1], simplify(weight.shape[0] // groups)
    split = [d for d in range(spatial) if steps[d] > 1]
    taps = [-(-k // s) for k, s in zip(kernel, steps, strict=True)]
    shifts = [0] * spatial if _grids_apart(sizes, steps, pads, per_group) else pads
    places = [
        simplify((size + (p - 1)) // s + 1) for size, p, s in zip(sizes, shifts, steps, strict=True)
    ]

    def make(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        phases = dict(zip(split, i[2 : 2 + len(split)], strict=True))
        channel = r[0] if known_as(groups, 1) else simplify(i[1] // per_group * inner + r[0])
        at: list[Expr] = []
        chosen: list[Expr] = []
        in_image: list[Expr] = []
        in_kernel: list[Expr] = []
        for d in range(spatial):
            back = taps[d] - 1 - r[1 + d]  # the last tap first, so that positions rise with it
            phase, rest = phases.get(d, const(0)), pads[d] - shifts[d]
            ahead = (phase + rest) // steps[d] if rest % steps[d] else const(rest // steps[d])
            first = (phase + rest) % steps[d] if rest % steps[d] else phase
            position = simplify(i[2 + len(split) + d] + ahead - back)
            tap = simplify(first + back * steps[d])
            in_image += inside(position, x.shape[2 + d], not known_as(taps[d], 1), True)
            in_kernel += inside(
                tap, as_expr(kernel[d]), False, not known_as(kernel[d] % steps[d], 0)
            )
            at.append(position)
            chosen.append(tap)
        element = select(all_of(in_image), body.read(x, [i[0], channel, *at], wide), const(0, wide))
        out = i[1] if known_as(groups, 1) else i[1] % per_group
        factor = body.read(weight, [channel, out, *chosen], wide)
        if in_kernel:
            factor = select(all_of(in_kernel), factor, const(0, wide))
        return element * factor

    channels = simplify(per_group * groups)
    shape = (x.shape[0], channels, *(const(steps[d]) for d in split), *places)
    phased = b.contract(shape, [inner, *map(as_expr, taps)], wide, make)

    def joined(body: Body, i: list[Expr]) -> Expr:
        moved = [i[2 + d] + shifts[d] for d in range(spatial)]
        phases = [moved[d] % steps[d] for d in split]
        place = [moved[d] // steps[d] if d in split else moved[d] for d in range(spatial)]
        return body.read(phased, [i[0], i[1], *phases, *place], wide)

    return b.compute((x.shape[0], channels, *sizes), wide, joined)


def _conv(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Value = None,
    stride: Value = 1,
    padding: Value = 0,
    dilation: Value = 1,
    groups: Length = 1,
    *_: Value,
) -> Tensor:
    return convolve(b, x, w, bias, stride, padding, dilation, groups)


def _transpose(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Value = None,
    stride: Value = 1,
    padding: Value = 0,
    output_padding: Value = 0,
    groups: Length = 1,
    dilation: Value = 1,
    *_: Value,
) -> Tensor:
    return transposed(b, x, w, bias, stride, padding, output_padding, groups, dilation)


def _general(
    b: Builder,
    x: Tensor,
    w: Tensor,
    bias: Value,
    stride: Value,
    padding: Value,
    dilation: Value,
    is_transposed: bool,
    output_padding: Value,
    groups: Length,
    *_: Value,
) -> Tensor:
    if is_transposed:
        return transposed(b, x, w, bias, stride, padding, output_padding, groups, dilation)
    return convolve(b, x, w, bias, stride, padding, dilation, groups)


CONVOLUTION: Rows = {
    "aten::conv1d": _conv,
    "aten::conv2d": _conv,
    "aten::conv3d": _conv,
    "aten::conv_transpose1d": _transpose,
    "aten::conv_transpose2d": _transpose,
    "aten::conv_transpose3d": _transpose,
    "aten::convolution": _general,
    "aten::_convolution": _general,
}
