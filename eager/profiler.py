"""`torch.profiler`'s labels: programs may set them; no profiler is there to read them."""

from __future__ import annotations

from contextlib import ContextDecorator


class record_function(ContextDecorator):
    """A named part of a program, as the object of a `with` or as a decorator; nothing is measured.

    Args:
        name: what the part is called.
        args: text that belongs to it.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing: there is no record to close."""
