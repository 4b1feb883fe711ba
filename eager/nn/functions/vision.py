"""Images: windows as columns and back, sampling at places, affine grids."""

from __future__ import annotations

import warnings

from ... import namespace as ts
from ...tensor import Tensor
from .types import BroadcastingList2


def unfold(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    """The windows of an image as columns."""
    return ts.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: BroadcastingList2[int],
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    """The image whose windows are the columns; overlapping elements add up."""
    return ts.col2im(input, output_size, kernel_size, dilation, padding, stride)


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
            "documentation of grid_sample for details.",
            stacklevel=2,
        )
        return False
    return align_corners


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The image at the places of `grid`, whose coordinates run from -1 to 1.

    Raises:
        ValueError: an unknown mode.
    """
    if mode == "bilinear":
        way = 0
    elif mode == "nearest":
        way = 1
    elif mode == "bicubic":
        way = 2
    else:
        way = -1
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode == "zeros":
        outside = 0
    elif padding_mode == "border":
        outside = 1
    elif padding_mode == "reflection":
        outside = 2
    else:
        outside = -1
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    return ts.grid_sampler(input, grid, way, outside, _aligned(align_corners))


def affine_grid(theta: Tensor, size: list[int], align_corners: bool | None = None) -> Tensor:
    """The places that the affine maps `theta` give to the elements of images of `size`.

    Raises:
        ValueError: not floating-point maps of the right shape, or an empty size.
        NotImplementedError: neither 4 nor 5 sizes.
    """
    aligned = _aligned(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) != 4 and len(size) != 5:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    n = len(size) - 2
    if theta.dim() != 3 or theta.size(-2) != n or theta.size(-1) != n + 1:
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got "
            f"{theta.size()}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if aligned and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
            stacklevel=2,
        )
    return ts.affine_grid_generator(theta, size, aligned)
