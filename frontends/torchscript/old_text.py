"""The text of PyTorch before 1.5, as Python's grammar has it.

It gives parameters with a default before parameters without one, which `ast` refuses unless they
are keyword-only, and PyTorch 1.0 has `annotate(Tensor, None)` for no tensor.
"""

from __future__ import annotations

import ast
import re

from tensorscript.base.source import Source
from tensorscript.frontends.script.source import Text, parse_text

LAST_VERSION = 2
"""The last file version that has such text."""

_SECOND_PARAMETER = re.compile(r"^( *def \w+\([^\n]*,\n *)   (?=\w)", re.MULTILINE)


def parse_old(text: str, name: str) -> tuple[ast.Module, Text]:
    """The tree of such a text, with the places of the text as it is.

    Raises:
        FrontendError: it does not parse.
    """
    tree, _ = parse_text(_SECOND_PARAMETER.sub(r"\1*, ", text), name)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _make_positional(node.args)
    return _NoTensor().visit(tree), Text(Source(text, name))


class _NoTensor(ast.NodeTransformer):
    """`annotate(Tensor, None)` becomes `None`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("annotate"), [ast.Name("Tensor"), ast.Constant(None) as none]):
                return none
        return self.generic_visit(node)


def _make_positional(arguments: ast.arguments) -> None:
    """Every parameter positional; a default before a parameter without one is of no use."""
    leading = len(arguments.args) - len(arguments.defaults)
    defaults = [*[None] * leading, *arguments.defaults, *arguments.kw_defaults]
    arguments.args += arguments.kwonlyargs
    arguments.kwonlyargs, arguments.kw_defaults = [], []
    missing = [at for at, default in enumerate(defaults) if default is None]
    first = missing[-1] + 1 if missing else 0
    arguments.defaults = [default for default in defaults[first:] if default is not None]
