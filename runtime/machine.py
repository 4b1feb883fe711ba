"""What the rules of the interpreter may ask of it, and how a value primitive fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.base.errors import UserError
from tensorscript.dialects.ts.autocast import Autocast
from tensorscript.dialects.ts.ops import FuncOp

from .values import Future, ScriptObject

Environment = dict[SSAValue, Any]
PythonCall = Callable[..., Any]


class PrimitiveError(UserError, RuntimeError):
    """A failure of a value primitive (`list index out of range`, `KeyError: b`)."""


class Machine(Protocol):
    """The interpreter, as its rules see it; `Interpreter` says what each method does."""

    @property
    def python_calls(self) -> Mapping[str, PythonCall]: ...
    @property
    def autocast(self) -> Autocast: ...
    @property
    def autocasts(self) -> list[Autocast]: ...
    def function(self, name: str) -> FuncOp | None: ...
    def call(self, name: str, arguments: Sequence[Any]) -> Any: ...
    def fulfils(self, class_name: str, interface: str) -> bool: ...
    def block(self, block: Block, env: Environment) -> None: ...
    def warns_first(self, op: Operation) -> bool: ...
    def attribute(self, target: ScriptObject, name: str) -> Any: ...
    def constant(self, value: object, type_: Attribute | None = None) -> Any: ...
    def fork(self, name: str, arguments: Sequence[Any]) -> Future: ...
