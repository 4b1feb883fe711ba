"""What is wrong with a text that does not parse, in the words of TorchScript's own parser.

Python's parser has refused the text; here its tokens are read once more, to where an operand, an
operator, a colon or a bracket is missing.
"""

from __future__ import annotations

import re
from dataclasses import field
from keyword import iskeyword

from tensorscript.base.errors import TextError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Source, Span

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\f]+|\\\n|\#[^\n]*)
    |(?P<newline>\n)
    |(?P<string_literal>'{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")
    |(?P<number>(?:\d[\d.]*|\.\d+)(?:[eE][+-]?\d+)?j?)
    |(?P<ident>[^\W\d]\w*|\.\.\.)
    |(?P<op>->|\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^@=!<>]=|.)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_HEADS = frozenset(("def", "class", "if", "elif", "else", "for", "while", "with"))
"""Words that open a statement whose first line ends in a colon."""
_ENDS = frozenset(("else", "pass", "break", "continue", "return", "raise"))
"""Words behind which nothing has to follow."""
_OF_STATEMENTS = (_HEADS | _ENDS) - {"if", "else", "for"}
_CONSTANTS = frozenset(("None", "True", "False"))

_SAID_OF = (
    ("augmented assignment", "augmented assignment can only have one LHS expression"),
    ("cannot assign to", "unexpected expression on left-hand side of assignment"),
)
"""What Python says, and what TorchScript says of the same."""


@dataclass
class _Reader:
    """Where the next token stands: `before` is "start", "operand" or "operator"."""

    before: str = "start"
    open: list[str] = field(default_factory=list)
    needs_colon: bool = False

    def missing(self, kind: str, text: str) -> str:
        """What is expected instead of a token; empty if it may stand here."""
        if kind == "newline":
            return "" if self.open else self._line_ends()
        if kind == "op":
            return self._operator(text)
        if kind == "ident" and iskeyword(text) and text not in _CONSTANTS:
            if self.open and text in _OF_STATEMENTS:
                return self._end if self.before == "operand" else "ident"
            self.needs_colon |= self.before == "start" and not self.open and text in _HEADS
            self.before = "start" if text in _ENDS else "operator"
            return ""
        if self.before == "operand":
            return self._end
        self.before = "operand"
        return ""

    @property
    def _end(self) -> str:
        return self.open[-1] if self.open else "newline"

    def _line_ends(self) -> str:
        if self.before == "operator":
            return "ident"
        self.before = "start"
        return ":" if self.needs_colon else ""

    def _operator(self, text: str) -> str:
        if text in "'\"":
            return "a valid token"
        if text in "?!$`":
            return self._end
        if text in _CLOSERS:
            self.open.append(_CLOSERS[text])
            self.before = "start"
        elif text in ")]}":
            if text != self._end:
                return self._end
            self.open.pop()
            self.before = "operand"
        elif text in ",:;":
            self.needs_colon &= text != ":" or bool(self.open)
            self.before = "start"
        else:
            self.before = "operator"
        return ""


def text_error(source: Source, refusal: SyntaxError) -> TextError:
    """The error of a text that Python's parser refuses."""
    reader, last = _Reader(), ""
    for token in _TOKEN.finditer(source.text):
        kind, text = token.lastgroup or "", token.group()
        joined = kind == last == "string_literal"
        if kind == "blank" or joined:
            continue
        last = kind
        if wanted := reader.missing(kind, text):
            found = _shown(kind, text) if wanted != ":" else "indent"
            return TextError(
                f"expected {wanted} but found '{found}' here", Span(source, *token.span())
            )
    if reader.open:
        end = Span(source, max(0, len(source.text) - 1), len(source.text))
        return TextError(f"expected {reader.open[-1]} but found 'eof' here", end)
    message = refusal.msg or "invalid syntax"
    said = next((ours for python, ours in _SAID_OF if python in message), message)
    return TextError(said, _place(source, refusal))


def _shown(kind: str, text: str) -> str:
    if kind == "op" or (kind == "ident" and iskeyword(text)):
        return text
    return kind


def _place(source: Source, refusal: SyntaxError) -> Span:
    """What Python's parser points at."""
    line = min(max(0, (refusal.lineno or 1) - 1), len(source.lines) - 1)
    first = max(1, refusal.offset or 1)
    ends_there = refusal.end_lineno == refusal.lineno
    end = max(first + 1, refusal.end_offset or 0) if ends_there else first + 1
    start = source.offset(line, first - 1)
    return Span(source, start, start + end - first)
