"""`with torch.jit._IgnoreContextManager(x="inp:int", y="out:int"):` leaves its body in Python.

The statement becomes a call of a function that is not compiled and whose body it is:

    with torch.jit._IgnoreContextManager(x="inp:int", y="out:int"):      y = func_ignore_f_py_3(x)
        y = anything(x)                                              -->
"""

from __future__ import annotations

import ast
import copy
import linecache
import re
import typing
from collections.abc import Mapping
from typing import Any

from tensorscript.base.errors import NotSupportedError

from .source import FunctionSource, Text

_NAME = "_IgnoreContextManager"


def without_python(
    source: FunctionSource, names: Mapping[str, object]
) -> tuple[FunctionSource, dict[str, object]]:
    """A function with calls for the statements that it leaves in Python, and what these call.

    Args:
        names: what the function sees around it.

    Raises:
        NotSupportedError: an argument that does not read `"inp:T"` or `"out:T"`.
    """
    if not any(_leaves(node) for node in ast.walk(source.tree)):
        return source, {}
    rewriter = _Rewriter(source.text, names)
    tree = rewriter.visit(copy.deepcopy(source.tree))
    return FunctionSource(tree, source.text), rewriter.made


def _leaves(node: ast.AST) -> bool:
    """Whether a node is such a statement."""
    if not isinstance(node, ast.With) or not isinstance(node.items[0].context_expr, ast.Call):
        return False
    called = node.items[0].context_expr.func
    return getattr(called, "attr", getattr(called, "id", "")) == _NAME


class _Rewriter(ast.NodeTransformer):
    def __init__(self, text: Text, names: Mapping[str, object]) -> None:
        self.text = text
        self.names = names
        self.made: dict[str, object] = {}

    def visit_With(self, node: ast.With) -> ast.AST:
        if not _leaves(node):
            return self.generic_visit(node)
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call)
        inputs: dict[str, str] = {}
        outputs: dict[str, str] = {}
        for keyword in call.keywords:
            way, type = self.declared(keyword)
            (inputs if way == "inp" else outputs)[str(keyword.arg)] = type
        place = self.text.span(node)
        where = re.sub(r"\W", "_", f"{place.source.filename}_{place.line}")
        name = f"func_ignore_{where}"
        self.made[name] = _function(name, node.body, inputs, outputs, self.names)
        left = f"{', '.join(outputs)} = " if outputs else ""
        made = ast.parse(f"{left}{name}({', '.join(inputs)})").body[0]
        for inner in ast.walk(made):
            ast.copy_location(inner, call)
        return ast.copy_location(made, call)

    def declared(self, keyword: ast.keyword) -> tuple[str, str]:
        """Which way a variable goes, and its type."""
        held = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        way, colon, type = held.partition(":") if isinstance(held, str) else ("", "", "")
        if way not in ("inp", "out") or not colon:
            raise NotSupportedError(
                f"{_NAME} needs 'inp:<type>' or 'out:<type>' for '{keyword.arg}'",
                self.text.span(keyword.value),
            )
        return way, type


def _function(
    name: str,
    body: list[ast.stmt],
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    names: Mapping[str, object],
) -> object:
    """A Python function of the statements, marked as left in Python."""
    parameters = ", ".join(f"{key}: {type}" for key, type in inputs.items())
    types = ", ".join(outputs.values())
    returned = f"Tuple[{types}]" if len(outputs) > 1 else types or "None"
    lines = [line for statement in body for line in ast.unparse(statement).split("\n")]
    lines.append(f"return {', '.join(outputs)}".rstrip())
    text = f"def {name}({parameters}) -> {returned}:\n" + "".join(f"    {li}\n" for li in lines)
    # Whoever asks for the function's source, as the compiler does, finds it there.
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    found: dict[str, Any] = {"List": typing.List, "Dict": typing.Dict, "Tuple": typing.Tuple}  # noqa: UP006  # names that users write
    found |= names
    exec(compile(text, file, "exec"), found)
    found[name]._torchscript_modifier = "ignore (leave as a call to Python)"
    return found[name]
