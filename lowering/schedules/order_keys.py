"""What a sort moves: integers in the order of the elements, or keys and indices beside each other.

```
values alone        f32 x              -> the bits of x, of negative numbers turned over: i32
values and places   f32 x at place e   -> those bits above e, and the sign of x below: i64
```
The lesser and the greater of two integers are one instruction each, where NaN, ties and indices
that move along take ten. -0 and 0 are equal and so are all NaN: where places break ties, their sign
is kept apart. What does not fit into 64 bits is compared as the kernel states it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tensorscript.base.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
)
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import (
    Expr,
    binary,
    bitcast,
    call,
    cast,
    const,
    select,
    unary,
    var,
)
from tensorscript.dialects.te.ordering import comes_before

from ..te.affine import known
from .order_line import Line

Parts = tuple[Expr, ...]
"""An element that is sorted: a value for each column."""
Let = Callable[[str, Expr], Expr]
"""Names a value."""


@dataclass(frozen=True)
class Column:
    """One array of what a sort moves."""

    name: str
    dtype: DType


class Elements(Protocol):
    """How the elements of a line are held while they are sorted."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    def packed(self, key: Expr, place: Expr) -> Parts:
        """The element with this key at a place of the line."""

    def key(self, parts: Parts) -> Expr: ...

    def place(self, parts: Parts) -> Expr: ...

    def last(self, place: Expr) -> Parts:
        """What no element comes after, for a place behind the line."""

    def precedes(self, a: Parts, b: Parts) -> Expr:
        """Whether `a`, which was behind `b` in the line, comes before it."""

    def exchanged(self, a: Parts, b: Parts, let: Let) -> tuple[Parts, Parts]:
        """The one that comes first, and the other."""


def elements_of(line: Line) -> Elements:
    """The fastest way to hold the elements of a line."""
    descending = direction_of(line)
    integers = None if descending is None else _integers_for(line)
    if descending is None or integers is None:
        size = known(line.size)
        index = int64 if size is None or size >= 2**31 else int32
        return Compared(line, index if line.needs_index else None)
    return Integers(line.dtype, integers, descending, line.needs_index)


def direction_of(line: Line) -> bool | None:
    """Whether a line descends in the order of values; None if it has another order."""
    a, b = var("a", line.dtype), var("b", line.dtype)
    for descending in (False, True):
        strict, weak = comes_before(a, b, descending)
        wanted = (strict, binary("or", strict, weak))
        if all(
            line.precedes(a, b, const(earlier, bool_)) is w
            for earlier, w in zip((False, True), wanted, strict=True)
        ):
            return descending
    return None


_SIGNED = {8: int8, 16: int16, 32: int32, 64: int64}


def _integers_for(line: Line) -> DType | None:
    """The integers that hold a line's elements; None if there are none."""
    if not line.needs_index:
        return _SIGNED[line.dtype.bits]
    size = known(line.size)
    if size is None:
        return None
    bits = line.dtype.bits + max(1, size - 1).bit_length() + line.dtype.is_floating_point
    return next((_SIGNED[w] for w in (32, 64) if bits <= w), None)


_MANTISSA = {float16: 10, bfloat16: 7, float32: 23, float64: 52}


