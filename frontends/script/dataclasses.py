"""The methods that `@dataclass` makes have no source text; here it is written again."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping

from tensorscript.base.errors import CompileError
from tensorscript.base.source import Source

from .source import FunctionSource, Text

_ORDER = {"__lt__": ("<", "False"), "__le__": ("<", "True"), "__gt__": (">", "False"),
          "__ge__": (">", "True")}  # fmt: skip


class FactoryNotSupported(CompileError, NotImplementedError):
    """A field with a default factory (TorchScript raises NotImplementedError)."""


def is_dataclass(cls: type) -> bool:
    return "__dataclass_fields__" in vars(cls)


def _init(cls: type) -> str:
    fields = [f for f in dataclasses.fields(cls) if f.init]
    formals = "".join(
        f", {f.name}" + ("" if f.default is dataclasses.MISSING else "=None") for f in fields
    )
    for field in fields:
        if field.default_factory is not dataclasses.MISSING:
            raise FactoryNotSupported(
                "Default factory initializers are not supported in TorchScript dataclasses"
            )
    lines = [f"self.{f.name} = {f.name}" for f in fields]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return f"def __init__(self{formals}):\n" + "".join(f"    {t}\n" for t in lines or ["pass"])


def _eq(cls: type) -> str:
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    terms = " and ".join(f"self.{n} == other.{n}" for n in names) or "True"
    return f"def __eq__(self, other):\n    return {terms}\n"


def _order(cls: type, name: str) -> str:
    sign, equal = _ORDER[name]
    other = "<" if sign == ">" else ">"
    text = f"def {name}(self, other):\n"
    for field in dataclasses.fields(cls):
        if field.compare:
            pair = f"self.{field.name} {{}} other.{field.name}"
            text += f"    if {pair.format(sign)}:\n        return True\n"
            text += f"    if {pair.format(other)}:\n        return False\n"
    return f"{text}    return {equal}\n"


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
        return {f.name: f.type for f in dataclasses.fields(cls)} | {"return": None}
    return {"other": cls, "return": bool}


def field_defaults(cls: type, name: str) -> Mapping[str, object]:
    """Default values of the generated `__init__`."""
    if name != "__init__":
        return {}
    return {
        f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING
    }
