"""From a function object to the syntax tree of its definition, with places in the original text.

Text may be indented, as it stands in a class or in a string, and its comments and strings may begin
left of it: it is parsed as the body of a statement put before it. `ast` counts columns in UTF-8
bytes, spans count characters; `Ranges` converts.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from functools import cached_property

from tensorscript.base.errors import CompileError, FrontendError, TextError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Source, Span

from .ranges import Ranges
from .text_errors import text_error


class SourceUnavailable(FrontendError, OSError):
    """The source text of a function cannot be found (as `inspect` raises OSError)."""


@dataclass(frozen=True)
class Text:
    """A parsed text.

    Attributes:
        is_python: it is of live Python functions, not one to be compiled as it is.
    """

    source: Source
    is_python: bool = True

    @cached_property
    def ranges(self) -> Ranges:
        return Ranges(self.source, self.is_python)

    def offset(self, line: int, column: int) -> int:
        """Character offset of a tree position (1-based line, byte column)."""
        return self.ranges.offset(line, column)

    def span(self, node: ast.AST) -> Span:
        """The range of a syntax tree node, as TorchScript measures it."""
        return Span(self.source, *self.ranges.of(node), own=self.ranges.own(node))

    def starred(self, node: ast.arg) -> Span:
        """The name of a parameter and the character before it."""
        start = self.ranges.start(node)
        return Span(self.source, start - 1, start + len(node.arg))

    def word(self, node: ast.AST, length: int) -> Span:
        """The first `length` characters of a node."""
        start = self.ranges.start(node)
        return Span(self.source, start, start + length)

    def is_bare_tuple(self, node: ast.expr) -> bool:
        """Whether an expression is a tuple without parentheses."""
        start = self.offset(node.lineno, node.col_offset)
        return isinstance(node, ast.Tuple) and self.source.text[start] != "("

    def name_of(self, node: ast.FunctionDef | ast.ClassDef) -> Span:
        """The name in a def or class statement."""
        keyword = 4 if isinstance(node, ast.FunctionDef) else 6
        start = self.offset(node.lineno, node.col_offset) + keyword
        return Span(self.source, start, start + len(node.name))

    def head(self, node: ast.FunctionDef) -> Span:
        """The parameters of a function, as TorchScript's parsers measure them: of Python from `def`
        to the last of them, of a text from their parenthesis to the type of the result or, without
        one, to the colon.
        """
        start = self.offset(node.lineno, node.col_offset)
        args = node.args
        if not self.is_python:
            opened = self.source.text.index("(", start)
            if node.returns is not None:
                return Span(self.source, opened, self.ranges.of(node.returns)[1])
            parts = [part for part in ast.walk(args) if isinstance(part, ast.expr | ast.arg)]
            last = max((self.ranges.whole(part)[1] for part in parts), default=opened)
            return Span(self.source, opened, self.source.text.index(":", last) + 1)
        parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        if not parameters:
            return self.word(node, len("def"))
        return Span(self.source, start, self.ranges.of(parameters[-1])[1])


@dataclass(frozen=True)
class FunctionSource:
    """A function's definition."""

    tree: ast.FunctionDef
    text: Text


def annotations_of(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """What is written behind the parameters and, by the name `return`, behind the arrow."""
    arguments = (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
    found = {a.arg: a.annotation for a in arguments} | {"return": tree.returns}
    return {name: node for name, node in found.items() if node is not None}


def _unwrapped(fn: Callable[..., object]) -> Callable[..., object]:
    return getattr(fn, "__func__", fn)


def source_lines(thing: object) -> tuple[str, str, int]:
    """Text, file name and first line of a function or class.

    Raises:
        SourceUnavailable: there is no source text.
    """
    try:
        lines, first = inspect.getsourcelines(thing)  # type: ignore[arg-type]  # any object
        name = inspect.getsourcefile(thing) or "<string>"  # type: ignore[arg-type]
    except (OSError, TypeError) as error:
        raise SourceUnavailable(
            f"Can't get source for {thing}. TorchScript requires source access in order to carry "
            "out compilation, make sure original .py files are available."
        ) from error
    return "".join(lines), name, first


_FIRST_CODE = re.compile(r"^([ \t]*)[^ \t\n#]", re.MULTILINE)


def _tree(text: str) -> ast.Module:
    """The tree of a text, indented or not, with the lines and columns of the text."""
    first = _FIRST_CODE.search(text)
    if first is None or not first[1]:
        return ast.parse(text)
    whole = ast.parse("if True:\n" + text).body[0]
    assert isinstance(whole, ast.If)
    return ast.increment_lineno(ast.Module(whole.body, []), -1)


def _parse(text: str, name: str, first: int) -> tuple[ast.Module, Text]:
    text = text.rstrip("\n") + "\n"
    try:
        return _tree(text), Text(Source(text, name, first))
    except SyntaxError as error:
        raise FrontendError(f"Cannot parse {name}:{first}: {error.msg}") from error


def function_source(fn: Callable[..., object]) -> FunctionSource:
    """The definition of a Python function or method.

    Raises:
        SourceUnavailable: there is no source text.
        CompileError: the text is not one `def` (a lambda).
    """
    text, name, first = source_lines(_unwrapped(fn))
    tree, where = _parse(text, name, first)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        error = CompileError(f"Expected a single top-level function: {name}:{first}")
        if getattr(fn, "__name__", "") == "<lambda>":
            error.with_note("A lambda cannot be compiled: write it as a function with def", None)
        raise error
    if isinstance(tree.body[0], ast.AsyncFunctionDef):
        raise FrontendError("async function definitions aren't supported", where.word(tree, 9))
    return FunctionSource(tree.body[0], where)


def class_source(cls: type) -> tuple[ast.ClassDef, Text]:
    """The definition of a Python class.

    Raises:
        SourceUnavailable: there is no source text.
    """
    text, name, first = source_lines(cls)
    tree, where = _parse(text, name, first)
    found = tree.body[0] if tree.body else None
    if not isinstance(found, ast.ClassDef):
        raise CompileError(f"Expected a single top-level class: {name}:{first}")
    return found, where


def parse_text(text: str, name: str = "<string>") -> tuple[ast.Module, Text]:
    """A whole module's text (archives, CompilationUnit); parsing executes nothing.

    Raises:
        TextError: the text does not parse.
    """
    source = Source(text, name, 1)
    try:
        return _tree(text), Text(source, is_python=False)
    except SyntaxError as error:
        raise text_error(source, error) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise TextError(f"Cannot parse {name}: {error}") from error
