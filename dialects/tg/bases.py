"""Bases of the dialect's ops."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, Self

from xdsl.irdl import IRDLOperation

from . import late_formats

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer


class TGOp(IRDLOperation):
    """Base of the dialect's ops."""


class FormattedOp(TGOp):
    """Base of ops with a `FORMAT`, in the language of xDSL's `assembly_format`. It is read when an
    op is first printed or parsed."""

    FORMAT: ClassVar[str]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _program(cls).parse(parser, cls)

    def print(self, printer: Printer) -> None:
        _program(type(self)).print(printer, self)


@cache
def _program(op: type[FormattedOp]) -> FormatProgram:
    return late_formats.FormatProgram.from_str(op.FORMAT, op.get_irdl_definition())
