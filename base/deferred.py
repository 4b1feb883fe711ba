"""Names that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .importing import imported


def deferred(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are those of other modules.

    Args:
        module: its name.
        homes: each name to the module that defines it.
    """

    def find(name: str) -> Any:
        if (home := homes.get(name)) is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(imported(home), name)

    return find
