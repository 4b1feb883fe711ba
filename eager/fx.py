"""The decorator by which modules tell `torch.fx` what not to look into."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", str, Callable[..., object])


def wrap(function: F) -> F:
    """`function` or its name, as it is: there is no symbolic tracer to tell."""
    return function
