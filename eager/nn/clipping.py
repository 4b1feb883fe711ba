"""Cutting gradients that the caller has put into `grad`; none are recorded here (`nn.utils`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from tensorscript.base.errors import OperatorError

from .. import namespace as ts
from ..data import tensor
from ..tensor import Tensor


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Any]:
    found = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in found if p.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors; 0 of none.

    Raises:
        OperatorError: `error_if_nonfinite`, and the norm is infinite or NaN.
    """
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not found:
        none: Tensor = tensor(0.0)
        return none
    parts = [ts.linalg_vector_norm(t, float(norm_type)) for t in found]
    total: Tensor = ts.linalg_vector_norm(ts.stack(parts), float(norm_type))
    if error_if_nonfinite and not bool(ts.isfinite(total)):
        raise OperatorError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is "
            "non-finite, so it cannot be clipped. To disable this error and scale the gradients by "
            "the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Any,
    foreach: bool | None = None,
) -> None:
    """Scale gradients of the norm `total_norm` down to at most `max_norm`."""
    scale = ts.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for gradient in _gradients(parameters):
        gradient.mul_(scale)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients down to a common norm of at most `max_norm`; gives the norm before.

    Raises:
        OperatorError: `error_if_nonfinite`, and the norm is infinite or NaN.
    """
    held = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(held), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(held, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` under its older name."""
    warnings.warn(
        "torch.nn.utils.clip_grad_norm is now deprecated in favor of "
        "torch.nn.utils.clip_grad_norm_.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Cut the elements of all gradients to the range from -clip_value to clip_value."""
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-float(clip_value), max=float(clip_value))
