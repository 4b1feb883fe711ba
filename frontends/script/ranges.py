"""Ranges of syntax tree nodes as TorchScript's front end measures them.

TorchScript keeps for a node the place of one token of it, widened to what its parts cover. So a
range leaves out the parentheses around an expression, closing brackets (but that of a subscript)
and most of a string literal. Diagnostics underline these ranges and graphs print where they start.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorscript.base.source import Source

Range = tuple[int, int]

_KEYWORDS: dict[type[ast.AST], str] = {
    ast.Return: "return", ast.Raise: "raise", ast.Assert: "assert", ast.Delete: "del",
    ast.If: "if", ast.While: "while", ast.For: "for", ast.With: "with", ast.Pass: "pass",
    ast.Break: "break", ast.Continue: "continue", ast.FunctionDef: "def",
}  # fmt: skip
_OPERATORS: dict[type[ast.unaryop], str] = {
    ast.Not: "not", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
}  # fmt: skip
_FROM_PARTS = (
    ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Subscript, ast.Slice,
    ast.FormattedValue, ast.keyword, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign,
)  # fmt: skip
"""Nodes without a token of their own: they are as wide as their parts."""
_FROM_BRACKET = (ast.List, ast.Tuple, ast.Dict, ast.JoinedStr, ast.Starred)
"""Nodes that start with one character of their own."""
_FROM_NOTHING = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
"""Nodes whose own range is empty."""
_NOT_RANGED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.arguments)


class Ranges:
    """The ranges of the nodes of one text, each computed once.

    Args:
        is_python: the text is of a live Python function, of whose string literals TorchScript's
            front end sees the value only; its own parser of texts knows where they end.
    """

    def __init__(self, source: Source, is_python: bool = True) -> None:
        self.source = source
        self.is_python = is_python
        self.known: dict[ast.AST, Range] = {}

    def offset(self, line: int, column: int) -> int:
        """Character offset of a tree position (1-based line, byte column)."""
        text = self.source.lines[line - 1]
        if text.isascii():
            return self.source.offset(line - 1, min(column, len(text)))
        return self.source.offset(line - 1, len(text.encode()[:column].decode()))

    def start(self, node: ast.AST) -> int:
        """Where Python says that a node starts."""
        return self.offset(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))

    def whole(self, node: ast.AST) -> Range:
        """The range that Python gives a node."""
        start = self.start(node)
        if not isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword | ast.alias):
            return start, start
        line = node.end_lineno or node.lineno
        return start, max(start, self.offset(line, node.end_col_offset or 0))

    def of(self, node: ast.AST) -> Range:
        """The range of a node."""
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = self._measure(node)
        return found

    def own(self, node: ast.AST) -> int | None:
        """Where what a node adds to its first operand starts: `).x` of `(a).x`."""
        match node:
            case ast.Call():
                return self.whole(node.func)[1]
            case ast.Attribute() | ast.Subscript():
                return self.whole(node.value)[1]
        return None

    def _measure(self, node: ast.AST) -> Range:
        match node:
            case ast.Name():
                return self._word(node, len(node.id))
            case ast.Constant(value=str(text)):
                return self._word(node, len(text) + 1) if self.is_python else self.whole(node)
            case ast.Constant():
                shown = "..." if node.value is Ellipsis else str(node.value)
                return self._word(node, len(shown))
            case ast.Attribute():
                start, end = self.of(node.value)
                return start, self._name_end(end, node.attr)
            case ast.Subscript():
                start, end = self._widened(None, node)
                return start, end + 1 if self.is_python else self._next_token(node)
            case ast.Call() if not self.is_python:
                return self._widened(self._opening(node), node)
            case ast.UnaryOp():
                return self._widened(self._word(node, len(_OPERATORS[type(node.op)])), node)
        if isinstance(node, _FROM_PARTS) and any(True for _ in _parts(node)):
            return self._widened(None, node)
        if isinstance(node, _FROM_BRACKET):
            return self._widened(self._word(node, 1), node)
        if isinstance(node, _FROM_NOTHING):
            return self._widened(self._word(node, 0), node)
        if word := _KEYWORDS.get(type(node)):
            return self._widened(self._word(node, len(word)), node)
        return self.whole(node)

    def _word(self, node: ast.AST, length: int) -> Range:
        start = self.start(node)
        return start, start + length

    def _name_end(self, base: int, name: str) -> int:
        """The end of `.name` behind the end of what it is an attribute of."""
        text = self.source.text
        at = base + 1
        while at < len(text) and text[at].isspace():
            at += 1
        return at + len(name)

    def _next_token(self, node: ast.expr) -> int:
        """Where the token behind an expression starts."""
        at, text = self.whole(node)[1], self.source.text
        while text[at : at + 1] in (" ", "\t"):
            at += 1
        return at

    def _opening(self, node: ast.Call) -> Range:
        """The parenthesis of a call."""
        start = self.source.text.index("(", self.whole(node.func)[1])
        return start, start + 1

    def _widened(self, own: Range | None, node: ast.AST) -> Range:
        parts = [self.of(part) for part in _parts(node)]
        if own is not None:
            parts.append(own)
        return min(start for start, _ in parts), max(end for _, end in parts)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that a node's range covers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            yield from (child.target, child.iter)
        elif isinstance(child, ast.withitem):
            yield from (n for n in (child.context_expr, child.optional_vars) if n is not None)
        elif _is_covered(child, node):
            yield child


def _is_covered(child: ast.AST, node: ast.AST) -> bool:
    match node, child:
        case ast.JoinedStr(), ast.Constant():
            return False
        case ast.Raise(), _:
            return child is not node.cause
        case _, ast.Slice():
            return any(True for _ in _parts(child))
    return not isinstance(child, _NOT_RANGED)
