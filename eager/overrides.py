"""`torch.overrides`: classes of users that answer functions by `__torch_function__`.

Functions written in Python ask `has_torch_function` of their arguments and leave the call to
`handle_torch_function`. Operators do not ask: they take tensors only. A subclass of Tensor counts
where it defines `__torch_function__` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .tensor import Tensor

__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like",
]  # fmt: skip
_NAME = "__torch_function__"


def _overrides(value: object) -> bool:
    """Whether the class of `value` has a `__torch_function__` that is not our tensors' own."""
    found = _answering(type(value))
    return found is not None and found is not _answering(Tensor)


def _answering(kind: type) -> Any:
    """The function behind the `__torch_function__` of a class; None if it has none."""
    found = getattr(kind, _NAME, None)
    return getattr(found, "__func__", found)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of them is of a class with a `__torch_function__` of its own."""
    return any(map(_overrides, relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """`has_torch_function((obj,))`."""
    return _overrides(obj)


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function(args)`."""
    return has_torch_function(args)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, _NAME)


def _overloaded(relevant_args: Iterable[Any]) -> list[Any]:
    """One argument of each class with a `__torch_function__`, tensors among them, subclasses before
    what they derive from."""
    found: list[Any] = []
    for arg in relevant_args:
        if type(arg) not in map(type, found) and (_overrides(arg) or type(arg) is Tensor):
            later = (i for i, other in enumerate(found) if isinstance(arg, type(other)))
            found.insert(next(later, len(found)), arg)
    return found


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any
) -> Any:
    """What the first of the classes that answers the call `public_api(*args, **kwargs)` says.

    Raises:
        TypeError: none does.
    """
    overloaded = _overloaded(relevant_args)
    types = tuple(map(type, overloaded))
    for arg in filter(_overrides, overloaded):
        result = arg.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types "
        f"that implement __torch_function__: {list(types)}"
    )
