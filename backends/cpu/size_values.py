"""Sizes as LLVM instructions: the i64 and b1 expressions over named sizes that stand in shapes.

Entries compute with them before a program runs: what to allocate, and what to compare a shape with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.expr_text import text
from tensorscript.dialects.te.vocabulary import COMPARISONS

Emit = Callable[[str], str]
"""Takes the text of an instruction and gives the name of its value."""

_PLAIN = {"add": "add", "sub": "sub", "mul": "mul", "shl": "shl", "shr": "ashr"}
_LOGIC = {"and": "and", "or": "or", "xor": "xor"}
_EXTREMES = {"min": "smin", "max": "smax"}
_RELATIONS = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}


def size_value(e: Expr, sizes: Mapping[str, str], emit: Emit) -> str:
    """The value of `e`, an i64 or an i1, over the names of the sizes read so far.

    Raises:
        ValueError: what is not in sizes, such as floats and elements of buffers.
    """
    if e.is_const:
        return text(e).lower()
    if e.op == "var":
        return sizes[str(e.value)]
    kind = "i64" if e.args[-1].dtype.is_integral else "i1"
    values = [size_value(a, sizes, emit) for a in e.args]
    if e.op in _PLAIN | _LOGIC:
        return emit(f"{(_PLAIN | _LOGIC)[e.op]} {kind} {values[0]}, {values[1]}")
    if e.op in _EXTREMES:
        return emit(f"call i64 @llvm.{_EXTREMES[e.op]}.i64(i64 {values[0]}, i64 {values[1]})")
    if e.op in COMPARISONS:
        return emit(f"icmp {_RELATIONS[e.op]} {kind} {values[0]}, {values[1]}")
    if e.op in ("floordiv", "mod"):
        return _divided(e.op, values[0], values[1], emit)
    match e.op:
        case "select":
            return emit(f"select i1 {values[0]}, {kind} {values[1]}, {kind} {values[2]}")
        case "neg":
            return emit(f"sub i64 0, {values[0]}")
        case "not":
            return emit(f"xor {kind} {values[0]}, -1")
        case "cast" if kind == "i1":
            return emit(f"zext i1 {values[0]} to i64")
    raise ValueError(f"not a size: {e}")


def _divided(op: str, x: str, n: str, emit: Emit) -> str:
    """Floor division and its remainder; where the divisor is 0, which no shape has, that by 1."""
    if not n.isdigit() or n == "0":
        n = emit(f"select i1 {emit(f'icmp eq i64 {n}, 0')}, i64 1, i64 {n}")
    rest = emit(f"srem i64 {x}, {n}")
    crossed = emit(f"icmp slt i64 {emit(f'xor i64 {rest}, {n}')}, 0")
    below = emit(f"and i1 {crossed}, {emit(f'icmp ne i64 {rest}, 0')}")
    if op == "mod":
        return emit(f"add i64 {rest}, {emit(f'select i1 {below}, i64 {n}, i64 0')}")
    quotient = emit(f"sdiv i64 {x}, {n}")
    return emit(f"sub i64 {quotient}, {emit(f'zext i1 {below} to i64')}")
