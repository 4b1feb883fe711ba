"""The words of graph text: values `%x.1`, kinds `aten::add`, numbers, strings, punctuation."""

from __future__ import annotations

import re

from tensorscript.base.errors import CompileError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Source, Span

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:inf|nan)\b"
_TOKEN = re.compile(
    rf"""(?P<blank>\s+|\#[^\n]*)
    |(?P<string>"(?:\\.|[^"\\])*")
    |(?P<value>%[\w.\-]+)
    |(?P<mark>->|<Tensor>)
    |(?P<complex>(?:{_NUMBER})(?=[-+])(?:{_NUMBER})j)
    |(?P<number>{_NUMBER})
    |(?P<scope>,\s*scope:[^\n\#]*)
    |(?P<word>[A-Za-z_]\w*(?:(?:::|\.)\w+)*|\^[\w.]+)
    |(?P<punctuation>[()\[\]{{}},:=<>?*])""",
    re.VERBOSE,
)

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "b": "\b"}


@dataclass(frozen=True)
class Token:
    """A word of the text: what kind it is of, and where it stands."""

    kind: str
    text: str
    start: int


class Tokens:
    """The words of a text in order; comments and blanks are left out.

    Raises:
        CompileError: something in the text is no word of graphs.
    """

    def __init__(self, text: str) -> None:
        self._source = Source(text)
        self._found: list[Token] = []
        self._at = 0
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._error(f"unexpected '{text[place]}'", place, 1)
            kind = match.lastgroup
            assert kind is not None
            if kind != "blank":
                self._found.append(Token(kind, match[0], place))
            place = match.end()
        self._found.append(Token("end", "end of file", len(text)))

    def peek(self, ahead: int = 0) -> Token:
        return self._found[min(self._at + ahead, len(self._found) - 1)]

    def take(self, kind: str = "") -> Token:
        """The next word.

        Raises:
            CompileError: it is not of this kind.
        """
        token = self.peek()
        if kind and token.kind != kind:
            raise self.error(f"expected {kind} but found '{token.text}' here", token)
        self._at += 1
        return token

    def accept(self, text: str) -> bool:
        """Go on if the next word is this one."""
        if self.peek().text != text or self.peek().kind == "string":
            return False
        self._at += 1
        return True

    def expect(self, text: str) -> None:
        """Go past a word.

        Raises:
            CompileError: it is another one.
        """
        if not self.accept(text):
            token = self.peek()
            raise self.error(f"expected {text} but found '{token.text}' here", token)

    def error(self, message: str, token: Token) -> CompileError:
        """What is wrong at a word."""
        return self._error(message, token.start, len(token.text))

    def _error(self, message: str, start: int, length: int) -> CompileError:
        end = min(start + length, len(self._source.text))
        return CompileError(message, Span(self._source, min(start, end), end))


def string_of(token: str) -> str:
    """The string that a word in quotes spells."""
    return _ESCAPE.sub(_character, token[1:-1])


_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)


def _character(escape: re.Match[str]) -> str:
    """What `\\n` or `\\177` stands for."""
    spelled = escape[1]
    return chr(int(spelled, 8)) if len(spelled) == 3 else _ESCAPES.get(spelled, spelled)


_PARTS = re.compile(rf"({_NUMBER})({_NUMBER})j")


def complex_of(text: str) -> complex:
    """The number that a text such as `1.5-2.j` spells."""
    parts = _PARTS.fullmatch(text)
    assert parts is not None, text
    return complex(float(parts[1]), float(parts[2]))


def number_of(token: str) -> int | float:
    """The number that a word spells."""
    return int(token) if token.lstrip("+-").isdigit() else float(token)
