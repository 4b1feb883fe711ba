"""What names in TorchScript text stand for besides definitions: operators, constants, packages."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from tensorscript.base.dtypes import BY_NAME
from tensorscript.base.records import dataclass
from tensorscript.base.schema import has_operator
from tensorscript.base.source import Span
from tensorscript.dialects.ts.operator_functions import OPERATOR_FUNCTIONS

from .callables import Builtin
from .function import FunctionEmitter
from .program import ClassInfo
from .values import Simple, Sugared

_TORCH_PREFIXES = ("linalg", "fft", "special")


class Outer(Protocol):
    """Where names are found that a text does not define: the Python around it."""

    def resolve(self, name: str, em: FunctionEmitter, span: Span) -> Sugared | None: ...

    def annotation_object(self, node: ast.expr) -> object: ...

    def qualified(self, path: str, em: FunctionEmitter, span: Span | None) -> Sugared | None: ...

    def qualified_object(self, path: str) -> object: ...

    def static_attr(self, info: ClassInfo, name: str, em: FunctionEmitter) -> Sugared | None: ...


class Names(Protocol):
    """The definitions of a text, and what is around it."""

    @property
    def outer(self) -> Outer | None: ...

    def value(self, name: str, em: FunctionEmitter, span: Span | None) -> Sugared | None: ...


@dataclass
class Package(Sugared):
    """`__torch__.a.b` that is not (yet) a definition."""

    kind = "module"
    path: str
    world: Names

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # text is only ever emitted by FunctionEmitter
        path = f"{self.path}.{name}"
        if (found := self.world.value(path, em, span)) is not None:
            return found
        outer = self.world.outer
        found = outer.qualified(path, em, span) if outer is not None else None
        return found or Package(path, self.world)


@dataclass
class Operators(Sugared):
    """`torch`, `ops.prim`, `torch.linalg`: attribute access names an operator."""

    kind = "module"
    namespace: str
    prefix: str = ""
    world: Names | None = None

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # as above
        if not self.namespace:
            return Operators(name, world=self.world)
        if self.world is not None and not self.prefix:
            text = self.world.value(f"{OPERATOR_FUNCTIONS}{self.namespace}.{name}", em, span)
            if text is not None:
                return text
        if self.namespace == "aten" and not self.prefix:
            if name in _TORCH_PREFIXES:
                return Operators("aten", f"{name}_")
            if name == "autograd":
                return Operators("aten")
            if name == "ops":
                return Operators("", world=self.world)
            if name in BY_NAME and not has_operator(f"aten::{name}"):
                return Simple(em.constant(BY_NAME[name].code, span))
        return Builtin(f"{self.namespace}::{self.prefix}{name}")


@runtime_checkable
class Emitted(Protocol):
    """A constant that no op holds: code makes it where it is named."""

    def emit(self, em: FunctionEmitter, span: Span | None) -> Sugared: ...


@dataclass
class ConstantTable(Sugared):
    """`CONSTANTS.c0`."""

    kind = "constant table"
    values: Sequence[object]

    def attr(self, em: FunctionEmitter, span: Span | None, name: str) -> Sugared:  # type: ignore[override]  # as above
        value = self.values[int(name[1:])]
        if isinstance(value, Emitted):
            return value.emit(em, span)
        return Simple(em.constant(value, span))
