"""Signatures in comments (PEP 484): `# type: (int, str) -> str`, or one comment an argument."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator

from tensorscript.base.errors import CompileError
from tensorscript.base.source import Span

_MARK = "# type:"
_IGNORED = re.compile(r"# type: ignore(\[[^\]]*\])?\s*(#.*)?$")
_MISSPELT = re.compile(r"#[\t ]*type[\t ]*(?!: ignore(\[.*\])?$):")
_TOKEN = re.compile(
    r"(?P<ident>[^\W\d]\w*)|(?P<number>\d[\w.]*)"
    r"|(?P<string_literal>\"[^\"]*\"|'[^']*')|(?P<other>[^\s#])"
)
_PEP = (
    "See PEP 484 (https://www.python.org/dev/peps/pep-0484/"
    "#suggested-syntax-for-python-2-7-and-straddling-code)"
)


def comment_annotations(
    tree: ast.FunctionDef, lines: list[str], span: Span, head: Span, is_method: bool
) -> dict[str, ast.expr] | None:
    """The annotations that comments among `lines` give a function; None if there is no signature.

    Args:
        span: of the function, where what is wrong has no place of its own.
        head: of the parameters, which TorchScript underlines if their number is another.

    Returns: expressions by argument name; that of the result, where one is named, as `return`.
    Raises:
        CompileError: the comment does not parse, or has another number of arguments.
    """
    marked = _marked(lines)
    if not marked:
        _refuse_misspelt(lines, span)
        return None
    at = _signature_line(marked, span)
    *before, comment = [line.partition(_MARK)[2].strip() for line in marked[: at + 1]]
    listed, _, result = comment.partition("->")
    nodes = list(_arguments(listed, before, span))
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    names = [a.arg for a in arguments][is_method:]  # `self` is never annotated
    if len(nodes) != len(names):
        kind = "method" if is_method else "function"
        raise CompileError(
            f"Number of type annotations ({len(nodes)}) did not match the number of {kind} "
            f"parameters ({len(names)})",
            head,
        )
    out = dict(zip(names, nodes, strict=True))
    if result:
        out["return"] = _parsed(result, span)
    return out


def _marked(lines: list[str]) -> list[str]:
    return [line for line in lines if _MARK in line and not _IGNORED.search(line)]


def _signature_line(marked: list[str], span: Span) -> int:
    """Which of the comments is the signature. To TorchScript all of them are a part of it, those of
    variables, too.
    """
    if len(marked) > 1:
        at = next((k for k, line in enumerate(marked) if f"{_MARK} (...) -> " in line), None)
        if at is not None:
            return at
        raise CompileError(
            f"Return type line '{_MARK} (...) -> ...' not found on multiline type annotation\n"
            "for type lines:\n" + "\n".join(marked) + f"\n({_PEP})",
            span,
        )
    wanted, rest = "type comment", marked[0].strip()
    if rest.startswith(_MARK):
        wanted, rest = "(", rest.removeprefix(_MARK).strip()
    if wanted == "(" and rest.startswith("("):
        return 0
    text = span.source.text
    found = _TOKEN.match(rest)
    start = text.index(rest, text.index(marked[0]))
    where = Span(span.source, start, start + (found.end() if found else 1))
    raise CompileError(f"expected {wanted} but found '{_kind(found)}' here", where)


def _kind(token: re.Match[str] | None) -> str:
    """What TorchScript calls a token."""
    if token is None:
        return "eof"
    kind = str(token.lastgroup)
    return token[0] if kind == "other" or keyword.iskeyword(token[0]) else kind


def _refuse_misspelt(lines: list[str], span: Span) -> None:
    for number, line in enumerate(lines):
        if _MARK not in line and _MISSPELT.search(line):
            raise CompileError(
                f"The annotation prefix in line {number} is probably invalid.\nIt must be "
                f"'{_MARK}'\n{_PEP}\nfor examples",
                span,
            )


def _arguments(listed: str, before: list[str], span: Span) -> Iterator[ast.expr]:
    node = _parsed(listed, span)
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        for comment in before:
            yield _parsed(comment, span)
    elif isinstance(node, ast.Tuple):
        yield from node.elts
    else:
        yield node


def _parsed(comment: str, span: Span) -> ast.expr:
    try:
        return ast.parse(comment.split("#")[0].strip(), mode="eval").body
    except SyntaxError as error:
        raise CompileError(f"Syntax error in type annotation '{comment}'", span) from error
