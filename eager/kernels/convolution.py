"""Convolutions as a matrix product over sliding windows (im2col)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, compute, make, wrap
from .products import same_scalar_type
from .window import padded, spread, windows

Kernel = Callable[..., Any]
Ints = Sequence[int]

_ROOM = 1 << 28
"""Bytes of windows that are laid out as the rows of one product."""


def forward(
    x: Array, w: Array, stride: Ints, low: Ints, high: Ints, dilation: Ints, groups: int
) -> Array:
    """x (N, C, *sizes), w (O, C/groups, *kernel) -> (N, O, *outputs)."""
    cells = windows(padded(x, low, high), w.shape[2:], stride, dilation)
    return _over(cells, w, groups)


def _over(cells: Array, w: Array, groups: int) -> Array:
    """The outputs of windows (N, C, *outputs, *kernel), by halves where they need much room."""
    outputs = range(2, w.ndim)
    longest = max(outputs, key=lambda axis: cells.shape[axis])
    if cells.size * cells.itemsize <= _ROOM or cells.shape[longest] == 1:
        return _product(cells, w, groups)
    halves = np.array_split(cells, 2, longest)
    return np.concatenate([_over(half, w, groups) for half in halves], longest)


def _product(cells: Array, w: Array, groups: int) -> Array:
    n = w.ndim - 2
    batch, channels = cells.shape[:2]
    outputs = cells.shape[2 : 2 + n]
    grouped = cells.reshape(batch, groups, channels // groups, *cells.shape[2:])
    order = (1, 0, *range(3, 3 + n), 2, *range(3 + n, 3 + 2 * n))
    depth = channels // groups * math.prod(w.shape[2:])
    rows = grouped.transpose(order).reshape(groups, batch * math.prod(outputs), depth)
    kernel = w.reshape(groups, w.shape[0] // groups, depth).transpose(0, 2, 1)
    out = np.matmul(rows, kernel).reshape(groups, batch, *outputs, w.shape[0] // groups)
    back = (1, 0, 2 + n, *range(2, 2 + n))
    return np.ascontiguousarray(out.transpose(back)).reshape(batch, w.shape[0], *outputs)


def transposed(
    x: Array, w: Array, stride: Ints, padding: Ints, extra: Ints, dilation: Ints, groups: int
) -> Array:
    """x (N, C, *sizes), w (C, O/groups, *kernel): what each place of the kernel makes of x is added
    where it lies. Nothing is multiplied by the gaps of the stride, which infinite weights show."""
    batch, channels, *sizes = x.shape
    kernel, depth = w.shape[2:], channels // groups
    steps = list(zip(sizes, stride, kernel, dilation, strict=True))
    whole = [(m - 1) * s + d * (k - 1) + 1 for m, s, k, d in steps]
    ends = [n + e for n, e in zip(whole, extra, strict=True)]
    out = np.zeros((batch, groups * w.shape[1], *ends), x.dtype)
    grouped = x.reshape(batch, groups, depth, math.prod(sizes))
    for at in product(*map(range, kernel)) if x.size else ():
        place: Any = (..., *at)
        rows = w[place].reshape(groups, depth, w.shape[1]).swapaxes(1, 2)
        lies: Any = (..., *(slice(k * d, k * d + (m - 1) * s + 1, s)
                            for k, (m, s, _, d) in zip(at, steps, strict=True)))  # fmt: skip
        out[lies] += np.matmul(rows, grouped).reshape(*out.shape[:2], *sizes)
    kept: Any = (..., *(slice(p, n - p) for p, n in zip(padding, ends, strict=True)))
    return np.ascontiguousarray(out[kept])


def _check(x: Array, w: Array, groups: int, transpose: bool) -> None:
    wanted = w.shape[0] if transpose else w.shape[1] * groups
    if x.shape[1] != wanted:
        raise OperatorError(
            f"Given {'transposed=1' if transpose else f'groups={groups}'}, weight of size "
            f"{list(w.shape)}, expected input{list(x.shape)} to have {wanted} channels, but got "
            f"{x.shape[1]} channels instead"
        )


def convolution(
    self: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints,
    transpose: bool, output_padding: Ints, groups: int, *_: Any,
) -> Any:  # fmt: skip
    """Any number of spatial dimensions; an unbatched input gives an unbatched output."""
    if bias is not None and bias.dtype is not self.dtype:
        raise OperatorError(
            f"Input type ({cpp_name(self.dtype)}) and bias type ({cpp_name(bias.dtype)}) should be "
            "the same"
        )
    same_scalar_type(self, weight)
    x, w = compute(self), compute(weight)
    n = w.ndim - 2
    unbatched = x.ndim == n + 1
    if not unbatched and x.ndim != n + 2:
        raise OperatorError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
            f"conv{'_transpose' if transpose else ''}{n}d, but got input of size: {list(x.shape)}"
        )
    x = x[None] if unbatched else x
    _check(x, w, groups, transpose)
    s, p, d = spread(stride, n), spread(padding, n), spread(dilation, n)
    if min(s) <= 0:
        raise OperatorError("non-positive stride is not supported")
    if min(p) < 0:
        raise OperatorError("negative padding is not supported")
    if min(d) <= 0:
        raise OperatorError("dilation should be greater than zero")
    if transpose:
        out = transposed(x, w, s, p, spread(output_padding, n), d, groups)
    else:
        _check_kernel(x, w, p, d)
        out = forward(x, w, s, p, p, d, groups)
    if not x.shape[1]:
        out = out[:, :0]  # in PyTorch, what has no channels makes none
    elif bias is not None:
        out = out + compute(bias).reshape(-1, *[1] * n)
    return wrap(out[0] if unbatched else out, self.dtype)


def _check_kernel(x: Array, w: Array, padding: Ints, dilation: Ints) -> None:
    have = [m + 2 * p for m, p in zip(x.shape[2:], padding, strict=True)]
    need = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    if any(a < b for a, b in zip(have, need, strict=True)):
        raise OperatorError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, have))}). Kernel "
            f"size: ({' x '.join(map(str, need))}). Kernel size can't be greater than actual input "
            "size"
        )


def conv(self: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints,
         groups: int) -> Any:  # fmt: skip
    return convolution(self, weight, bias, stride, padding, dilation, False, [0], groups)


def conv_named(self: Any, weight: Any, bias: Any, stride: Ints, padding: str, dilation: Ints,
               groups: int) -> Any:  # fmt: skip
    """padding="valid" or "same" (the odd cell goes after)."""
    n = compute(weight).ndim - 2
    if padding == "valid":
        return conv(self, weight, bias, stride, [0], dilation, groups)
    total = [d * (k - 1) for d, k in zip(spread(dilation, n), weight._array.shape[2:], strict=True)]
    low = [t // 2 for t in total]
    wide = wrap(padded(compute(self), low, [t - a for t, a in zip(total, low, strict=True)]),
                self.dtype)  # fmt: skip
    return conv(wide, weight, bias, stride, [0], dilation, groups)


def conv_transpose(self: Any, weight: Any, bias: Any, stride: Ints, padding: Ints,
                   output_padding: Ints, groups: int, dilation: Ints) -> Any:  # fmt: skip
    return convolution(self, weight, bias, stride, padding, dilation, True, output_padding, groups)


def im2col(self: Any, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    x = compute(self)
    k, s, p, d = (spread(v, 2) for v in (kernel, stride, padding, dilation))
    cells = windows(padded(x, p, p), k, s, d)
    lead = cells.ndim - 5
    order = (*range(lead + 1), lead + 3, lead + 4, lead + 1, lead + 2)
    flat = cells.transpose(order)
    places = cells.shape[lead + 1] * cells.shape[lead + 2]
    rows = x.shape[lead] * k[0] * k[1]
    return wrap(np.ascontiguousarray(flat).reshape(*x.shape[:lead], rows, places), self.dtype)


def col2im(self: Any, output_size: Ints, kernel: Ints, dilation: Ints, padding: Ints,
           stride: Ints) -> Any:  # fmt: skip
    x = compute(self)
    k, s, p, d = (spread(v, 2) for v in (kernel, stride, padding, dilation))
    sizes = [m + 2 * a for m, a in zip(output_size, p, strict=True)]
    counts = [(m - di * (ki - 1) - 1) // si + 1
              for m, ki, si, di in zip(sizes, k, s, d, strict=True)]  # fmt: skip
    cells = x.reshape(*x.shape[:-2], x.shape[-2] // (k[0] * k[1]), *k, *counts)
    out = np.zeros((*cells.shape[:-4], *sizes), x.dtype)
    for i, j in product(range(k[0]), range(k[1])):
        rows = slice(i * d[0], i * d[0] + s[0] * counts[0], s[0])
        columns = slice(j * d[1], j * d[1] + s[1] * counts[1], s[1])
        out[..., rows, columns] += cells[..., i, j, :, :]
    return wrap(out[..., p[0] : sizes[0] - p[0], p[1] : sizes[1] - p[1]], self.dtype)


def conv_tbc(self: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """Time first, channels last: x (T, B, C), w (K, C, O) -> (T', B, O).

    Raises:
        OperatorError: an operand has another rank.
    """
    for t, role, dims in (
        (self, "Input", "time, batch, in_channel"),
        (weight, "Weight tensor", "kernel_width, in_channels, out_channels"),
    ):
        if array(t).ndim != 3:
            raise OperatorError(f"{role} must have 3 dims: {dims}" + "." * (role != "Input"))
    image = make(array(self).transpose(1, 2, 0), self.dtype)
    kernel = make(array(weight).transpose(2, 1, 0), weight.dtype)
    out = conv(image, kernel, bias, [1], [pad], [1], 1)
    return make(np.ascontiguousarray(array(out).transpose(2, 0, 1)), out.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::_convolution": convolution,
    "aten::_convolution.deprecated": convolution,
    "aten::convolution": convolution,
    "aten::_convolution_mode": conv_named,
    "aten::conv1d": conv,
    "aten::conv_tbc": conv_tbc,
    "aten::conv2d": conv,
    "aten::conv3d": conv,
    "aten::conv1d.padding": conv_named,
    "aten::conv2d.padding": conv_named,
    "aten::conv3d.padding": conv_named,
    "aten::conv_transpose1d": conv_transpose,
    "aten::conv_transpose2d.input": conv_transpose,
    "aten::conv_transpose3d.input": conv_transpose,
    "aten::im2col": im2col,
    "aten::col2im": col2im,
}
