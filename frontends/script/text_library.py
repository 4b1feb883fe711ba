"""The definitions of TorchScript text, by qualified name. Text is parsed by `ast`, which executes
nothing."""

from __future__ import annotations

import ast
from typing import Protocol

from tensorscript.base.errors import CompileError, TextError
from tensorscript.base.records import dataclass

from .source import Text, parse_text

_SHOWN = (ast.ClassDef, ast.Import)
"""Statements that TorchScript's parser names by their first word."""


@dataclass(frozen=True)
class Found:
    """A definition in some text."""

    tree: ast.FunctionDef | ast.ClassDef
    text: Text


class Library(Protocol):
    """Where text definitions are found."""

    def find(self, qualified_name: str) -> Found | None: ...


@dataclass
class TextLibrary:
    """The functions and classes of one text, under a prefix (`__torch__`)."""

    definitions: dict[str, Found]

    @staticmethod
    def parse(text: str, prefix: str = "__torch__", name: str = "<string>") -> TextLibrary:
        """Read a text.

        Raises:
            FrontendError: it does not parse.
        """
        tree, where = parse_text(text, name)
        out: dict[str, Found] = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                out[f"{prefix}.{node.name}"] = Found(node, where)
        return TextLibrary(out)

    @staticmethod
    def of_functions(text: str) -> TextLibrary:
        """Read a text of functions.

        Raises:
            TextError: it does not parse, or holds something else.
            CompileError: two functions of one name.
        """
        tree, where = parse_text(text)
        out: dict[str, Found] = {}
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef):
                word = ast.unparse(node).split()[0]
                shown = word if isinstance(node, _SHOWN) else "ident"
                raise TextError(
                    f"expected def but found '{shown}' here", where.word(node, len(word))
                )
            if (name := f"__torch__.{node.name}") in out:
                raise CompileError(f"method '{node.name}' already defined.")
            out[name] = Found(node, where)
        return TextLibrary(out)

    def find(self, qualified_name: str) -> Found | None:
        return self.definitions.get(qualified_name)
