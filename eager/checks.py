"""`torch._check` and its kin: conditions that a program asserts, with errors of a chosen kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .storage import TensorBase

Message = Callable[[], object] | None


def _check_with(error: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise `error` unless `cond`.

    Raises:
        TypeError: `cond` is no bool, or `message` no function.
    """
    if isinstance(cond, TensorBase):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use "
            "torch._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error(
            "Expected cond to be True, but got False. (Could this error message be improved? If so,"
            " please report an enhancement request to PyTorch.)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError with what `message()` says unless `cond`."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """As `_check`, with IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """As `_check`, with ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """As `_check`, with TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """As `_check`, with NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Message = None, *, max: int | None = None) -> None:
    """Raise unless `i` is a size: at least 0, and at most `max` where that is given."""
    _check(bool(i >= 0), message)
    if max is not None:
        _check(bool(i <= max), message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless every element of `cond` is true.

    Raises:
        TypeError: `cond` is no tensor of booleans.
    """
    if not isinstance(cond, TensorBase):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check(bool(cond._array.all()), message)
