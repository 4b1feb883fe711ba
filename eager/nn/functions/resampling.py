"""Resampling of images to a size or by a factor."""

from __future__ import annotations

import math
import warnings
from typing import overload

from ... import namespace as ts
from ...data import tensor
from ...executor_flags import is_scripting, is_tracing
from ...tensor import Tensor
from .types import annotate


@overload
def _sizes(spatial: int, size: int | None) -> list[int] | None: ...
@overload
def _sizes(spatial: int, size: list[int] | None) -> list[int] | None: ...
def _sizes(spatial, size):  # type: ignore[no-untyped-def]  # typed by its overloads
    """A size for every spatial dimension; in traces a size may be a tensor."""
    if isinstance(size, (list, tuple)):
        found = size
    elif size is not None:
        found = [size for _ in range(spatial)]
    else:
        found = None
    return found


@overload
def _factors(spatial: int, factor: float | None) -> list[float] | None: ...
@overload
def _factors(spatial: int, factor: list[float] | None) -> list[float] | None: ...
def _factors(spatial, factor):  # type: ignore[no-untyped-def]  # typed by its overloads
    """A factor for every spatial dimension."""
    if isinstance(factor, (int, float)):
        found = [float(factor) for _ in range(spatial)]
    else:
        found = factor
    return found


def _scaled(input: Tensor, factors: list[float]) -> list[int]:
    """The sizes that factors lead to, rounded down."""
    if not is_scripting() and is_tracing():
        return _scaled_in_trace(input, factors)
    found = annotate(list[int], [])
    for i in range(len(factors)):
        found.append(int(math.floor(float(input.size(i + 2)) * factors[i])))
    return found


def _scaled_in_trace(input: Tensor, factors: list[float]) -> list[int]:
    """As `_scaled`, in tensors: the sizes follow those of other inputs."""
    sizes = [
        ts.floor((input.size(i + 2).float() * tensor(factor, dtype=ts.float32)).float())
        for i, factor in enumerate(factors)
    ]
    return sizes  # 0-dim tensors, which are sizes while a trace listens


def _dimensions(mode: str) -> int:
    """Of the inputs that a mode takes, where it takes one kind."""
    if mode == "linear":
        return 3
    if mode == "bilinear":
        return 4
    return 5 if mode == "trilinear" else 0


def _check_sizes(input: Tensor, size: list[int] | None, scale_factor: list[float] | None) -> None:
    """There is one of them, with a number for each spatial dimension."""
    spatial = input.dim() - 2
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None and len(size) != spatial:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input.size()[2:])} and output size of {size}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "output size in (o1, o2, ...,oK) format."
        )
    if scale_factor is not None and len(scale_factor) != spatial:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(input.size()[2:])} and scale_factor of shape "
            f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )


def _is_aligned(mode: str, align_corners: bool | None) -> bool:
    """Whether corners fall on corners, which only modes that interpolate can be told."""
    if align_corners is None:
        return False
    if mode == "nearest" or mode == "area" or mode == "nearest-exact":
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | "
            "bilinear | bicubic | trilinear"
        )
    return align_corners


def _smoothed(
    input: Tensor,
    size: list[int] | None,
    scale_factor: list[float] | None,
    mode: str,
    aligned: bool,
) -> Tensor:
    """With windows that grow as the image shrinks (`antialias`)."""
    spatial = input.dim() - 2
    if spatial == 2 and mode == "bilinear":
        return ts._upsample_bilinear2d_aa(input, size, aligned, scale_factor)
    if spatial == 2 and mode == "bicubic":
        return ts._upsample_bicubic2d_aa(input, size, aligned, scale_factor)
    if spatial == 2 and mode == "lanczos":
        if aligned:
            raise ValueError("Lanczos mode does not support align_corners=True")
        return ts._upsample_lanczos2d_aa(input, size, aligned, scale_factor)
    raise ValueError(
        "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
        "a 4-D tensor as input"
    )


def _averaged(input: Tensor, size: list[int]) -> Tensor:
    """The means of equal areas."""
    spatial = input.dim() - 2
    if spatial == 1:
        return ts.adaptive_avg_pool1d(input, size)
    if spatial == 2:
        return ts.adaptive_avg_pool2d(input, size)
    return ts.adaptive_avg_pool3d(input, size)


