"""What a script reports of an error in a Python function that it calls."""

from __future__ import annotations

import traceback
from types import TracebackType

from tensorscript.base.errors import TensorScriptError
from tensorscript.runtime.machine import PrimitiveError


class PythonErrors:
    """Inside, an error becomes a failure of the script: `with PythonErrors(): fn()`.

    The script then says where it called the function, and leaves the contexts that it entered.
    What ends a process (`KeyboardInterrupt`, `SystemExit`) passes.

    Raises:
        PrimitiveError: with the kind of the error, its text and the places in Python, innermost
            first, as TorchScript words it.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            called = traceback.extract_tb(frames)[1:]  # the first is where the script calls
            at = "".join(f"\n  {f.filename}({f.lineno}): {f.name}" for f in reversed(called))
            text = f"{_kind(type(error))}: {error}"
            raise PrimitiveError(f"{text}\n\nAt:{at}\n" if at else text) from error


def _kind(error: type[Exception]) -> str:
    """The name of a kind of error; ours go by the kind of Python's that they stand for."""
    if issubclass(error, TensorScriptError):
        return next(c.__name__ for c in error.__mro__ if c.__module__ == "builtins")
    return error.__name__
