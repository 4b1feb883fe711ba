"""Integer arithmetic and bit manipulation (PTX ISA 9.7.1 and 9.7.8, logic and shifts).

Division by zero gives all ones, as devices do; PTX leaves it unspecified.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..types import DTYPES, INTEGERS, UNSIGNED, Array, width
from .alu import Alu, Builder, Refusal, only, require

_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def _simple(function: Callable[..., Array], count: int = 2) -> Builder:
    def build(modifiers: tuple[str, ...], type_name: str) -> Alu:
        only(modifiers, "")
        require(type_name, INTEGERS)
        return Alu(function, (type_name,) * count, (type_name,))

    return build


def _saturating(function: Callable[[Array, Array], Array]) -> Builder:
    def build(modifiers: tuple[str, ...], type_name: str) -> Alu:
        only(modifiers, "sat")
        require(type_name, INTEGERS)
        if "sat" not in modifiers:
            return Alu(function, (type_name,) * 2, (type_name,))
        require(type_name, ("s32", "u32"))
        limits = np.iinfo(DTYPES[type_name])

        def saturate(a: Array, b: Array) -> Array:
            exact = function(a.astype(np.int64), b.astype(np.int64))
            return np.clip(exact, limits.min, limits.max).astype(a.dtype)

        return Alu(saturate, (type_name,) * 2, (type_name,))

    return build


def multiply_high(a: Array, b: Array) -> Array:
    """The upper half of the double-width product."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(np.int64) if a.dtype.kind == "i" else np.dtype(np.uint64)
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
    ua, ub = a.view(np.uint64), b.view(np.uint64)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = ua & low, ua >> half, ub & low, ub >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    other = a0 * b1 + (middle & low)
    high = a1 * b1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, ub, 0).astype(np.uint64)
        high = high - np.where(b < 0, ua, 0).astype(np.uint64)
    answer: Array = high.view(a.dtype)
    return answer


def _multiply(modifiers: tuple[str, ...], type_name: str) -> Alu:
    only(modifiers, "lo hi wide")
    require(type_name, INTEGERS)
    if "wide" in modifiers:
        require(type_name, _WIDE)
        wide = DTYPES[_WIDE[type_name]]
        return Alu(
            lambda a, b: a.astype(wide) * b.astype(wide), (type_name,) * 2, (_WIDE[type_name],)
        )
    return Alu(_half_product(modifiers), (type_name,) * 2, (type_name,))


def _half_product(modifiers: tuple[str, ...]) -> Callable[[Array, Array], Array]:
    if "hi" in modifiers:
        return multiply_high
    if "lo" in modifiers:
        return np.multiply
    raise Refusal("a product needs .lo, .hi or .wide")


def _multiply_add(modifiers: tuple[str, ...], type_name: str) -> Alu:
    only(modifiers, "lo hi wide")
    product = _multiply(modifiers, type_name)
    result = product.results[0]
    return Alu(
        lambda a, b, c: np.add(product.compute(a, b), c), (type_name, type_name, result), (result,)
    )


def _multiply24(modifiers: tuple[str, ...], type_name: str) -> Alu:
    only(modifiers, "lo")
    require(type_name, ("u32", "s32"))
    shift = DTYPES[type_name].type(8)

    def low24(a: Array) -> Array:
        answer: Array = (a << shift) >> shift
        return answer

    return Alu(lambda a, b: low24(a) * low24(b), (type_name,) * 2, (type_name,))


def truncated_divide(a: Array, b: Array) -> Array:
    """Quotient rounded toward zero."""
    if a.dtype.kind == "u":
        quotient = a // b
    else:
        remainder = np.fmod(a, b)
        quotient = (a - remainder) // b
    return np.where(b == 0, ~np.zeros_like(quotient), quotient)


def _remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, a, np.fmod(a, b))


def shift_left(a: Array, count: Array) -> Array:
    """Shift counts beyond the width give zero."""
    bits = a.dtype.itemsize * 8
    shifted = a << (count % np.uint32(bits)).astype(a.dtype)
    answer: Array = np.where(count >= bits, a.dtype.type(0), shifted)
    return answer


def shift_right(a: Array, count: Array) -> Array:
    """Arithmetic for signed types; counts beyond the width act as the widest."""
    bits = a.dtype.itemsize * 8
    if a.dtype.kind == "i":
        answer: Array = a >> np.minimum(count, np.uint32(bits - 1)).astype(a.dtype)
        return answer
    shifted = a >> (count % np.uint32(bits)).astype(a.dtype)
    answer = np.where(count >= bits, a.dtype.type(0), shifted)
    return answer


