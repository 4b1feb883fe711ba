"""Vectors of whole AVX-512 registers: scaling by powers of two, and tables that fill a register."""

from __future__ import annotations

from collections.abc import Iterable

from .builder import Builder, Value, float_literal

TABLE_BITS = 512
"""Of the registers that `lookup` takes tables from."""
_DOWN, _AS_SET, _NO_EXCEPTIONS = 1, 4, 8
"""How an instruction rounds: down, as the processor is set to; and that it reports nothing."""

_NO_NEGATIVE = 0b1100
"""Of a mantissa from 1 to 2: NaN of negative numbers, and 1 of -0."""


def _picks(lanes: Iterable[int]) -> str:
    """The mask of a shufflevector."""
    numbers = [f"i32 {lane}" for lane in lanes]
    return f"<{len(numbers)} x i32> <{', '.join(numbers)}>"


def has_tables(b: Builder) -> bool:
    """Whether `lookup` is cheap."""
    return b.scale_bits == TABLE_BITS


def scales_whole_registers(b: Builder) -> bool:
    """Whether `scale` is one instruction a register."""
    return bool(b.scale_bits) and b.lanes * b.bits % b.scale_bits == 0


def scale(b: Builder, x: Value, n: Value, whole: Value, kept: Value | None = None) -> Value:
    """x * 2^n with n rounded down, which is given as a float and `whole` as an integer; 0 where
    lanes of whole registers are not `kept`. Two steps where no instruction does it, so that
    results may overflow or become subnormal properly; both ways round once."""
    if scales_whole_registers(b):
        return _scale_vectors(b, x, n, kept)
    half = whole.sar(1)
    return x * b.power_of_two(half) * b.power_of_two(whole - half)


def floor_to_step(b: Builder, x: Value, steps: int, low: float) -> tuple[Value, Value]:
    """What x <= 0 has above its next lower multiple of 1/steps (a power of two), and the bits of a
    number that has the multiple in steps as its lowest ones.

    Below `low`, and of NaN, the bits are any; what -infinity has above is 0. Whole registers take
    AVX-512's vreduceps and an addition that rounds down, others the same numbers by more steps.
    """
    magic = 1.5 * 2.0**b.mantissa / steps
    width = TABLE_BITS // b.bits
    if b.lanes % width:
        x = b.select(x < low, low, x)
        below = b.intrinsic("floor", x * steps) * (1 / steps)
        return x - below, b.bits_of(below + magic)
    ty, mask, kind = f"<{width} x {b.scalar}>", f"i{width}", "s" if b.dtype == "f32" else "d"
    reduce = f"@llvm.x86.avx512.mask.reduce.p{kind}.512"
    plus = f"@llvm.x86.avx512.add.p{kind}.512"
    b.declarations[f"declare {ty} {reduce}({ty}, i32, {ty}, {mask}, i32)"] = None
    b.declarations[f"declare {ty} {plus}({ty}, {ty}, i32)"] = None
    number = f"splat ({b.scalar} {float_literal(magic, b.dtype)})"
    rests, sums = [], []
    for first in range(0, b.lanes, width):
        part = _part(b, x, first, width)
        control = (steps.bit_length() - 1) << 4 | _DOWN
        rests.append(
            b.emit(f"call {ty} {reduce}({ty} {part}, i32 {control}, {ty} zeroinitializer, "
                   f"{mask} -1, i32 {_AS_SET})", "f").name
        )  # fmt: skip
        call = f"call {ty} {plus}({ty} {part}, {ty} {number}, i32 {_DOWN | _NO_EXCEPTIONS})"
        sums.append(b.emit(call, "f").name)
    return _joined(b, rests, width), b.bits_of(_joined(b, sums, width))


def _scale_vectors(b: Builder, x: Value, n: Value, kept: Value | None) -> Value:
    """AVX-512's vscalefps and vscalefpd, a register at a time."""
    width = b.scale_bits // b.bits
    ty, mask = f"<{width} x {b.scalar}>", f"i{max(width, 8)}"
    symbol = f"@llvm.x86.avx512.mask.scalef.p{'s' if b.dtype == 'f32' else 'd'}.512"
    b.declarations[f"declare {ty} {symbol}({ty}, {ty}, {ty}, {mask}, i32)"] = None
    parts = []
    for first in range(0, b.lanes, width):
        of_x, of_n = (_part(b, v, first, width) for v in (x, n))
        lanes = "-1"
        if kept is not None:
            bits = f"bitcast <{width} x i1> {_part(b, kept, first, width)} to {mask}"
            lanes = b.emit(bits, "i").name
        parts.append(
            b.emit(f"call {ty} {symbol}({ty} {of_x}, {ty} {of_n}, {ty} zeroinitializer, "
                   f"{mask} {lanes}, i32 4)", "f").name
        )  # fmt: skip
    return _joined(b, parts, width)


