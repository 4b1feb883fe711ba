"""The methods that `@dataclass` makes have no source text; here it is written again."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import typing
from collections.abc import Mapping, Sequence

from tensorscript.base.errors import CompileError
from tensorscript.base.source import Source

from .source import FunctionSource, Text

_ORDER = {"__lt__": ("<", "False"), "__le__": ("<", "True"), "__gt__": (">", "False"),
          "__ge__": (">", "True")}  # fmt: skip


class FactoryNotSupported(CompileError, NotImplementedError):
    """A field with a default factory (TorchScript raises NotImplementedError)."""


def is_dataclass(cls: type) -> bool:
    return "__dataclass_fields__" in vars(cls)


def _parameters(cls: type) -> list[inspect.Parameter]:
    """The parameters of the generated `__init__` behind `self`."""
    return list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]  # a class's own


def _init(cls: type) -> str:
    fields = [f for f in dataclasses.fields(cls) if f.init]
    for field in fields:
        if field.default_factory is not dataclasses.MISSING:
            raise FactoryNotSupported(
                "Default factory initializers are not supported in TorchScript dataclasses"
            )
    parameters = _parameters(cls)
    formals = ["self"]
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and "*" not in formals:
            formals.append("*")
        formals.append(p.name + ("" if p.default is p.empty else "=None"))
    lines = [f"self.{f.name} = {f.name}" for f in fields]
    if hasattr(cls, "__post_init__"):
        passed = [p.name for p in parameters if isinstance(p.annotation, dataclasses.InitVar)]
        lines.append(f"self.__post_init__({', '.join(passed)})")
    return _function("__init__", ", ".join(formals), lines or ["pass"])


def _function(name: str, formals: str, lines: Sequence[str]) -> str:
    return f"def {name}({formals}):\n" + "".join(f"    {line}\n" for line in lines)


def _compared(cls: type, name: str, inner: Sequence[str], equal: str, unlike: str) -> str:
    """A comparison field by field.

    Args:
        inner: the statements that compare `val1` with `val2`.
        equal: what is returned where no field tells.
        unlike: what happens if just one of two optional fields is None.
    """
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        if not field.compare:
            continue
        lines += [f"val1 = self.{field.name}", f"val2 = other.{field.name}"]
        if type(None) not in typing.get_args(field.type):
            lines += inner
            continue
        lines += ["if val1 is not None and val2 is not None:", *(f"    {t}" for t in inner)]
        lines += ["elif (val1 is None) != (val2 is None):", f"    {unlike}"]
    return _function(name, "self, other", [*lines, f"return {equal}"])


def _eq(cls: type) -> str:
    return _compared(
        cls, "__eq__", ["if val1 != val2:", "    return False"], "True", "return False"
    )


def _order(cls: type, name: str) -> str:
    sign, equal = _ORDER[name]
    inner = [f"if val1 {sign} val2:", "    return True",
             f"elif val2 {sign} val1:", "    return False"]  # fmt: skip
    unlike = f"raise TypeError('Cannot compare {cls.__name__} with None')"
    return _compared(cls, name, inner, equal, unlike)


def generated_source(cls: type, name: str) -> FunctionSource | None:
    """The text of a method that `@dataclass` made; None for one that scripts do not use.

    Raises:
        CompileError: a default factory.
    """
    if name == "__init__":
        text = _init(cls)
    elif name == "__eq__":
        text = _eq(cls)
    elif name in _ORDER:
        text = _order(cls, name)
    else:
        return None
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return FunctionSource(tree, Text(Source(text, f"<dataclass {cls.__name__}>", 1)))


def field_types(cls: type, name: str) -> Mapping[str, object]:
    """Annotations of a generated method: types by argument, `other` is the class itself."""
    if name == "__init__":
        return {p.name: _plain(p.annotation) for p in _parameters(cls)} | {"return": None}
    return {"other": cls, "return": bool}


def field_defaults(cls: type, name: str) -> Mapping[str, object]:
    """Default values of the generated `__init__`."""
    if name != "__init__":
        return {}
    return {p.name: p.default for p in _parameters(cls) if p.default is not p.empty}


def _plain(annotation: object) -> object:
    """The type of an argument; that of a value that only `__post_init__` gets is wrapped."""
    return annotation.type if isinstance(annotation, dataclasses.InitVar) else annotation
