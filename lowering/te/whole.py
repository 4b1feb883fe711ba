"""simplify, eliminate_dead_stores: steps on a whole function; their passes say what they do.

Both are legal always. The target is the function's name.
"""

from __future__ import annotations

from .dead_stores import remove_dead_stores
from .nest import Nest
from .simplify import simplify_function


def check(nest: Nest, target: str) -> str | None:
    return None


def apply_simplify(nest: Nest, target: str) -> None:
    simplify_function(nest.func)


def apply_dead_stores(nest: Nest, target: str) -> None:
    remove_dead_stores(nest.func)