def exponent_and_mantissa(b: Builder, x: Value) -> tuple[Value, Value]:
    """The whole part of log2(x), as a float, and what x is of that power of two, from 1 to 2: by
    vgetexp and vgetmant. Of 0 and infinity they are -infinity or infinity, and 1; a negative number
    has the mantissa NaN."""
    width, letter = TABLE_BITS // b.bits, "s" if b.dtype == "f32" else "d"
    ty, mask = f"<{width} x {b.scalar}>", f"i{width}"
    exponent, mantissa = (f"@llvm.x86.avx512.mask.get{w}.p{letter}.512" for w in ("exp", "mant"))
    b.declarations[f"declare {ty} {exponent}({ty}, {ty}, {mask}, i32)"] = None
    b.declarations[f"declare {ty} {mantissa}({ty}, i32, {ty}, {mask}, i32)"] = None
    rest = f"{ty} zeroinitializer, {mask} -1, i32 {_AS_SET}"
    exponents, mantissas = [], []
    for first in range(0, b.lanes, width):
        part = f"{ty} {_part(b, x, first, width)}"
        exponents.append(b.emit(f"call {ty} {exponent}({part}, {rest})", "f").name)
        call = f"call {ty} {mantissa}({part}, i32 {_NO_NEGATIVE}, {rest})"
        mantissas.append(b.emit(call, "f").name)
    return _joined(b, exponents, width), _joined(b, mantissas, width)


def inverse_root(b: Builder, x: Value) -> Value:
    """1/sqrt(x) but for 2^-14 of it, by AVX-512's vrsqrt14ps or vrsqrt14pd, whose digits beyond
    that are the processor's own."""
    width, letter = TABLE_BITS // b.bits, "s" if b.dtype == "f32" else "d"
    ty, mask = f"<{width} x {b.scalar}>", f"i{width}"
    symbol = f"@llvm.x86.avx512.rsqrt14.p{letter}.512"
    b.declarations[f"declare {ty} {symbol}({ty}, {ty}, {mask})"] = None
    parts = [
        b.emit(f"call {ty} {symbol}({ty} {_part(b, x, first, width)}, {ty} zeroinitializer, "
               f"{mask} -1)", "f").name
        for first in range(0, b.lanes, width)
    ]  # fmt: skip
    return _joined(b, parts, width)


def lookup(b: Builder, kept: str, table: tuple[float, ...], index: Value) -> Value:
    """The entry of a table, which fills one or two registers of `TABLE_BITS`, at the low bits of an
    integer: by AVX-512's vpermps or vpermpd, or vpermt2ps or vpermt2pd of two, a register at a
    time; of one lane from memory, where the table is `kept` under that name."""
    width = TABLE_BITS // b.bits
    rows = [
        ", ".join(f"{b.scalar} {float_literal(v, b.dtype)}" for v in table[first : first + width])
        for first in range(0, len(table), width)
    ]
    if b.lanes == 1:
        name = f"@ts_{kept}_{b.dtype}"
        array = f"[{len(table)} x {b.scalar}]"
        line = f"{name} = internal unnamed_addr constant {array} [{', '.join(rows)}]"
        b.declarations[line] = None
        low = index & (len(table) - 1)
        at = b.emit(f"getelementptr {array}, ptr {name}, i{b.bits} 0, "
                    f"i{b.bits} {low.name}", "i")  # fmt: skip
        return b.emit(f"load {b.scalar}, ptr {at.name}", "f")
    ty, places = f"<{width} x {b.scalar}>", f"<{width} x i{b.bits}>"
    letter = "s" if b.dtype == "f32" else "d"
    two = len(rows) == 2
    symbol = f"@llvm.x86.avx512.{f'vpermi2var.p{letter}' if two else f'permvar.{letter}f'}.512"
    kinds = [ty, places, ty] if two else [ty, places]
    b.declarations[f"declare {ty} {symbol}({', '.join(kinds)})"] = None
    parts = []
    for first in range(0, b.lanes, width):
        values = [f"<{rows[0]}>", _part(b, index, first, width), f"<{rows[-1]}>"]
        operands = ", ".join(f"{kind} {v}" for kind, v in zip(kinds, values, strict=False))
        parts.append(b.emit(f"call {ty} {symbol}({operands})", "f").name)
    return _joined(b, parts, width)


def _joined(b: Builder, parts: list[str], width: int) -> Value:
    """The vector of parts of `width` lanes each, of which the last may be longer than is left."""
    if b.lanes == 1:
        return b.emit(f"extractelement <{width} x {b.scalar}> {parts[0]}, i32 0", "f")
    while width < b.lanes:
        kind, picks = f"<{width} x {b.scalar}>", _picks(range(2 * width))
        parts = [*parts, "poison"] if len(parts) % 2 else parts
        parts = [
            b.emit(f"shufflevector {kind} {left}, {kind} {right}, {picks}", "f").name
            for left, right in zip(parts[::2], parts[1::2], strict=True)
        ]
        width *= 2
    if width == b.lanes:
        return Value(b, parts[0], "f")
    kind, picks = f"<{width} x {b.scalar}>", _picks(range(b.lanes))
    return b.emit(f"shufflevector {kind} {parts[0]}, {kind} poison, {picks}", "f")


def _part(b: Builder, x: Value, first: int, width: int) -> str:
    """`width` lanes of a vector, those beyond a shorter one undefined."""
    if width == b.lanes:
        return x.name
    kind = b.type_of(x.kind)
    if b.lanes == 1:
        insert = f"insertelement <{width} x {kind}> poison, {kind} {x.name}, i32 0"
        return b.emit(insert, x.kind).name
    picks = _picks(min(k, b.lanes) for k in range(first, first + width))
    return b.emit(f"shufflevector {kind} {x.name}, {kind} poison, {picks}", "f").name
