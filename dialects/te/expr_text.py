"""Expressions of `te` as text: Python-like terms, which `expr_parse` reads."""

from __future__ import annotations

import math
from typing import Protocol

from tensorscript.base.dtypes import DType, bool_, int64

from .vocabulary import ARITHMETIC, COMPARISONS


class Term(Protocol):
    """What is printed of a node: an `Expr`, which prints itself."""

    @property
    def op(self) -> str: ...
    @property
    def args(self) -> tuple[Term, ...]: ...
    @property
    def value(self) -> object: ...
    @property
    def dtype(self) -> DType: ...


_PRECEDENCE = {
    "|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6,
}  # fmt: skip
_TIGHT = 9
BITS = "bits_"
"""What stands before a dtype in the text of a bitcast."""


def _const_text(e: Term) -> str:
    if e.dtype is bool_:
        return str(e.value)
    if e.dtype is int64:
        return str(e.value)
    value = e.value
    if isinstance(value, float) and not math.isfinite(value):
        body = "nan" if value != value else "inf" if value > 0 else "(-inf)"
        return f"{body}.{e.dtype.short}"
    return f"({value!r}).{e.dtype.short}"


def _text(e: Term, outer: int) -> str:
    match e.op:
        case "const":
            plain = _const_text(e)
            return f"({plain})" if plain.startswith("-") and outer else plain
        case "var":
            return str(e.value) if e.dtype is int64 else f"{e.value}.{e.dtype.short}"
        case "load":
            inside = ", ".join(_text(a, 0) for a in e.args) or "()"
            return f"{e.value}.{e.dtype.short}[{inside}]"
        case "cast":
            return f"{e.dtype.short}({_text(e.args[0], 0)})"
        case "bitcast":
            return f"{BITS}{e.dtype.short}({_text(e.args[0], 0)})"
        case "call":
            return f"{e.value}({', '.join(_text(a, 0) for a in e.args)})"
        case "not" | "neg":
            return ("~" if e.op == "not" else "-") + _text(e.args[0], _TIGHT)
    if sign := ARITHMETIC.get(e.op):
        level = _PRECEDENCE[sign]
        plain = f"{_text(e.args[0], level)} {sign} {_text(e.args[1], level + 1)}"
        return f"({plain})" if level < outer else plain
    if sign := COMPARISONS.get(e.op):
        plain = f"{_text(e.args[0], 1)} {sign} {_text(e.args[1], 1)}"
        return f"({plain})" if outer else plain
    return f"{e.op}({', '.join(_text(a, 0) for a in e.args)})"


def text(e: Term) -> str:
    """The expression as a Python-like term; shared parts are written out each time."""
    return _text(e, 0)
