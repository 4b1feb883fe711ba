"""The names in bodies of tg's computing ops: operands a0, a1, ..., places i0, i1, ... of a result,
r0, r1, ... of what is combined, d0, d1, ... of what is scattered."""

from __future__ import annotations

from collections.abc import Iterable

from tensorscript.dialects.te.expr import Expr

KINDS = "aird"


def is_numbered(name: str, kinds: str) -> bool:
    """Whether it is a name of one of the kinds."""
    return name[0] in kinds and name[1:].isdigit()


def numbered(names: Iterable[str], kinds: str) -> list[str]:
    """Those of one of the kinds."""
    return [name for name in names if is_numbered(name, kinds)]


def operand_number(name: str) -> int | None:
    """K of the operand name `aK`, None for another name."""
    return int(name[1:]) if is_numbered(name, "a") else None


def operand_of(n: Expr) -> int | None:
    """The number of the operand that a node reads or is, None for another node."""
    return operand_number(str(n.value)) if n.op in ("load", "var") else None
