"""Scopes of variables while a function is being compiled.

A frame belongs to one block. Variables that are SSA values are stored and loaded by name (see
`draft`), so a frame knows only their types; everything else (a function, a module, a range) is held
as the compile-time value that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span

from .draft import Block


@dataclass
class Frame:
    """Names bound in one block; `errors` explains names that a branch left unusable;
    `stored` has every name that a node of this block assigns, refinements inside it too; a frame
    that `holds` keeps variables as the values they are (an unrolled comprehension's)."""

    block: Block
    parent: Frame | None = None
    types: dict[str, Attribute] = field(default_factory=dict)
    sugared: dict[str, object] = field(default_factory=dict)
    errors: dict[str, Callable[[Span | None], CompileError]] = field(default_factory=dict)
    stored: dict[str, None] = field(default_factory=dict)
    holds: bool = False

    def lookup(self, name: str) -> object | None:
        """The type (an Attribute) or compile-time value of `name`, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            found = frame.here(name)
            if found is not None:
                return found
            frame = frame.parent
        return None

    def here(self, name: str) -> object | None:
        found = self.types.get(name)
        return found if found is not None else self.sugared.get(name)

    def outer(self, name: str) -> object | None:
        return self.parent.lookup(name) if self.parent is not None else None

    def error(self, name: str) -> Callable[[Span | None], CompileError] | None:
        frame: Frame | None = self
        while frame is not None:
            if name in frame.errors:
                return frame.errors[name]
            if name in frame.types or name in frame.sugared:
                return None
            frame = frame.parent
        return None

    def define(self, name: str, type: Attribute) -> None:
        self.types[name] = type
        self.stored[name] = None
        self.sugared.pop(name, None)
        self.errors.pop(name, None)

    def forget(self, name: str) -> bool:
        """Delete a variable; whether the function's own block had it, for TorchScript knows no
        other deletion."""
        frame: Frame | None = self
        found = False
        while frame is not None:
            found = frame.here(name) is not None
            frame.types.pop(name, None)
            frame.sugared.pop(name, None)
            frame = frame.parent
        return found

    def define_sugared(self, name: str, value: object) -> None:
        self.sugared[name] = value
        self.types.pop(name, None)
