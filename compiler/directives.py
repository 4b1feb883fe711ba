"""What programs tell and ask `torch.compiler`: nothing here looks at Python while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def is_compiling() -> bool:
    """False: programs are compiled from their text or from a trace, never as they run."""
    return False


def is_dynamo_compiling() -> bool:
    """False, as `is_compiling`."""
    return False


def is_exporting() -> bool:
    """False, as `is_compiling`."""
    return False


def disable(fn: F | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """`fn` as it is, or a decorator that gives it so: calls of it are never captured unasked."""
    return _kept if fn is None else fn


def allow_in_graph(fn: F) -> F:
    """`fn` as it is, as `disable`."""
    return fn


def _kept(fn: F) -> F:
    return fn
