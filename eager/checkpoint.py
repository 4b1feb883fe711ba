"""Activation checkpointing, which without gradients is the call itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`: nothing is kept for a backward pass that never runs."""
    return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Iterable[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """The functions one after another."""
    for function in functions:
        input = function(input)
    return input


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The states of other devices' generators: there are no other devices."""
    return [], []


def set_device_states(devices: Iterable[int], states: Iterable[Any]) -> None:
    """What `get_device_states` gave, put back."""
