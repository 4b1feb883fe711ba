"""PTX text to tokens, each with its line."""

from __future__ import annotations

import re

from tensorscript.base.records import dataclass

from .errors import PtxSyntaxError

_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<string>"[^"]*")
      | (?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
                  |\d+\.\d+(?:[eE][+-]?\d+)?|\d+U?)
      | (?P<name>[%.$A-Za-z_](?:[\w$.]|::)*)
      | (?P<mark>[\[\]{}()<>,;:@!|+\-=])""",
    re.VERBOSE | re.DOTALL,
)
# Debug directives end at the line's end, not at a semicolon.
_DEBUG_LINE = re.compile(r"^[ \t]*\.(?:loc|file)\b[^\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Token:
    """One word of PTX; `start` and `end` are offsets into the text."""

    kind: str
    text: str
    line: int
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Split PTX text, dropping comments and debug lines.

    Raises:
        PtxSyntaxError: a character that cannot begin any token.
    """
    text = _DEBUG_LINE.sub(lambda match: " " * len(match.group()), text)
    tokens: list[Token] = []
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise PtxSyntaxError(f"PTX line {line}: cannot read {text[position : position + 20]!r}")
        kind = match.lastgroup or "skip"
        if kind != "skip":
            tokens.append(Token(kind, match.group(), line, match.start(), match.end()))
        line += match.group().count("\n")
        position = match.end()
    return tokens
