"""Source locations on ops: MLIR's file:line:column that remembers its span.

The text form is the standard `loc("file":line:column)`, so a parsed module keeps file and line but
loses the span's text; a program built by a frontend has both.
"""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Operation

from tensorscript.base.source import Span


def location(span: Span) -> FileLineColLoc:
    """The location of `span`; `span_of` gets the span back."""
    loc = FileLineColLoc(StringAttr(span.source.filename), IntAttr(span.line), IntAttr(span.column))
    # Attributes are frozen and compared by their parameters; the span rides along unseen.
    object.__setattr__(loc, "span", span)
    return loc


def span_of(op: Operation) -> Span | None:
    """The span an op was made from, if a frontend of this process made it."""
    return getattr(op.location, "span", None)


def place_of(op: Operation) -> tuple[str, int] | None:
    """The file and line that an op was made from, if it says so."""
    place = op.location
    if not isinstance(place, FileLineColLoc):
        return None
    return place.filename.data, int(place.line.data)


_SCOPE = "scope"


def put_in_scope(op: Operation, scope: str) -> None:
    """Note in which submodule calls a traced op ran: `__module.seq/__module.seq.0`."""
    op.attributes[_SCOPE] = StringAttr(scope)


def scope_of(op: Operation) -> str:
    """The submodule calls that a traced op ran in, outermost first; "" outside of any."""
    found = op.attributes.get(_SCOPE)
    return found.data if isinstance(found, StringAttr) else ""
