"""A function that is one of two by the value of a flag, which decides the type of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
) -> Callable[..., Any]:
    """`if_true` or `if_false` by the argument `arg_name` (the one at `arg_index`).

    The script frontend knows the function by its qualified name and reads these five values from
    its closure: there the flag must be a constant.
    """

    def fn(*args: Any, **kwargs: Any) -> Any:
        flag = default
        if arg_name in kwargs:
            flag = kwargs[arg_name]
        elif arg_index < len(args):
            flag = args[arg_index]
        return (if_true if flag else if_false)(*args, **kwargs)

    fn.__name__ = if_false.__name__.lstrip("_")
    return fn