def _shift(function: Callable[[Array, Array], Array]) -> Builder:
    def build(modifiers: tuple[str, ...], type_name: str) -> Alu:
        only(modifiers, "")
        require(type_name, INTEGERS)
        return Alu(function, (type_name, "u32"), (type_name,))

    return build


def _funnel(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """shf.{l,r}.{clamp,wrap}.b32: the 64 bits c:b shifted; l gives the upper half."""
    only(modifiers, "l r clamp wrap")
    require(type_name, ("b32",))
    wrap, left = "wrap" in modifiers, "l" in modifiers

    def shift(low: Array, high: Array, count: Array) -> Array:
        count = count & np.uint32(31) if wrap else np.minimum(count, np.uint32(32))
        both = (high.astype(np.uint64) << np.uint64(32)) | low
        if left:
            both = (both << count.astype(np.uint64)) >> np.uint64(32)
        else:
            both = both >> count.astype(np.uint64)
        return both.astype(np.uint32)

    return Alu(shift, ("b32", "b32", "u32"), ("b32",))


def bit_length(a: Array) -> Array:
    """Position of the highest set bit plus one, 0 for 0; unsigned input, uint32 out."""
    if a.dtype.itemsize == 8:
        high = (a >> np.uint64(32)).astype(np.uint32)
        low = a.astype(np.uint32)
        return np.where(high > 0, bit_length(high) + np.uint32(32), bit_length(low))
    return np.frexp(a.astype(np.float64))[1].astype(np.uint32)


def reverse_bits(a: Array) -> Array:
    """Bit 0 becomes the highest."""
    octets = np.ascontiguousarray(a).view(np.uint8).reshape(a.shape[0], a.dtype.itemsize)
    bits = np.unpackbits(octets, axis=1, bitorder="little")[:, ::-1]
    packed = np.packbits(bits, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view(a.dtype).reshape(-1)


def _count(function: Callable[[Array], Array]) -> Builder:
    def build(modifiers: tuple[str, ...], type_name: str) -> Alu:
        only(modifiers, "")
        require(type_name, ("b32", "b64"))
        return Alu(lambda a: function(a).astype(np.uint32), (type_name,), ("u32",))

    return build


def _leading_zeros(a: Array) -> Array:
    return np.uint32(a.dtype.itemsize * 8) - bit_length(a)


def _find_top_bit(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """bfind[.shiftamt]: the highest bit that differs from the sign, -1 if none."""
    only(modifiers, "shiftamt")
    require(type_name, ("u32", "s32", "u64", "s64"))
    bits, amount = width(type_name) * 8, "shiftamt" in modifiers

    def find(a: Array) -> Array:
        if a.dtype.kind == "i":
            a = np.where(a < 0, ~a, a)
        length = bit_length(a.view(UNSIGNED[a.dtype.itemsize]))
        found = np.uint32(bits) - length if amount else length - np.uint32(1)
        return np.where(length == 0, np.uint32(0xFFFFFFFF), found)

    return Alu(find, (type_name,), ("u32",))


def _extract(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """bfe: `length` bits from `position`; signed forms extend the field's top bit."""
    only(modifiers, "")
    require(type_name, ("u32", "s32", "u64", "s64"))
    bits = width(type_name) * 8

    def extract(a: Array, position: Array, length: Array) -> Array:
        unsigned = a.view(UNSIGNED[a.dtype.itemsize])
        position, length = position & np.uint32(255), length & np.uint32(255)
        one = unsigned.dtype.type(1)
        mask = shift_left(one + np.zeros_like(unsigned), length) - one
        if a.dtype.kind == "u":
            field: Array = shift_right(unsigned, position) & mask
            return field
        # Beyond the top of `a` the field continues with its sign.
        field = shift_right(a, position).view(unsigned.dtype) & mask
        top = np.minimum(position + length - np.uint32(1), np.uint32(bits - 1))
        negative = (shift_right(unsigned, top) & one).astype(np.bool_) & (length > 0)
        extended: Array = np.where(negative, field | ~mask, field).view(a.dtype)
        return extended

    return Alu(extract, (type_name, "u32", "u32"), (type_name,))


def _insert(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """bfi f, a, b, position, length: `length` low bits of a put into b."""
    only(modifiers, "")
    require(type_name, ("b32", "b64"))

    def insert(a: Array, b: Array, position: Array, length: Array) -> Array:
        position, length = position & np.uint32(255), length & np.uint32(255)
        one = a.dtype.type(1)
        ones = shift_left(one + np.zeros_like(a | b), length) - one
        mask = shift_left(ones, position)
        return (b & ~mask) | (shift_left(a + np.zeros_like(b), position) & mask)

    return Alu(insert, (type_name, type_name, "u32", "u32"), (type_name,))


def _permute(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """prmt.b32, default mode: four selectors pick bytes of b:a; bit 3 replicates the sign."""
    only(modifiers, "")
    require(type_name, ("b32",))

    def permute(a: Array, b: Array, selectors: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        result = np.zeros(np.broadcast_shapes(both.shape, selectors.shape), np.uint32)
        for position in range(4):
            nibble = (selectors >> np.uint32(4 * position)) & np.uint32(15)
            shift = ((nibble & np.uint32(7)) * np.uint32(8)).astype(np.uint64)
            octet = ((both >> shift) & np.uint64(255)).astype(np.uint32)
            sign = np.where(octet & np.uint32(128), np.uint32(255), np.uint32(0))
            octet = np.where(nibble & np.uint32(8), sign, octet)
            result = result | (octet << np.uint32(8 * position))
        return result

    return Alu(permute, ("b32",) * 3, ("b32",))


def _lookup3(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """lop3.b32 d, a, b, c, table: any bitwise function of three."""
    only(modifiers, "")
    require(type_name, ("b32",))

    def lookup(a: Array, b: Array, c: Array, table: Array) -> Array:
        rows = int(table[0])
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for row in range(8):
            if rows >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result

    return Alu(lookup, ("b32",) * 4, ("b32",))


def _dot4(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """dp4a.atype.btype: four byte products added to c."""
    kinds = [*modifiers, type_name]
    if len(kinds) != 2 or not {"u32", "s32"}.issuperset(kinds):
        raise Refusal("dp4a needs two of .u32 and .s32")
    left, right = (np.dtype(np.uint8 if k == "u32" else np.int8) for k in kinds)
    result = "u32" if kinds == ["u32", "u32"] else "s32"

    def dot(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(np.int64)
        for position in range(4):
            shift = np.uint32(8 * position)
            x = (a >> shift).astype(np.uint8).view(left).astype(np.int64)
            y = (b >> shift).astype(np.uint8).view(right).astype(np.int64)
            total = total + x * y
        return total.astype(DTYPES[result])

    return Alu(dot, ("b32", "b32", result), (result,))


def _logic(function: Callable[..., Array], count: int = 2) -> Builder:
    def build(modifiers: tuple[str, ...], type_name: str) -> Alu:
        only(modifiers, "")
        require(type_name, ("pred", "b16", "b32", "b64"))
        return Alu(function, (type_name,) * count, (type_name,))

    return build


def _absolute_difference(a: Array, b: Array, c: Array) -> Array:
    return c + np.where(a < b, b - a, a - b)


INTEGER: dict[str, Builder] = {
    "add": _saturating(np.add),
    "sub": _saturating(np.subtract),
    "mul": _multiply,
    "mad": _multiply_add,
    "mul24": _multiply24,
    "sad": _simple(_absolute_difference, 3),
    "div": _simple(truncated_divide),
    "rem": _simple(_remainder),
    "abs": _simple(np.abs, 1),
    "neg": _simple(np.negative, 1),
    "min": _simple(np.minimum),
    "max": _simple(np.maximum),
    "and": _logic(np.bitwise_and),
    "or": _logic(np.bitwise_or),
    "xor": _logic(np.bitwise_xor),
    "not": _logic(np.invert, 1),
    "cnot": _logic(lambda a: (a == 0).astype(a.dtype), 1),
    "shl": _shift(shift_left),
    "shr": _shift(shift_right),
    "shf": _funnel,
    "popc": _count(np.bitwise_count),
    "clz": _count(_leading_zeros),
    "brev": _simple(reverse_bits, 1),
    "bfind": _find_top_bit,
    "bfe": _extract,
    "bfi": _insert,
    "prmt": _permute,
    "lop3": _lookup3,
    "dp4a": _dot4,
}