def _sampled(
    input: Tensor,
    size: list[int] | None,
    scale_factor: list[float] | None,
    mode: str,
    aligned: bool,
) -> Tensor:
    """The nearest element of each place, or a polynomial through those around it."""
    spatial = input.dim() - 2
    if spatial == 1 and mode == "nearest":
        return ts.upsample_nearest1d(input, size, scale_factor)
    if spatial == 2 and mode == "nearest":
        return ts.upsample_nearest2d(input, size, scale_factor)
    if spatial == 3 and mode == "nearest":
        return ts.upsample_nearest3d(input, size, scale_factor)
    if spatial == 1 and mode == "nearest-exact":
        return ts._upsample_nearest_exact1d(input, size, scale_factor)
    if spatial == 2 and mode == "nearest-exact":
        return ts._upsample_nearest_exact2d(input, size, scale_factor)
    if spatial == 3 and mode == "nearest-exact":
        return ts._upsample_nearest_exact3d(input, size, scale_factor)
    if spatial == 1 and mode == "linear":
        return ts.upsample_linear1d(input, size, aligned, scale_factor)
    if spatial == 2 and mode == "bilinear":
        return ts.upsample_bilinear2d(input, size, aligned, scale_factor)
    if spatial == 3 and mode == "trilinear":
        return ts.upsample_trilinear3d(input, size, aligned, scale_factor)
    if spatial == 2 and mode == "bicubic":
        return ts.upsample_bicubic2d(input, size, aligned, scale_factor)
    if spatial == 2 and mode == "lanczos":
        raise ValueError("Lanczos mode requires antialias=True")
    asked = _dimensions(mode)
    if asked > 0 and spatial >= 1 and spatial <= 3:
        raise NotImplementedError(f"Got {spatial + 2}D input, but {mode} mode needs {asked}D input")
    raise NotImplementedError(
        "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
        f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
        f"lanczos | area | nearest-exact (got {mode})"
    )


def _resample(
    input: Tensor,
    size: list[int] | None,
    scale_factor: list[float] | None,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
    antialias: bool,
) -> Tensor:
    _check_sizes(input, size, scale_factor)
    aligned = _is_aligned(mode, align_corners)
    recompute = recompute_scale_factor is not None and recompute_scale_factor
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scale_factor is not None and (recompute or mode == "area"):
        size = _scaled(input, scale_factor)
        scale_factor = None
    if antialias:
        return _smoothed(input, size, scale_factor, mode, aligned)
    if mode == "area":
        assert size is not None
        return _averaged(input, size)
    return _sampled(input, size, scale_factor, mode, aligned)


@overload
def interpolate(
    input: Tensor,
    size: int | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor: ...
@overload
def interpolate(
    input: Tensor,
    size: list[int] | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor: ...
@overload
def interpolate(
    input: Tensor,
    size: int | None = None,
    scale_factor: float | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor: ...
@overload
def interpolate(
    input: Tensor,
    size: list[int] | None = None,
    scale_factor: float | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor: ...
def interpolate(  # type: ignore[no-untyped-def]  # typed by its overloads
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resample the dimensions behind (N, C) to `size` or by `scale_factor`.

    Raises:
        ValueError: both or neither of `size` and `scale_factor`, or options that do not fit.
        NotImplementedError: no such mode for that number of dimensions.
    """
    spatial = input.dim() - 2
    return _resample(
        input,
        _sizes(spatial, size),
        _factors(spatial, scale_factor),
        mode,
        align_corners,
        recompute_scale_factor,
        antialias,
    )


@overload
def upsample(
    input: Tensor,
    size: int | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor: ...
@overload
def upsample(
    input: Tensor,
    size: list[int] | None = None,
    scale_factor: list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor: ...
@overload
def upsample(
    input: Tensor,
    size: int | None = None,
    scale_factor: float | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor: ...
@overload
def upsample(
    input: Tensor,
    size: list[int] | None = None,
    scale_factor: float | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor: ...
def upsample(  # type: ignore[no-untyped-def]  # typed by its overloads
    input, size=None, scale_factor=None, mode="nearest", align_corners=None
):
    """`interpolate` by its former name."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


@overload
def upsample_nearest(
    input: Tensor, size: int | None = None, scale_factor: float | None = None
) -> Tensor: ...
@overload
def upsample_nearest(
    input: Tensor, size: list[int] | None = None, scale_factor: float | None = None
) -> Tensor: ...
def upsample_nearest(  # type: ignore[no-untyped-def]  # typed by its overloads
    input, size=None, scale_factor=None
):
    """`interpolate` of the nearest elements by its former name."""
    return interpolate(input, size, scale_factor, "nearest")


@overload
def upsample_bilinear(
    input: Tensor, size: int | None = None, scale_factor: float | None = None
) -> Tensor: ...
@overload
def upsample_bilinear(
    input: Tensor, size: list[int] | None = None, scale_factor: float | None = None
) -> Tensor: ...
@overload
def upsample_bilinear(
    input: Tensor, size: int | None = None, scale_factor: list[float] | None = None
) -> Tensor: ...
@overload
def upsample_bilinear(
    input: Tensor, size: list[int] | None = None, scale_factor: list[float] | None = None
) -> Tensor: ...
def upsample_bilinear(  # type: ignore[no-untyped-def]  # typed by its overloads
    input, size=None, scale_factor=None
):
    """`interpolate` in two dimensions, corner to corner, by its former name."""
    return interpolate(input, size, scale_factor, "bilinear", True)
