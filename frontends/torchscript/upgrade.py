"""Operators whose meaning changed, in archives from before the change.

A file of version N calls `torch.div` as it was in N. Where it changed later, the syntax tree is
rewritten to call `__torch__.upgraders.div`, whose meaning is chosen by the argument types when the
call is emitted, and is itself TorchScript text.
Source of the rules: PyTorch's operator versioning (div until 3, full until 4, linspace until 7,
logspace until 8, gelu until 9).
"""

from __future__ import annotations

import ast

from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.types import FLOAT, NONE, TensorType
from tensorscript.frontends.script.callables import Builtin
from tensorscript.frontends.script.function import FunctionEmitter
from tensorscript.frontends.script.text_library import Found, TextLibrary
from tensorscript.frontends.script.values import Args, Kwargs, Sugared

from . import removed

PREFIX = "__torch__.upgraders"

LAST_VERSION = {"div": 3, "div_": 3, "full": 4, "linspace": 7, "logspace": 8, "gelu": 9}
"""The last file version in which an operator still had its old meaning."""

CHANGED_IN = {
    f"aten::{name}{overload}": LAST_VERSION[name] + 1
    for name, overloads in {
        "div": (".Tensor", ".Scalar", ".Tensor_mode", ".Scalar_mode", ".out", ".out_mode"),
        "div_": (".Tensor", ".Scalar", ".Tensor_mode", ".Scalar_mode"),
        "full": ("", ".out"),
        "linspace": ("", ".out"),
        "logspace": ("", ".out"),
        "gelu": ("", ".out"),
    }.items()
    for overload in overloads
}
"""The overloads that changed, and the file version that first had the present meaning."""

_TEXT = """
def div_tensor(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self) or torch.is_floating_point(other):
    result = torch.true_divide(self, other)
  else:
    result = torch.divide(self, other, rounding_mode="trunc")
  return result

def div_float(self: Tensor, other: number) -> Tensor:
  return torch.true_divide(self, other)

def div_int(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self):
    result = torch.true_divide(self, other)
  else:
    result = torch.divide(self, other, rounding_mode="trunc")
  return result

def div_out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
  floats = torch.is_floating_point(self) or torch.is_floating_point(other)
  if floats or torch.is_floating_point(out):
    result = torch.true_divide(self, other, out=out)
  else:
    result = torch.divide(self, other, rounding_mode="trunc", out=out)
  return result

def div__tensor(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self) or torch.is_floating_point(other):
    result = torch.true_divide_(self, other)
  else:
    result = torch.divide_(self, other, rounding_mode="trunc")
  return result

def div__float(self: Tensor, other: number) -> Tensor:
  return torch.true_divide_(self, other)

def div__int(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self):
    result = torch.true_divide_(self, other)
  else:
    result = torch.divide_(self, other, rounding_mode="trunc")
  return result
"""

LIBRARY = TextLibrary.parse(_TEXT + removed.TEXT, PREFIX, "upgraders.py")


def find(qualified_name: str) -> Found | None:
    """The text of an upgrader."""
    return LIBRARY.find(qualified_name)


def operator(name: str) -> Sugared | None:
    """What an outdated `torch.<name>` stands for; None for the text of an upgrader."""
    if name in removed.NAMES:
        return removed.Removed(PREFIX, name)
    return Upgraded(name) if name in LAST_VERSION else None


class _Rewriter(ast.NodeTransformer):
    """`torch.div` becomes `__torch__.upgraders.div`, with the same place in the text."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node:
            case ast.Attribute(ast.Name("torch"), name) if name in self.names:
                path: ast.expr = ast.copy_location(ast.Name("__torch__", ast.Load()), node)
                for part in ("upgraders", name):
                    path = ast.copy_location(ast.Attribute(path, part, ast.Load()), node)
                return path
        return self.generic_visit(node)


def outdated(version: int) -> frozenset[str]:
    """The operators that mean something else, or are no more, in a file of this version."""
    return removed.NAMES.union(name for name, last in LAST_VERSION.items() if version <= last)


def rewrite(tree: ast.Module, version: int) -> None:
    """Redirect the outdated operators of a parsed code file."""
    _Rewriter(outdated(version)).visit(tree)


@dataclass
class Upgraded(Sugared):
    """An operator in its old meaning."""

    kind = "builtin"
    name: str

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # text is only ever emitted by FunctionEmitter
        if (chosen := _DIVISION.get(self.name)) is not None:
            if suffix := _division_kind(args, kwargs):
                world = em.resolver.world  # type: ignore[attr-defined]  # text has a TextResolver
                function: Sugared = world.value(f"{PREFIX}.{chosen}{suffix}", em, span)
                return function.call(em, span, args, kwargs)
        elif self.name == "full":
            args, kwargs = _full(em, span, args, kwargs)
        elif self.name in ("linspace", "logspace"):
            args, kwargs = _steps(em, args, kwargs)
        return Builtin(f"aten::{self.name}").call(em, span, args, kwargs)


_DIVISION = {"div": "div_", "div_": "div__"}


def _division_kind(args: Args, kwargs: Kwargs) -> str:
    """Which upgrader a division needs; none with a rounding mode or without a tensor."""
    operands = [*args, *(kwargs[k] for k in ("self", "other") if k in kwargs)]
    if "rounding_mode" in kwargs or len(operands) != 2:
        return ""
    if not isinstance(operands[0].type, TensorType):
        return ""
    if "out" in kwargs:
        return "out"
    if isinstance(operands[1].type, TensorType):
        return "tensor"
    return "float" if operands[1].type == FLOAT else "int"


def _steps(em: FunctionEmitter, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Without a number of steps, or with None, there were 100."""
    if len(args) < 3:
        if (given := kwargs.get("steps")) is None or given.type == NONE:
            kwargs = {**kwargs, "steps": em.integer(100)}
        return args, kwargs
    if args[2].type == NONE:
        args = [*args[:2], em.integer(100), *args[3:]]
    return args, kwargs


def _full(
    em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:
    """Without a dtype, `full` was of floats whatever it was filled with."""
    given = kwargs.get("dtype")
    if "out" in kwargs:
        return args, kwargs
    if given is not None and given.type != NONE:
        return args, kwargs
    if len(args) > 1:
        return [args[0], em.builtin("aten::Float", [args[1]], span), *args[2:]], kwargs
    if "fill_value" in kwargs:
        value = em.builtin("aten::Float", [kwargs["fill_value"]], span)
        return args, {**kwargs, "fill_value": value}
    return args, kwargs