@dataclass(frozen=True)
class Integers:
    """Each element is one integer, `dtype`; the order is that of integers."""

    source: DType
    dtype: DType
    descending: bool
    has_place: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        return (Column("key", self.dtype),)

    @property
    def _own(self) -> DType:
        """Integers as wide as a key."""
        return _SIGNED[self.source.bits]

    @property
    def _shift(self) -> Expr:
        """How far up the key lies in an integer."""
        return const(self.dtype.bits - self.source.bits, self.dtype)

    def packed(self, key: Expr, place: Expr) -> Parts:
        ordered = self.ordered(key)
        if not self.has_place:
            return (ordered,)
        below = cast(place, self.dtype)
        if self.source.is_floating_point:
            sign = cast(bitcast(key, self._own) < 0, self.dtype)
            below = binary("or", binary("shl", below, 1), sign)
        return (binary("or", binary("shl", cast(ordered, self.dtype), self._shift), below),)

    def key(self, parts: Parts) -> Expr:
        (value,) = parts
        ordered = cast(binary("shr", value, self._shift), self._own) if self.has_place else value
        if self.descending:
            ordered = unary("not", ordered)
        return self._restored(ordered, value)

    def place(self, parts: Parts) -> Expr:
        (value,) = parts
        low = (1 << int(self._shift)) - 1
        below = binary("and", value, const(low, self.dtype))
        if self.source.is_floating_point:
            below = binary("shr", below, const(1, self.dtype))
        return cast(below, int64)

    def last(self, place: Expr) -> Parts:
        return (const(2 ** (self.dtype.bits - 1) - 1, self.dtype),)

    def precedes(self, a: Parts, b: Parts) -> Expr:
        return a[0] < b[0]

    def exchanged(self, a: Parts, b: Parts, let: Let) -> tuple[Parts, Parts]:
        low, high = (let("key", binary(op, a[0], b[0])) for op in ("min", "max"))
        return (low,), (high,)

    def ordered(self, key: Expr) -> Expr:
        """A signed integer in the order of the elements."""
        found = self._ascending(key)
        return unary("not", found) if self.descending else found

    def _ascending(self, key: Expr) -> Expr:
        """A signed integer in the order of keys."""
        own = self._own
        if self.source is bool_:
            return cast(key, own)
        if not self.source.is_floating_point:
            return key if self.source.signed else binary("xor", bitcast(key, own), self._top)
        flipped = self._flipped(bitcast(key, own))
        if not self.has_place:
            # What wraps around are the NaN with a sign.
            return flipped - const(2 ** _MANTISSA[self.source] - 1, own)
        number = select(key.equals(0.0), const(0, own), flipped)
        return select(call("isnan", key), self._nan, number)

    def _restored(self, ordered: Expr, value: Expr) -> Expr:
        """The key again."""
        own = self._own
        if self.source is bool_:
            return cast(ordered, bool_)
        if not self.source.is_floating_point:
            unsigned = binary("xor", ordered, self._top)
            return ordered if self.source.signed else bitcast(unsigned, self.source)
        if not self.has_place:
            bits = self._flipped(ordered + const(2 ** _MANTISSA[self.source] - 1, own))
            return bitcast(bits, self.source)
        sign = binary("shl", cast(value, own), const(self.source.bits - 1, own))
        return bitcast(binary("or", self._flipped(ordered), sign), self.source)

    def _flipped(self, bits: Expr) -> Expr:
        """All bits but the sign turned over where that is set; its own inverse."""
        width = self.source.bits
        sign = binary("shr", bits, const(width - 1, bits.dtype))
        return binary("xor", bits, binary("and", sign, const(2 ** (width - 1) - 1, bits.dtype)))

    @property
    def _top(self) -> Expr:
        return const(-(2 ** (self.source.bits - 1)), self._own)

    @property
    def _nan(self) -> Expr:
        """The bits of the NaN that operations give, without a sign."""
        mantissa = _MANTISSA[self.source]
        exponent = 2 ** (self.source.bits - 1 - mantissa) - 1
        return const(exponent << mantissa | 1 << mantissa - 1, self._own)


@dataclass(frozen=True)
class Compared:
    """Keys, and indices of `index` beside them where places are wanted: they break ties."""

    line: Line
    index: DType | None

    @property
    def columns(self) -> tuple[Column, ...]:
        keys = Column("key", self.line.dtype)
        return (keys,) if self.index is None else (keys, Column("index", self.index))

    def packed(self, key: Expr, place: Expr) -> Parts:
        return (key,) if self.index is None else (key, cast(place, self.index))

    def key(self, parts: Parts) -> Expr:
        return parts[0]

    def place(self, parts: Parts) -> Expr:
        return const(0) if self.index is None else cast(parts[1], int64)

    def last(self, place: Expr) -> Parts:
        return self.packed(self.line.last, place)

    def precedes(self, a: Parts, b: Parts) -> Expr:
        return self.line.precedes(a[0], b[0], const(False, bool_))

    def exchanged(self, a: Parts, b: Parts, let: Let) -> tuple[Parts, Parts]:
        earlier = const(False, bool_) if self.index is None else b[1] < a[1]
        takes = let("takes", self.line.precedes(b[0], a[0], earlier))
        names = [c.name for c in self.columns]
        first, second = (
            tuple(let(n, select(takes, y, x)) for n, x, y in zip(names, one, other, strict=True))
            for one, other in ((a, b), (b, a))
        )
        return first, second
