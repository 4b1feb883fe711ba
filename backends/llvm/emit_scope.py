"""What the names of a te.func stand for during emission, and what is known about index expressions.

Facts are syntactic and cheap: an index is non-negative, a multiple of a number, below a bound; and
in a vector loop it is affine in the lane. They choose instructions (unsigned division, contiguous
loads) and prove that a guarded load may run unguarded; not knowing is always safe.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from tensorscript.base.dtypes import DType, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, add, binary, const, mul, sub, var
from tensorscript.dialects.te.rewriting import loads

from .emit_types import Value

_ANY = 1 << 20
"""The multiple that 0 counts as."""


@dataclass(frozen=True)
class Bound:
    """A name with one value. `upper`: greatest value; `extent`: bound expression (exclusive)."""

    value: Value
    dtype: DType
    nonneg: bool = False
    multiple: int = 1
    upper: int | None = None
    extent: Expr | None = None


@dataclass(frozen=True)
class Slot:
    """A te.var: an entry-block alloca of one scalar or of a vector with a value per lane."""

    pointer: str
    dtype: DType
    lanes: int


@dataclass(frozen=True)
class Place:
    """Where a buffer lives: `space` is the LLVM address space, `align` in bytes.

    A buffer allocated inside a vector loop is `per_lane`: each element is there once a lane. A
    buffer of scope reg is `in_registers`: it must only see plain loads and stores, or LLVM cannot
    keep it there. `again` is the instruction that makes the pointer, if that costs nothing. What is
    written to data `of_list` is no list's length, nor where its data is. What is `streamed` is
    written past the caches.
    """

    buffer: Buffer
    pointer: str
    align: int
    space: int = 0
    per_lane: bool = False
    in_registers: bool = False
    again: str = ""
    of_list: bool = False
    streamed: bool = False

    @property
    def pointer_type(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"


@dataclass
class Lane:
    """The vector loop being emitted: the name of its lane number (0 .. width) and its width.

    `varying` are the scalars and `private` the buffers that have a value per lane.
    """

    name: str
    width: int
    varying: set[str]
    private: set[str] = field(default_factory=set)
    affine: dict[Expr, tuple[Expr, Expr] | None] = field(default_factory=dict)

    def varies(self, e: Expr) -> bool:
        if not e.free.isdisjoint(self.varying):
            return True
        return bool(self.private) and any(str(n.value) in self.private for n in loads(e))


@dataclass
class Scope:
    """Names in force. te names are unique in a function, so entries are simply overwritten.

    `joined` are conditions of several comparisons of data, all of which are there; `read` are
    values that something in memory tells.
    """

    values: dict[str, Bound | Slot] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    replaced: dict[str, Expr] = field(default_factory=dict)
    joined: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)

    def bound(self, name: object) -> Bound | None:
        found = self.values.get(str(name))
        return found if isinstance(found, Bound) else None


# Factors from this size on are not taken for index arithmetic: their products may wrap around.
_INDEX_LIMIT = 1 << 32


def nonneg(e: Expr, scope: Scope) -> bool:
    """True if the integer `e` is known not to be negative (index arithmetic does not overflow)."""
    match e.op:
        case "const":
            return isinstance(e.value, int) and 0 <= e.value < _INDEX_LIMIT
        case "var":
            found = scope.bound(e.value)
            return found is not None and found.nonneg
        case "add" | "mul" | "floordiv" | "mod" | "truncdiv" | "truncmod" | "min" | "shr":
            return e.dtype is int64 and all(nonneg(a, scope) for a in e.args)
        case "max":
            return any(nonneg(a, scope) for a in e.args)
    return False


def is_index(e: Expr, scope: Scope) -> bool:
    """True for sums and products of non-negative names: arithmetic that may be marked nsw."""
    if e.op == "sub":
        return nonneg(e.args[0], scope) and nonneg(e.args[1], scope)
    return nonneg(e, scope)


def is_bounded(e: Expr, scope: Scope) -> bool:
    """True for sums and differences of indices and small literals: they are far from overflow."""
    if e.op == "const":
        return abs(int(str(e.value))) < _INDEX_LIMIT
    if e.op in ("add", "sub"):
        return all(is_bounded(a, scope) for a in e.args)
    return nonneg(e, scope)


def multiple(e: Expr, scope: Scope) -> int:
    """A number that divides `e`."""
    match e.op:
        case "const":
            return abs(int(str(e.value))) or _ANY
        case "var":
            found = scope.bound(e.value)
            return found.multiple if found else 1
        case "mul":
            return multiple(e.args[0], scope) * multiple(e.args[1], scope)
        case "add" | "sub" | "min" | "max" | "mod":
            return math.gcd(multiple(e.args[0], scope), multiple(e.args[1], scope))
    return 1


def upper(e: Expr, scope: Scope) -> int | None:
    """The greatest value of the non-negative `e`, if a number is known."""
    if e.op == "const":
        return int(str(e.value))
    if e.op == "var":
        found = scope.bound(e.value)
        return found.upper if found else None
    if e.op not in ("add", "mul", "floordiv", "mod", "min") or not nonneg(e, scope):
        return None
    left, right = (upper(a, scope) for a in e.args)
    if e.op == "min":
        return left if right is None else right if left is None else min(left, right)
    if e.op == "mod":
        return None if right is None else right - 1
    if e.op == "floordiv":
        divisor = e.args[1].value if e.args[1].is_const else 1
        return None if left is None else left // max(1, int(str(divisor)))
    if left is None or right is None:
        return None
    return left + right if e.op == "add" else left * right


def below(e: Expr, size: Expr, scope: Scope) -> bool:
    """True if the index `e` is known to lie in [0, size)."""
    if e.op == "const" and size.op == "const":
        return 0 <= int(str(e.value)) < int(str(size.value))
    if not nonneg(e, scope):
        return False
    if size.op == "const" and (most := upper(e, scope)) is not None:
        return most < int(str(size.value))
    if e.op == "var" and (found := scope.bound(e.value)):
        return found.extent is size
    return e.op == "add" and _below_blocked(e, size, scope)


def _below_blocked(e: Expr, size: Expr, scope: Scope) -> bool:
    """`i * c + j` with `i < size // c` and `j < c`."""
    outer, inner = e.args
    if outer.op != "mul" or not outer.args[1].is_const or outer.args[0].op != "var":
        return False
    block = int(str(outer.args[1].value))
    found = scope.bound(outer.args[0].value)
    most = upper(inner, scope)
    if found is None or found.extent is None or most is None or most >= block:
        return False
    return found.extent is binary("floordiv", size, const(block))


def affine(e: Expr, lane: Lane, scope: Scope) -> tuple[Expr, Expr] | None:
    """(base, step), both free of the lane, with `e == base + step * lane`; None if not so."""
    if not lane.varies(e):
        return e, const(0)
    if e not in lane.affine:
        lane.affine[e] = _affine(e, lane, scope)
    return lane.affine[e]


def _affine(e: Expr, lane: Lane, scope: Scope) -> tuple[Expr, Expr] | None:
    if e.dtype is not int64:
        return None
    if e.op == "var":
        return (const(0), const(1)) if e.value == lane.name else None
    if e.op not in ("add", "sub", "mul", "floordiv", "mod"):
        return None
    left, right = (affine(a, lane, scope) for a in e.args)
    if left is None or right is None:
        return None
    match e.op:
        case "add":
            return add(left[0], right[0]), add(left[1], right[1])
        case "sub":
            return sub(left[0], right[0]), sub(left[1], right[1])
        case "mul" if right[1].is_int(0):
            return mul(left[0], right[0]), mul(left[1], right[0])
        case "mul" if left[1].is_int(0):
            return mul(left[0], right[0]), mul(left[0], right[1])
        case "floordiv" | "mod" if left[1].is_int(1) and right[1].is_int(0):
            return _affine_division(e.op, left[0], right[0], lane, scope)
    return None


def _affine_division(
    op: str, base: Expr, divisor: Expr, lane: Lane, scope: Scope
) -> tuple[Expr, Expr] | None:
    """A block of lanes that starts at a multiple of the width never crosses a multiple of it."""
    width = lane.width
    if multiple(base, scope) % width or multiple(divisor, scope) % width:
        return None
    return binary(op, base, divisor), const(0 if op == "floordiv" else 1)


def flat_index(buffer: Buffer, indices: tuple[Expr, ...], is_flat: bool) -> Expr:
    """The element offset of an access; in flat functions the one index is it already."""
    if is_flat and len(indices) == 1:
        return indices[0]
    if len(indices) != len(buffer.shape):
        return indices[0] if len(indices) == 1 else const(0)
    total = const(0)
    for index, stride in _rejoined(indices, buffer.effective_strides):
        total = add(total, mul(index, stride))
    return total


def _rejoined(indices: tuple[Expr, ...], strides: tuple[Expr, ...]) -> list[tuple[Expr, Expr]]:
    """The indices with their strides, where `x // n` and `x % n` of dimensions that lie in one
    another are x again: a view of other sizes reads what was made of one index."""
    found: list[tuple[Expr, Expr]] = []
    for high, stride in reversed(list(zip(indices, strides, strict=True))):
        joined = None
        if found and (low := found[-1][0]).op == "mod" and low.args[1].is_const:
            x, n = low.args
            if mul(found[-1][1], n) is stride:
                joined = _joined(high, x, n)
        if joined is not None:
            found[-1] = (joined, found[-1][1])
        elif not high.is_int(0):
            found.append((high, stride))
    return found[::-1]


def _joined(high: Expr, x: Expr, n: Expr) -> Expr | None:
    """`high * n + x % n` as one term."""
    quotient = binary("floordiv", x, n)
    if high is quotient:
        return x
    if high.op == "mod" and high.args[0] is quotient and high.args[1].is_const:
        return binary("mod", x, mul(high.args[1], n))
    return None


def element_count(buffer: Buffer) -> Expr:
    """Elements from the first to the last one that the buffer's indices reach."""
    if buffer.strides is None:
        total = const(1)
        for size in buffer.shape:
            total = mul(total, size)
        return total
    total = const(1)
    for size, stride in zip(buffer.shape, buffer.strides, strict=True):
        total = add(total, mul(sub(size, const(1)), stride))
    return total


def sizes_of(buffers: Mapping[str, Buffer] | list[Buffer]) -> set[str]:
    """Scalar names that are sizes: they appear in a buffer's shape, so they are not negative."""
    items = buffers.values() if isinstance(buffers, Mapping) else buffers
    return {n for b in items for size in b.shape if size is var(str(size.value)) for n in size.free}
