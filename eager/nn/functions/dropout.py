"""Dropout: of elements, of whole channels, and of self-normalising networks."""

from __future__ import annotations

from ... import namespace as ts
from ...tensor import Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements become 0 with probability `p`, the others are scaled by 1 / (1 - p)."""
    _check_probability(p)
    if inplace:
        return ts.dropout_(input, p, training)
    return ts.dropout(input, p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean 0 and variance 1 behind `selu`."""
    _check_probability(p)
    if inplace:
        return ts.alpha_dropout_(input, p, training)
    return ts.alpha_dropout(input, p, training)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels are dropped."""
    _check_probability(p)
    if input.dim() != 2 and input.dim() != 3:
        raise RuntimeError(
            "dropout1d: Expected 2D or 3D input, but received a "
            f"{input.dim()}D input. Note that dropout1d exists to provide channel-wise dropout on "
            "inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    alone = input.dim() == 2
    if alone:
        input = ts.unsqueeze_(input, 0) if inplace else ts.unsqueeze(input, 0)
    if inplace:
        result = ts.feature_dropout_(input, p, training)
    else:
        result = ts.feature_dropout(input, p, training)
    if alone:
        result = ts.squeeze_(result, 0) if inplace else ts.squeeze(result, 0)
    return result


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels are dropped."""
    _check_probability(p)
    if inplace:
        return ts.feature_dropout_(input, p, training)
    return ts.feature_dropout(input, p, training)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Whole channels are dropped."""
    _check_probability(p)
    alone = input.dim() == 4
    if alone:
        input = ts.unsqueeze_(input, 0) if inplace else ts.unsqueeze(input, 0)
    if inplace:
        result = ts.feature_dropout_(input, p, training)
    else:
        result = ts.feature_dropout(input, p, training)
    if alone:
        result = ts.squeeze_(result, 0) if inplace else ts.squeeze(result, 0)
    return result


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Whole channels are dropped."""
    _check_probability(p)
    if inplace:
        return ts.feature_alpha_dropout_(input, p, training)
    return ts.feature_alpha_dropout(input, p, training)
