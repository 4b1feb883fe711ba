"""Python that is outside the language, wherever in a function it stands.

As in TorchScript a whole definition is read before anything is compiled: what the grammar does not
have is refused in branches, too, that are never compiled, and before any name or type is looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tensorscript.base.errors import (
    CompileError,
    FrontendError,
    NotSupportedError,
    UnsupportedNodeError,
)
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span

from .source import Text

_UNSUPPORTED: dict[type[ast.AST], tuple[str, int]] = {
    ast.Try: ("try blocks", 3), ast.TryStar: ("TryStar", 1),
    ast.FunctionDef: ("function definitions", 3), ast.ClassDef: ("class definitions", 5),
    ast.Global: ("global variables", 6), ast.Nonlocal: ("nonlocal variables", 8),
    ast.Import: ("import statements", 6), ast.ImportFrom: ("import statements", 4),
    ast.AsyncFor: ("async for loops", 9), ast.AsyncWith: ("async with statements", 10),
    ast.AsyncFunctionDef: ("async function definitions", 9), ast.Match: ("Match", 1),
    ast.Lambda: ("Lambda", 1), ast.Yield: ("Yield", 1), ast.YieldFrom: ("YieldFrom", 1),
    ast.Await: ("Await", 1), ast.NamedExpr: ("NamedExpr", 1), ast.Set: ("Set", 1),
    ast.SetComp: ("SetComp", 1),
}  # fmt: skip
"""Statements and expressions: what they are called, and how much of them is underlined."""


class MisplacedAnnotation(CompileError, ValueError):
    """`self.x: T = ...` outside `__init__` (TorchScript raises ValueError)."""

    precedes_call = True


@dataclass(frozen=True)
class _Definition:
    """The function that is read."""

    text: Text
    name: str
    nested_functions: bool


Refusal = CompileError | FrontendError


def _annotated(node: ast.AnnAssign, where: _Definition) -> Refusal | None:
    """The attributes of `self` have their types from `__init__` alone."""
    if node.value is None:
        return UnsupportedNodeError(
            "annotated assignments without assigned value aren't supported",
            where.text.word(node, 1),
        )
    match node.target:
        case ast.Attribute(ast.Name("self")) if where.name != "__init__":
            return MisplacedAnnotation(
                "Type annotations on instance attributes must be declared in __init__, not "
                f"'{where.name}'",
                where.text.span(node),
            )
    return None


def _for(node: ast.For, where: _Definition) -> Refusal | None:
    if not node.orelse:
        return None
    return NotSupportedError(
        "else branches of for loops aren't supported", where.text.word(node, 3)
    )


def _while(node: ast.While, where: _Definition) -> Refusal | None:
    if not node.orelse:
        return None
    return NotSupportedError("else branches of while loops aren't supported", where.text.span(node))


def _raise(node: ast.Raise, where: _Definition) -> Refusal | None:
    if node.exc is not None:
        return None
    return NotSupportedError("raise without an exception is not supported", where.text.span(node))


def _name(node: ast.Name, where: _Definition) -> Refusal | None:
    if not node.id.startswith("__jit"):
        return None
    return NotSupportedError(
        "names of variables used in JIT-ed functions can't start with __jit", where.text.span(node)
    )


def _call(node: ast.Call, where: _Definition) -> Refusal | None:
    expanded = next((k.value for k in node.keywords if k.arg is None), None)
    if expanded is None:
        return None
    return NotSupportedError("keyword-arg expansion is not supported", where.text.span(expanded))


def _dict(node: ast.Dict, where: _Definition) -> Refusal | None:
    if None not in node.keys:
        return None
    return NotSupportedError(
        "Dict expansion (e.g. `{**dict}`) is not supported", where.text.word(node, 1)
    )


def _comprehension(
    node: ast.ListComp | ast.GeneratorExp | ast.DictComp, where: _Definition
) -> Refusal | None:
    if len(node.generators) == 1:
        return None
    whole = where.text.span(node)
    return NotSupportedError(
        "Only a single generator is currently supported",
        Span(whole.source, whole.start, whole.start),
    )


def _joined(node: ast.JoinedStr, where: _Definition) -> Refusal | None:
    """An f-string: `!r` is not of the language, nor a format specification that is computed."""
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            continue
        if part.conversion not in (-1, ord("s")):
            return NotSupportedError(
                "Don't support conversion in JoinedStr", where.text.word(node, 1)
            )
        spec = part.format_spec
        if isinstance(spec, ast.JoinedStr) and not all(
            isinstance(p, ast.Constant) for p in spec.values
        ):
            return NotSupportedError(
                "Don't support formatting in JoinedStr", where.text.word(node, 1)
            )
    return None


def _constant(node: ast.Constant, where: _Definition) -> Refusal | None:
    if not isinstance(node.value, bytes):
        return None
    return FrontendError("Unknown Constant expression type", where.text.span(node))


_CHECKS: dict[type[ast.AST], Callable[..., Refusal | None]] = {
    ast.AnnAssign: _annotated, ast.For: _for, ast.While: _while, ast.Raise: _raise,
    ast.Name: _name, ast.Call: _call, ast.Dict: _dict, ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.DictComp: _comprehension, ast.JoinedStr: _joined,
    ast.Constant: _constant,
}  # fmt: skip
"""By kind of node: why one is refused, or None."""


def _refused(node: ast.AST, where: _Definition) -> Refusal | None:
    if isinstance(node, ast.FunctionDef) and where.nested_functions:
        return None
    if found := _UNSUPPORTED.get(type(node)):
        what, length = found
        return UnsupportedNodeError(f"{what} aren't supported", where.text.word(node, length))
    check = _CHECKS.get(type(node))
    return check(node, where) if check is not None else None


def _children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node in the order in which TorchScript reads them."""
    if isinstance(node, ast.Assign):
        return [node.value, *node.targets]
    return list(ast.iter_child_nodes(node))


def check_syntax(tree: ast.FunctionDef, text: Text, nested_functions: bool) -> None:
    """Refuse what the body of a function may not contain.

    Args:
        nested_functions: whether `def`s may stand in it (archives write them for forks).

    Raises:
        FrontendError: Python outside the language.
        MisplacedAnnotation: an attribute of `self` is annotated outside `__init__`.
    """
    where = _Definition(text, tree.name, nested_functions)
    left: list[ast.AST] = list(reversed(tree.body))
    while left:
        node = left.pop()
        if (refusal := _refused(node, where)) is not None:
            raise refusal
        left += reversed(_children(node))
