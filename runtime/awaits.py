"""Lazy values: calls that are made when somebody waits for them first.

`torch.csrc.jit`'s `Await` and `PythonAwaitWrapper`: the result is made once and kept; a call that
raises is made again by the next who waits.
"""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Any

from tensorscript.base.errors import GuardError


class Await:
    """The result of a call that waits to be made.

    Its attributes are those of the result, so asking for one makes the call; one that the result
    lacks is None, as in PyTorch. Names with two underscores around them are Python's questions
    about the object itself, which wait for nothing.

    Args:
        make: makes the result.
        function: what Python gave to be called; None if a script, or nothing, is called.
        arguments: what Python gave with it, positions only.
    """

    __slots__ = ("_arguments", "_function", "_is_done", "_make", "_result")

    def __init__(
        self,
        make: Callable[[], Any],
        function: Callable[..., Any] | None = None,
        arguments: tuple[Any, ...] = (),
    ) -> None:
        self._make: Callable[[], Any] | None = make
        self._function = function
        self._arguments = arguments
        self._is_done = False
        self._result: Any = None

    def __class_getitem__(cls, item: object) -> GenericAlias:
        return GenericAlias(cls, item)

    @classmethod
    def done(cls, result: Any, arguments: tuple[Any, ...] = ()) -> Await:
        """One whose result is there."""
        return cls(lambda: result, None, arguments)

    def wait(self) -> Any:
        """The result; the first call makes it."""
        if not self._is_done:
            assert self._make is not None
            self._result = self._make()
            self._is_done, self._make = True, None
        return self._result

    def through(self, convert: Callable[[Any], Any]) -> Await:
        """What the other side of a call sees: the same result, converted when it is made."""
        return Await(lambda: convert(self.wait()))

    def fn(self) -> Callable[..., Any]:
        """The function of Python that is called.

        Raises:
            GuardError: there is none.
        """
        if self._function is None:
            raise GuardError("Await constructed as awaitable_nowait does not have fn")
        return self._function

    def args(self) -> tuple[Any, ...]:
        """What the function of Python is called with, by position."""
        return self._arguments

    def is_nowait(self) -> bool:
        """Whether no function of Python is called."""
        return self._function is None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.wait(), name, None)
