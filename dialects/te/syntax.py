"""The one-line text form that all te ops share.

An op prints `te.name HEAD`, then its regions in braces. HEAD is free text on one line (expressions
are not MLIR syntax), so it is read raw: up to ` {` at the end of the line for an op with regions,
else to the end of the line, a trailing ` loc(...)` left to the parser.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import ClassVar, Self

from xdsl.ir import Block
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer


def _raw_head(parser: Parser, opens_region: bool) -> str:
    content = parser.lexer.input.content
    start = parser._current_token.span.start
    end = content.find("\n", start)
    end = len(content) if end < 0 else end
    if opens_region:
        end = content.rindex("{", start, end)
    elif (at := content.find(" loc(", start, end)) >= 0:
        end = at
    parser.lexer.pos = end
    parser._parser_state.current_token = parser.lexer.lex()
    return content[start:end].strip()


def match_head(pattern: str, head: str) -> re.Match[str]:
    """The match of a whole head.

    Raises:
        ValueError: it does not match.
    """
    if found := re.match(pattern + r"\Z", head, re.DOTALL):
        return found
    raise ValueError(f"malformed: {head}")


class HeadOp(IRDLOperation):
    """Base of ops printed as a head line and `REGIONS` regions (the second after `else`)."""

    REGIONS: ClassVar[int] = 0

    @abstractmethod
    def head(self) -> str:
        """The text after the op's name."""

    @classmethod
    @abstractmethod
    def from_head(cls, head: str) -> Self:
        """The op that `head` spells, with empty regions.

        Raises:
            ValueError: malformed text.
        """

    def print(self, printer: Printer) -> None:
        printer.print_string(" " + self.head())
        for number, region in enumerate(self.regions):
            if number and not region.block.ops:
                continue
            printer.print_string(" else " if number else " ")
            printer.print_region(region, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        head = _raw_head(parser, cls.REGIONS > 0)
        try:
            op = cls.from_head(head)
        except ValueError as error:
            parser.raise_error(f"{cls.name}: {error}", position)
        for number in range(cls.REGIONS):
            if number and not parser.parse_optional_keyword("else"):
                continue
            region = parser.parse_region()
            if not region.blocks:
                region.add_block(Block())
            target = op.regions[number].block
            source = region.block
            for child in list(source.ops):
                child.detach()
                target.add_op(child)
        return op
