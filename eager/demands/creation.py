"""What operators that make tensors ask of numbers, sizes and distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType

from ..kernels.shapes import broadcast
from ..storage import TensorBase, array
from .words import Demand, Ints, each, require


def _steps(start: Any, end: Any, steps: int, *_: Any) -> None:
    require(steps >= 0, "number of steps must be non-negative")


def _eye(n: int, m: Any = None, *_: Any) -> None:
    require(n >= 0, f"n must be greater or equal to 0, got {n}")
    if isinstance(m, int):
        require(m >= 0, f"m must be greater or equal to 0, got {m}")


def _empty_permuted(size: Ints, physical_layout: Ints, *_: Any) -> None:
    n = len(size)
    require(
        n == len(physical_layout),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        f"len(size) = {n} is not equal to len(physical_layout) = {len(physical_layout)}",
    )
    for at, dim in enumerate(physical_layout):
        require(
            0 <= dim < n,
            f"Dimension out of range (expected to be between 0 and {n - 1}, but got {dim} at index "
            f"{at}).  NB: negative dims not currently supported; file an issue if you want it.",
        )
    require(len(set(physical_layout)) == n, "Duplicate dim not allowed")


def _multinomial(self: Any, num_samples: int, replacement: bool = False, *_: Any) -> None:
    weights = np.asarray(array(self))
    if weights.ndim in (1, 2):
        require(weights.shape[-1] <= 1 << 24, "number of categories cannot exceed 2^24")


def _triangle(row: int, col: int, *_: Any) -> None:
    for name, n in (("row", row), ("col", col)):
        require(n >= 0, f"{name} must be non-negative, got{n}")


def _floating_window(name: str) -> Demand:
    def check(length: int, *bound: Any) -> None:
        require(
            length >= 0,
            f"{name} requires non-negative window_length, got window_length={length}",
        )
        for v in bound:
            fits = not isinstance(v, DType) or v.is_floating_point or v.is_complex
            require(fits, f"{name} expects floating point dtypes, got: {v}")

    return check


def _normal(deviation: int) -> Demand:
    def check(*bound: Any) -> None:
        require(
            not bound[deviation].dtype.is_complex,
            "normal expects standard deviation to be non-complex",
        )
        require(
            bool((array(bound[deviation]) >= 0).all()),
            "normal expects all elements of std >= 0.0",
        )
        if deviation and isinstance(bound[0], TensorBase):
            broadcast(array(bound[0]).shape, array(bound[1]).shape)

    return check


def _normal_by_number(deviation: int) -> Demand:
    def check(*bound: Any) -> None:
        std = bound[deviation]
        require(std >= 0, f"normal expects std >= 0.0, but found std {std:g}")

    return check


def _permuted(size: Any, physical_layout: Any, *_: Any) -> None:
    m, n = len(size), len(physical_layout)
    require(
        m == n,
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        f"len(size) = {m} is not equal to len(physical_layout) = {n}",
    )


MADE: dict[str, Demand] = {
    **each(_permuted, "empty_permuted"),
    **each(_normal(1), "normal.Tensor_Tensor", "normal.float_Tensor"),
    **each(_normal_by_number(1), "normal.Tensor_float", "normal.float_float"),
    **each(_normal_by_number(2), "normal_"),
    **each(_triangle, "tril_indices", "triu_indices"),
    **{
        f"aten::{name}_window{overload}": _floating_window(f"{name}_window")
        for name, own in {
            "hann": [],
            "blackman": [],
            "bartlett": [],
            "kaiser": [".beta"],
            "hamming": [".periodic_alpha", ".periodic_alpha_beta"],
        }.items()
        for overload in ("", ".periodic", *own)
    },
    **each(_steps, "logspace"),
    **each(_eye, "eye", "eye.m"),
    **each(_empty_permuted, "empty_permuted"),
    **each(_multinomial, "multinomial"),
}
"""Overloads to what they ask, in the words of PyTorch."""
