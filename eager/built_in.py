"""Functions that stand as class attributes without becoming methods, as built-in functions do.

PyTorch's operators are built-in functions: `class Layer: act = torch.relu` gives `self.act(x)` the
tensor alone, where a Python function would get `self` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class BuiltInFunction(staticmethod):  # type: ignore[type-arg]  # any function
    """A function of `lookup(name)`; calling it costs what calling a static method does.

    Attributes:
        lookup: finds it again by its name, for pickles and copies.
    """

    __slots__ = ("lookup",)

    def __init__(self, fn: Callable[..., Any], lookup: Callable[[str], Any]) -> None:
        super().__init__(fn)
        self.lookup = lookup

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return self.lookup, (self.__name__,)

    def __repr__(self) -> str:
        return f"<built-in method {self.__name__}>"
