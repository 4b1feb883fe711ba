"""Pooling by a norm, by random windows, and the inverse of maximum pooling."""

from __future__ import annotations

from ... import namespace as ts
from ...tensor import Tensor
from ..tuples import _pair, _single, _triple
from .choice import boolean_dispatch
from .types import BroadcastingList1, BroadcastingList2, BroadcastingList3, annotate


def lp_pool1d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int,
    stride: int | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of every window: (sum of x^p)^(1/p), negative sums as 0."""
    cells = kernel_size
    if stride is not None:
        out = ts.avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        out = ts.avg_pool1d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return (out.sign() * ts.relu(out.abs())).mul(cells).pow(1.0 / norm_type)


def lp_pool2d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of every window: (sum of x^p)^(1/p), negative sums as 0."""
    kh, kw = _pair(kernel_size)
    cells = kh * kw
    if stride is not None:
        out = ts.avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        out = ts.avg_pool2d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return (out.sign() * ts.relu(out.abs())).mul(cells).pow(1.0 / norm_type)


def lp_pool3d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of every window: (sum of x^p)^(1/p), negative sums as 0."""
    kd, kh, kw = _triple(kernel_size)
    cells = kd * kh * kw
    if stride is not None:
        out = ts.avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        out = ts.avg_pool3d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return (out.sign() * ts.relu(out.abs())).mul(cells).pow(1.0 / norm_type)


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: BroadcastingList2[int] | None = None,
    output_ratio: BroadcastingList2[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows whose places are random, and where they were.

    Benjamin Graham, "Fractional Max-Pooling", 2014.
    """
    if output_size is None and output_ratio is None:
        raise ValueError(
            "fractional_max_pool2d requires specifying either an output_size or an output_ratio"
        )
    if output_size is None:
        assert output_ratio is not None
        output_ratio = _pair(output_ratio)
        if len(output_ratio) > 2:
            raise ValueError(
                "fractional_max_pool2d requires output_ratio to either be a single Int or tuple "
                "of Ints."
            )
        output_size = [int(input.size(-2) * output_ratio[0]), int(input.size(-1) * output_ratio[1])]
    if _random_samples is None:
        batch = 1 if input.dim() == 3 else input.size(0)
        _random_samples = ts.rand(batch, input.size(-3), 2, dtype=input.dtype, device=input.device)
    return ts.fractional_max_pool2d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    output_size: BroadcastingList2[int] | None = None,
    output_ratio: BroadcastingList2[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    return fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


fractional_max_pool2d = boolean_dispatch(
    "return_indices", 4, False, fractional_max_pool2d_with_indices, _fractional_max_pool2d
)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: BroadcastingList3[int] | None = None,
    output_ratio: BroadcastingList3[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest elements of windows whose places are random, and where they were.

    Benjamin Graham, "Fractional Max-Pooling", 2014.
    """
    if output_size is None and output_ratio is None:
        raise ValueError(
            "fractional_max_pool3d requires specifying either an output_size or an output_ratio"
        )
    if output_size is None:
        assert output_ratio is not None
        output_ratio = _triple(output_ratio)
        if len(output_ratio) > 3:
            raise ValueError(
                "fractional_max_pool3d requires output_ratio to either be a single Int or tuple "
                "of Ints."
            )
        output_size = [
            int(input.size(-3) * output_ratio[0]),
            int(input.size(-2) * output_ratio[1]),
            int(input.size(-1) * output_ratio[2]),
        ]
    if _random_samples is None:
        batch = 1 if input.dim() == 4 else input.size(0)
        _random_samples = ts.rand(batch, input.size(-4), 3, dtype=input.dtype, device=input.device)
    return ts.fractional_max_pool3d(input, kernel_size, output_size, _random_samples)


def _fractional_max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    output_size: BroadcastingList3[int] | None = None,
    output_ratio: BroadcastingList3[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    return fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


fractional_max_pool3d = boolean_dispatch(
    "return_indices", 4, False, fractional_max_pool3d_with_indices, _fractional_max_pool3d
)


def _unpool_output_size(
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    output_size: list[int] | None,
) -> list[int]:
    """The sizes that were pooled: the smallest possible, or those asked for if possible."""
    sizes = input.size()
    smallest = annotate(list[int], [])
    for d in range(len(kernel_size)):
        size = (sizes[len(sizes) - len(kernel_size) + d] - 1) * stride[d] + kernel_size[d]
        smallest.append(size - 2 * padding[d])
    if output_size is None:
        return smallest
    found = list(output_size)
    if len(found) == len(kernel_size) + 2:
        found = found[2:]
    if len(found) != len(kernel_size):
        raise ValueError(
            "output_size should be a sequence containing "
            f"{len(kernel_size)} or {len(kernel_size) + 2} elements, but it has a length of "
            f"'{len(found)}'"
        )
    for d in range(len(kernel_size)):
        low, high = smallest[d] - stride[d], smallest[d] + stride[d]
        if not low < found[d] < high:
            raise ValueError(
                f'invalid output_size "{found}" (dim {d} must be between {low} and {high})'
            )
    return found


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    """Every element where maximum pooling found it, 0 elsewhere."""
    window, margin = _single(kernel_size), _single(padding)
    steps = window if stride is None else _single(stride)
    size = _unpool_output_size(input, window, steps, margin, output_size)
    found = ts.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1])
    return found.squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    """Every element where maximum pooling found it, 0 elsewhere."""
    window, margin = _pair(kernel_size), _pair(padding)
    steps = window if stride is None else _pair(stride)
    size = _unpool_output_size(input, window, steps, margin, output_size)
    return ts.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    """Every element where maximum pooling found it, 0 elsewhere."""
    window, margin = _triple(kernel_size), _triple(padding)
    steps = window if stride is None else _triple(stride)
    size = _unpool_output_size(input, window, steps, margin, output_size)
    return ts.max_unpool3d(input, indices, size, steps, margin)
