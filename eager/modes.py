"""What eager operators read besides their arguments: default dtype, gradient and autocast modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tensorscript.base.dtypes import DType, float32
from tensorscript.base.errors import ArgumentError


@dataclass
class Modes:
    """The process's eager settings. Nothing below the eager folder reads them."""

    default_dtype: DType = float32
    grad_enabled: bool = True
    autocast_enabled: bool = False


MODES = Modes()


def get_default_dtype() -> DType:
    return MODES.default_dtype


def set_default_dtype(dtype: DType) -> None:
    """Set the dtype of new floating-point tensors.

    Raises:
        ArgumentError: `dtype` is not a floating-point dtype.
    """
    if not dtype.is_floating_point:
        raise ArgumentError(
            f"only floating-point types are supported as the default type, got {dtype}"
        )
    MODES.default_dtype = dtype


def is_grad_enabled() -> bool:
    return MODES.grad_enabled


def set_grad_enabled(enabled: bool) -> None:
    MODES.grad_enabled = enabled


@contextmanager
def no_grad() -> Iterator[None]:
    """Inside, `is_grad_enabled()` is False."""
    before, MODES.grad_enabled = MODES.grad_enabled, False
    try:
        yield
    finally:
        MODES.grad_enabled = before


@contextmanager
def enable_grad() -> Iterator[None]:
    """Inside, `is_grad_enabled()` is True."""
    before, MODES.grad_enabled = MODES.grad_enabled, True
    try:
        yield
    finally:
        MODES.grad_enabled = before
