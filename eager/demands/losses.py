"""What losses of single scores and activations ask of their arguments."""

from __future__ import annotations

from typing import Any

from ..kernels.shapes import broadcast
from ..storage import array, value
from .words import Demand, each, require, sizes_of


def _multi_margin(
    self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1
) -> None:
    shape = sizes_of(self)
    require(
        len(shape) < 3 and all(shape[-1:]),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}",
    )
    rows = shape[0] if len(shape) == 2 else 1
    given = sizes_of(target)
    require(
        len(given) < 2 and array(target).size == rows,
        "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
        f"samples (batch size). Expected target size [{rows}], but got {given}. Input has shape "
        f"{shape}.",
    )
    classes = shape[-1] if shape else 1
    if weight is not None:
        require(
            sizes_of(weight) == [classes],
            f"inconsistent weight size, expected {classes} but got {sizes_of(weight)}",
        )
    require(
        target.dtype.name == "int64", f"expected scalar type Long but found {target.dtype.word}"
    )
    aims = array(target)
    require(not aims.size or 0 <= aims.min() <= aims.max() < classes, "target out of range")


def _multilabel_margin(self: Any, target: Any, reduction: int = 1) -> None:
    shape, given = sizes_of(self), sizes_of(target)
    require(
        len(shape) < 3 and all(shape[-1:]),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}",
    )
    require(
        given == shape or (len(shape) < 2 and array(target).size == array(self).size),
        f"inconsistent target size: {given} for input of size: {shape}",
    )
    require(
        target.dtype.name == "int64", f"expected scalar type Long but found {target.dtype.word}"
    )
    labels, classes = array(target), shape[-1] if shape else 1
    fits = not labels.size or (labels.min() >= -1 and labels.max() < classes)
    require(bool(fits), "argument #2 'target' is out of range")


def _binary_cross_entropy(self: Any, target: Any, *_: Any) -> None:
    require(
        target.dtype is self.dtype,
        f"Found dtype {target.dtype.word} but expected {self.dtype.word}",
    )
    aims = value(target)
    require(
        bool(((aims >= 0) & (aims <= 1)).all()),
        "all elements of target should be between 0 and 1",
    )


def _kl_div(self: Any, target: Any, *_: Any) -> None:
    floats = all(x.dtype.is_floating_point for x in (self, target))
    require(floats, "kl_div: Integral inputs not supported.")


def _soft_margin(self: Any, target: Any, *_: Any) -> None:
    """It is computed in place of a copy of the scores."""
    sizes, shape = sizes_of(self), list(broadcast(sizes_of(self), sizes_of(target)))
    require(sizes == shape, f"output with shape {sizes} doesn't match the broadcast shape {shape}")


def _smooth_l1(self: Any, target: Any, reduction: int = 1, beta: float = 1.0) -> None:
    require(beta >= 0, "smooth_l1_loss does not support negative values for beta.")


def _huber(self: Any, target: Any, reduction: int = 1, delta: float = 1.0) -> None:
    require(delta > 0, "huber_loss does not support non-positive values for delta.")


def _poisson(self: Any, target: Any, *_: Any) -> None:
    broadcast(array(target).shape, array(self).shape)


def _softshrink(self: Any, lambd: float = 0.5) -> None:
    top = {"Float": 3.40282e38, "Double": 1.79769e308, "Half": 65504, "BFloat16": 3.38953e38}
    most = top.get(self.dtype.word, 0)
    require(
        not isinstance(lambd, (int, float)) or lambd >= 0,
        f"lambda must be in range [0, {most:g}] for input dtype {self.dtype.word}, but found "
        f"{lambd:g}",
    )


def _celu(self: Any, alpha: float = 1.0) -> None:
    require(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")


def _gelu(self: Any, approximate: str = "none") -> None:
    require(approximate in ("none", "tanh"), "approximate argument must be either none or tanh.")


def _cosine_embedding(first: Any, second: Any, target: Any, *_: Any) -> None:
    n = array(target).ndim
    require(n in (0, 1), "0D or 1D target tensor expected, multi-target not supported")
    require(
        array(first).ndim == array(second).ndim == n + 1,
        f"{n}D target tensor expects {n + 1}D input tensors, but found inputs with sizes "
        f"{sizes_of(first)} and {sizes_of(second)}.",
    )


def _triplet(anchor: Any, positive: Any, negative: Any, *_: Any) -> None:
    a, b, c = (array(x).ndim for x in (anchor, positive, negative))
    require(
        a == b == c,
        "The anchor, positive, and negative tensors are expected to have the same number of "
        f"dimensions, but got: anchor {a}D, positive {b}D, and negative {c}D inputs",
    )


LOSSES: dict[str, Demand] = {
    **each(_gelu, "gelu"),
    **each(_cosine_embedding, "cosine_embedding_loss"),
    **each(_triplet, "triplet_margin_loss"),
    **each(_binary_cross_entropy, "binary_cross_entropy"),
    **each(_kl_div, "kl_div"),
    **each(_celu, "celu"),
    **each(_soft_margin, "soft_margin_loss"),
    **each(_smooth_l1, "smooth_l1_loss"),
    **each(_multi_margin, "multi_margin_loss"),
    **each(_multilabel_margin, "multilabel_margin_loss", "multilabel_margin_loss_forward"),
    **each(_huber, "huber_loss"),
    **each(_softshrink, "softshrink"),
    **each(_poisson, "poisson_nll_loss"),
}
"""Overloads to what they ask, in the words of PyTorch."""
