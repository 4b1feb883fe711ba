"""Operators as objects: `ops.aten.add(x, y)` resolves the overload, `.Tensor` names it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tensorscript.base.errors import ArgumentError
from tensorscript.base.records import dataclass
from tensorscript.base.schema import Schema, has_operator, overloads

from .binding import match
from .dispatch import call, call_overload


@dataclass(frozen=True)
class Overload:
    """One overload; `default` is the one without a name."""

    schema: Schema

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises ArgumentError where the overload does not take the values."""
        bound = match(self.schema, args, kwargs, convert=True)
        if isinstance(bound, str):
            raise ArgumentError(f"{self.schema}:\n{bound}")
        return call_overload(self.schema.full_name, bound)


@dataclass(frozen=True)
class Packet:
    """All overloads of one name."""

    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call(self.name, args, kwargs)

    def __getattr__(self, overload: str) -> Overload:
        wanted = "" if overload == "default" else overload
        for schema in overloads(self.name):
            if schema.full_name == (f"{self.name}.{wanted}" if wanted else self.name):
                return Overload(schema)
        raise AttributeError(f"The underlying op of '{self.name}' has no overload '{overload}'")


class Namespace(ModuleType):
    """`ops.aten`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name

    def __getattr__(self, operator: str) -> Packet:
        full = f"{self.name}::{operator}"
        if not has_operator(full):
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute "
                                 f"'{operator}'")  # fmt: skip
        return Packet(full)
