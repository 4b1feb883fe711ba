"""Scalar expressions of `te`: immutable, hash-consed nodes (one object per distinct expression).

Equality is identity, so sharing is free, and substitution and analysis are memoised per node. The
node kinds:

| op | args | value | meaning |
|---|---|---|---|
| const | - | Python number | a literal of `dtype` |
| var | - | name | loop variable (i64), scalar parameter, `te.let` or `te.var` |
| load | indices (i64) | buffer name | element of a buffer |
| add sub mul div min max pow | 2 | - | arithmetic; `div` is float division; min/max propagate NaN |
| floordiv mod | 2 | - | floor division and its remainder (ints and floats) |
| truncdiv truncmod | 2 | - | C division and remainder (ints); `truncmod` on floats is fmod |
| and or xor shl shr | 2 | - | bitwise; on bools logical |
| lt le eq ne gt ge | 2 | - | bool |
| not neg | 1 | - | bitwise/logical complement, negation |
| select | 3 | - | args[1] if args[0] else args[2]; only the side taken is evaluated |
| cast | 1 | - | conversion to `dtype` (float to int truncates) |
| bitcast | 1 | - | the bits of the operand read as `dtype`, of the same size |
| call | any | function name | math function, see `MATH_FUNCTIONS` |

Both operands of a binary op have one dtype; nothing converts implicitly. Index arithmetic is i64.
The text form (`text`; `expr_parse` reads it) is a Python expression:
`x.f32[i, j] * (2.0).f32 + f32(n.f64)`; integer literals and bare names are i64.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from tensorscript.base.dtypes import DType, bool_, int64
from tensorscript.base.errors import NotKnown
from tensorscript.base.rounding import rounded

from .expr_text import text
from .vocabulary import COMPARISONS, MATH_FUNCTIONS

Number = bool | int | float
_PREDICATES = frozenset({"isnan", "isinf", "isfinite", "signbit"})


class Expr:
    """One node; make them with the functions of this module, never directly."""

    __slots__ = ("__weakref__", "_free", "_hash", "args", "dtype", "op", "value")

    op: str
    args: tuple[Expr, ...]
    value: object
    dtype: DType
    _hash: int
    _free: frozenset[str] | None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Whether it is this very expression, or the constant that a number is (equal expressions
        are one: `binary("eq", ..)` asks whether values are).

        Raises:
            NotKnown: beside a number, of which the running program knows whether it is equal.
        """
        if self is other:
            return True
        if type(other) not in (int, float, bool):
            return False
        if self.op != "const":
            raise NotKnown("a number that is not known")
        return self.value == other

    def __repr__(self) -> str:
        return text(self)

    def __str__(self) -> str:
        return text(self)

    def __bool__(self) -> bool:
        """The truth of a constant.

        Raises:
            NotKnown: the value is not known; Python would take it for true.
        """
        if self.op != "const":
            raise NotKnown("a value that is not known")
        return bool(self.value)

    def __index__(self) -> int:
        """The number that a constant is.

        Raises:
            NotKnown: the value is not known.
        """
        if self.op != "const":
            raise NotKnown("a number that is not known")
        return int(str(self.value))

    def __abs__(self) -> NoReturn:
        """Not known while compiling, as the truth is not; `call("abs", e)` is the expression."""
        raise NotKnown("a number that is not known")

    __float__ = __round__ = __floor__ = __ceil__ = __trunc__ = __abs__

    def __add__(self, other: ExprLike) -> Expr:
        return add(self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return add(other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return sub(self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return sub(other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return mul(self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return mul(other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("div", self, other)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("mod", self, other)

    def __neg__(self) -> Expr:
        return unary("neg", self)

    def __lt__(self, other: ExprLike) -> Expr:
        return binary("lt", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary("le", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary("gt", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary("ge", self, other)

    def equals(self, other: ExprLike) -> Expr:
        """The comparison node `self == other` (the operator `==` itself is identity)."""
        return binary("eq", self, other)

    @property
    def is_const(self) -> bool:
        return self.op == "const"

    @property
    def free(self) -> frozenset[str]:
        """Names of the variables the expression reads (buffers not included)."""
        if self._free is None:
            self._collect_free()
            assert self._free is not None  # just found
        return self._free

    def _collect_free(self) -> None:
        """Operands first; chains may be deeper than Python's stack."""
        pending = [self]
        while pending:
            current = pending[-1]
            if unknown := [a for a in current.args if a._free is None]:
                pending += unknown
                continue
            pending.pop()
            own = (str(current.value),) if current.op == "var" else ()
            found = (a._free for a in current.args if a._free)
            current._free = frozenset(own).union(*found)

    @property
    def is_costly(self) -> bool:
        """Whether it is a function of more than one instruction or two."""
        return self.op == "call" and self.value not in ("fma", "muladd")

    def is_int(self, value: int) -> bool:
        """True for the integer literal `value`."""
        return self.op == "const" and self.value == value and not self.dtype.is_floating_point


ExprLike = Expr | Number

_interned: dict[tuple[object, ...], Expr] = {}


def node(op: str, args: tuple[Expr, ...], value: object, dtype: DType) -> Expr:
    """The unique node with these parts (no checks, no folding)."""
    # 1, 1.0 and True are equal keys but different constants, -0.0 differs from 0.0.
    tag = (type(value), math.copysign(1.0, value)) if type(value) is float else type(value)
    key = (op, args, value, tag, dtype)
    if value != value:
        key = (op, args, "nan", tag, dtype)
    if (found := _interned.get(key)) is not None:
        return found
    made = Expr.__new__(Expr)
    made.op, made.args, made.value, made.dtype = op, args, value, dtype
    made._hash = hash(key)
    made._free = None
    _interned[key] = made
    return made


def const(value: Number, dtype: DType = int64) -> Expr:
    """A literal; the Python value is converted to the dtype's category."""
    if dtype is bool_:
        value = bool(value)
    elif dtype.is_floating_point:
        value = float(value)
    else:
        value = int(value)
    return node("const", (), value, dtype)


def held(literal: Expr) -> Number:
    """The number that a literal's dtype holds: literals keep the digits they are written with."""
    value: Number = literal.value  # type: ignore[assignment]  # a literal holds a number
    return rounded(value, literal.dtype) if literal.dtype.is_floating_point else value


def var(name: str, dtype: DType = int64) -> Expr:
    return node("var", (), name, dtype)


def load(buffer: str, indices: Iterable[ExprLike], dtype: DType) -> Expr:
    return node("load", tuple(as_expr(i) for i in indices), buffer, dtype)


def as_expr(value: ExprLike, dtype: DType = int64) -> Expr:
    """`value` itself, or the literal of `dtype` for a Python number."""
    return value if isinstance(value, Expr) else const(value, dtype)


def known_as(value: object, number: float) -> bool:
    """Whether `value` is known to be `number`: what only the running program knows is not."""
    if isinstance(value, Expr):
        return value.op == "const" and value.value == number
    return value == number


def _pair(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    if isinstance(a, Expr):
        return a, as_expr(b, a.dtype)
    if isinstance(b, Expr):
        return as_expr(a, b.dtype), b
    return as_expr(a), as_expr(b)


def _truncated_quotient(x: int, y: int) -> int:
    return x // y if (x < 0) == (y < 0) else -(-x // y)


_DIVISIONS = ("floordiv", "mod", "truncdiv", "truncmod")
_FOLD: dict[str, Callable[[int, int], int | bool]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "min": min, "max": max,
    "floordiv": operator.floordiv, "mod": operator.mod, "lt": operator.lt, "le": operator.le,
    "eq": operator.eq, "ne": operator.ne, "gt": operator.gt, "ge": operator.ge,
    "truncdiv": _truncated_quotient, "truncmod": lambda x, y: x - y * _truncated_quotient(x, y),
}  # fmt: skip


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """A binary node of two operands of one dtype; literal i64 operands fold at once, and so do
    conditions of which a literal decides.

    Raises:
        TypeError: the operands' dtypes differ.
    """
    left, right = _pair(a, b)
    if left.dtype is not right.dtype:
        raise TypeError(f"{op} of {left.dtype} and {right.dtype}: {left} and {right}")
    dtype = bool_ if op in COMPARISONS else left.dtype
    if left.op == "const" and right.op == "const" and left.dtype is int64 and op in _FOLD:
        x, y = left.value, right.value
        if y != 0 or op not in _DIVISIONS:
            folded = _FOLD[op](x, y)  # type: ignore[arg-type]  # i64 literals hold ints
            if -(2**63) <= folded < 2**63:
                return const(folded, dtype)
    if dtype is bool_ and op in ("and", "or"):
        for literal, other in ((left, right), (right, left)):
            if literal.op == "const":
                return other if literal.value == (op == "and") else literal
    return node(op, (left, right), None, dtype)


def add(a: ExprLike, b: ExprLike) -> Expr:
    """a + b; integer zeros and constants are folded."""
    left, right = _pair(a, b)
    if left.is_int(0):
        return right
    return left if right.is_int(0) else binary("add", left, right)


def sub(a: ExprLike, b: ExprLike) -> Expr:
    left, right = _pair(a, b)
    return left if right.is_int(0) else binary("sub", left, right)


def mul(a: ExprLike, b: ExprLike) -> Expr:
    """a * b; ones, integer zeros and constants are folded."""
    left, right = _pair(a, b)
    if left.is_int(1) or right.is_int(0):
        return right
    if right.is_int(1) or left.is_int(0):
        return left
    return binary("mul", left, right)


def unary(op: str, a: Expr) -> Expr:
    """`not` or `neg`."""
    if op == "neg" and a.op == "const" and a.dtype is int64:
        return const(-a.value)  # type: ignore[operator]  # an i64 literal holds an int
    if op == "not" and a.op == "const" and a.dtype is bool_:
        return const(not a.value, bool_)
    return node(op, (a,), None, a.dtype)


def select(condition: Expr, yes: ExprLike, no: ExprLike) -> Expr:
    """`yes` where the condition holds, else `no`; folded where the condition is known."""
    left, right = _pair(yes, no)
    if condition.op == "const":
        return left if condition.value else right
    if left.dtype is not right.dtype:
        raise TypeError(f"select of {left.dtype} and {right.dtype}")
    return left if left is right else node("select", (condition, left, right), None, left.dtype)


def cast(a: Expr, dtype: DType) -> Expr:
    """`a` converted to `dtype`; `a` itself where nothing changes."""
    if a.dtype is dtype:
        return a
    if a.op == "const" and not (a.dtype.is_floating_point and not dtype.is_floating_point):
        return const(held(a), dtype)
    return node("cast", (a,), None, dtype)


def bitcast(a: Expr, dtype: DType) -> Expr:
    """The bits of `a` read as a number of another dtype.

    Raises:
        TypeError: the dtypes are not of one size, or one is bool.
    """
    if a.dtype is dtype:
        return a
    if a.dtype.bits != dtype.bits or bool_ in (a.dtype, dtype):
        raise TypeError(f"the bits of {a.dtype} as {dtype}")
    return (
        a.args[0]
        if a.op == "bitcast" and a.args[0].dtype is dtype
        else node("bitcast", (a,), None, dtype)
    )


def call(function: str, *args: Expr) -> Expr:
    """A math function of `MATH_FUNCTIONS`.

    Raises:
        ValueError: unknown function.
    """
    if function not in MATH_FUNCTIONS:
        raise ValueError(f"unknown math function {function!r}")
    dtype = bool_ if function in _PREDICATES else args[0].dtype
    return node("call", args, function, dtype)


def all_of(conditions: Iterable[Expr]) -> Expr:
    """The conjunction of bool expressions (true if there is none)."""
    out: Expr | None = None
    for c in conditions:
        if c.op == "const" and c.value:
            continue
        out = c if out is None else binary("and", out, c)
    return out if out is not None else const(True, bool_)


def one_of(cases: Sequence[Expr], number: Expr) -> Expr:
    """The case that has this number, the last one for what is greater."""
    *others, out = cases
    for k, case in reversed(list(enumerate(others))):
        out = select(number.equals(k), case, out)
    return out


def conjuncts(condition: Expr) -> list[Expr]:
    """The parts that all have to hold for a condition to hold; what `all_of` puts together."""
    if condition.op != "and":
        return [condition]
    return [part for side in condition.args for part in conjuncts(side)]
