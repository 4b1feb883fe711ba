"""What an operator says whose `out=` is to get another shape: names are whose affair it is."""

from __future__ import annotations

from tensorscript.base.errors import NotCompilable
from tensorscript.base.source import Span

from .complex_tensors import AnyTensor


class OutResized(NotCompilable):
    """An operator's `out=` is to get another shape; `made` is what it is to hold."""

    def __init__(
        self, message: str, span: Span | None, target: AnyTensor, made: AnyTensor
    ) -> None:  # fmt: skip
        super().__init__(message, span)
        self.target, self.made = target, made
