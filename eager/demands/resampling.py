"""What resampling (`interpolate`) asks of images and of sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .words import Demand, Ints, require, sizes_of

_MODES = {
    "upsample_nearest1d": 1, "upsample_nearest2d": 2, "upsample_nearest3d": 3,
    "_upsample_nearest_exact1d": 1, "_upsample_nearest_exact2d": 2, "_upsample_nearest_exact3d": 3,
    "upsample_linear1d": 1, "upsample_bilinear2d": 2, "upsample_trilinear3d": 3,
    "upsample_bicubic2d": 2, "_upsample_bilinear2d_aa": 2, "_upsample_bicubic2d_aa": 2,
    "_upsample_lanczos2d_aa": 2,
}  # fmt: skip
"""Operators to the number of dimensions that they resample."""


def _resampled(n: int) -> Demand:
    def check(self: Any, output_size: Ints, *_: Any) -> None:
        sizes = sizes_of(self)
        require(
            len(output_size) == n,
            f"It is expected output_size equals to {n}, but got size {len(output_size)}",
        )
        require(
            len(sizes) == n + 2,
            f"It is expected input_size equals to {n + 2}, but got size {len(sizes)}",
        )
        given = sizes[2:]
        join = " and " if n == 1 else " "
        require(
            min([*given, *output_size]) > 0,
            f"Input and output sizes should be greater than 0, but got input {_named(given)}{join}"
            f"output {_named(output_size)}",
        )
        require(
            sizes[1] > 0,
            f"Non-empty {n + 2}D data tensor expected but got a tensor with sizes {sizes}",
        )

    return check


def _named(sizes: Sequence[int]) -> str:
    names = "DHW"[-len(sizes) :]
    return f"({', '.join(f'{name}: {n}' for name, n in zip(names, sizes, strict=True))})"


def _by_factors(n: int, factors_at: int) -> Demand:
    """The overloads that are given the sizes or the factors to them."""
    check_sizes = _resampled(n)

    def check(self: Any, output_size: Ints | None, *rest: Any) -> None:
        factors = rest[factors_at]
        if output_size is None and factors is not None:
            given = sizes_of(self)[2:]
            require(
                len(given) == n and len(factors) == n,
                f"It is expected input_size equals to {n + 2}, but got size {len(given) + 2}",
            )
            require(
                all(map(math.isfinite, factors)),
                "value cannot be converted to type int64_t without overflow",
            )
            output_size = [math.floor(m * f) for m, f in zip(given, factors, strict=True)]
        if output_size is not None:
            check_sizes(self, output_size)

    return check


RESAMPLED: dict[str, Demand] = {
    **{f"aten::{name}": _resampled(n) for name, n in _MODES.items()},
    **{f"aten::{name}.vec": _by_factors(n, 0 if "nearest" in name else 1)
       for name, n in _MODES.items()},
}  # fmt: skip
"""Overloads to what they ask, in the words of PyTorch."""
