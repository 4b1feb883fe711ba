"""`torch.overrides`: classes of users that answer functions by `__torch_function__`.

Functions of users ask `has_torch_function` of their arguments and leave the call to
`handle_torch_function`; ours do the same (`answering`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .answering import answers, in_order
from .tensor import Tensor

__all__ = [
    "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic", "is_tensor_like",
]  # fmt: skip
_NAME = "__torch_function__"


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of them is of a class with a `__torch_function__` of its own."""
    return any(map(answers, relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """`has_torch_function((obj,))`."""
    return answers(obj)


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function(args)`."""
    return has_torch_function(args)


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has a `__torch_function__`."""
    return isinstance(inp, Tensor) or hasattr(inp, _NAME)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any
) -> Any:
    """What the first of the classes that answers the call `public_api(*args, **kwargs)` says.

    Raises:
        TypeError: none does.
    """
    overloaded = in_order(relevant_args, lambda arg: answers(arg) or type(arg) is Tensor)
    types = tuple(map(type, overloaded))
    for arg in filter(answers, overloaded):
        result = arg.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types "
        f"that implement __torch_function__: {list(types)}"
    )
