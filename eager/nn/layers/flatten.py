"""Dimensions joined and split."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .layer import Layer


class Flatten(Layer):
    """Dimensions `start_dim` to `end_dim` as one."""

    __constants__ = ["start_dim", "end_dim"]
    _text = "start_dim={start_dim}, end_dim={end_dim}"
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Layer):
    """Dimension `dim` as several of `unflattened_size`."""

    __constants__ = ["dim", "unflattened_size"]
    _text = "dim={dim}, unflattened_size={unflattened_size}"
    dim: int
    unflattened_size: tuple[int, ...]

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        _require_integers(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


def _require_integers(sizes: object) -> None:
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(
            f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}"
        )
    for at, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                "unflattened_size must be tuple of ints, but found element of type "
                f"{type(size).__name__} at pos {at}"
            )
