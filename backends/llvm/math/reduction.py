"""Payne and Hanek's reduction of a large float64 modulo pi/2: an LLVM function, and its calls.

x = m 2^e with m of 53 bits. Of 2/pi only the bits that m 2^e lifts to weights below 4 matter:
a window of 192 bits, so that the product's top two bits are n mod 4 and 137 bits of the fraction
are right; a float64 comes no nearer to a multiple of pi/2 than 2^-61 of it.
"""

from __future__ import annotations

from .builder import Builder, Value

_LIMIT = 1.0e10

# 2/pi, 1216 bits after the point, behind one word of zeros; most significant word first.
_TWO_OVER_PI_BITS = 1216
_WORDS = 20


def _two_over_pi_words() -> tuple[int, ...]:
    """Machin's formula in integers; 64 guard bits."""
    bits = _TWO_OVER_PI_BITS + 64
    one = 1 << (bits + 32)

    def arctangent_of_inverse(n: int) -> int:
        total, term, k = 0, one // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))
    value = (2 * one * (1 << bits) // pi) >> 64
    words = [0]
    for index in range(_WORDS - 1):
        words.append((value >> (_TWO_OVER_PI_BITS - 64 * (index + 1))) & ((1 << 64) - 1))
    return tuple(words)


TABLE = (
    f"@ts_two_over_pi = internal unnamed_addr constant [{_WORDS} x i64] ["
    + ", ".join(
        f"i64 {word if word < 1 << 63 else word - (1 << 64)}" for word in _two_over_pi_words()
    )
    + "]"
)

_WORD = """  %q{k} = add i64 %word, {k}
  %a{k} = getelementptr [20 x i64], ptr @ts_two_over_pi, i64 0, i64 %q{k}
  %w{k} = load i64, ptr %a{k}
"""
_WINDOW = """  %l{k} = shl i64 %w{k}, %shift
  %r{k} = lshr i64 %w{n}, 1
  %s{k} = lshr i64 %r{k}, %back
  %c{k} = or i64 %l{k}, %s{k}
"""

# ts_reduce_far(x, out): out[0] = r, out[1] = low word of r; returns n mod 4. |x| >= 2^16, finite;
# NaN and infinities give r = NaN.
FUNCTION = (
    """define internal i64 @ts_reduce_far(double %x, ptr %out) noinline nounwind {
entry:
  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %exponent = and i64 %field, 2047
  %special = icmp eq i64 %exponent, 2047
  br i1 %special, label %bad, label %good
bad:
  %nan = fsub double %x, %x
  store double %nan, ptr %out
  %out1b = getelementptr double, ptr %out, i64 1
  store double 0.0, ptr %out1b
  ret i64 0
good:
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  ; offset of the window: e - 2 + 64 with e = exponent - 1075
  %offset = sub i64 %exponent, 1013
  %word = lshr i64 %offset, 6
  %shift = and i64 %offset, 63
  %back = xor i64 %shift, 63
"""
    + "".join(_WORD.format(k=k) for k in range(4))
    + "".join(_WINDOW.format(k=k, n=k + 1) for k in range(3))
    + """  %mw = zext i64 %m to i128
  %c2w = zext i64 %c2 to i128
  %c1w = zext i64 %c1 to i128
  %p0 = mul i128 %mw, %c2w
  %carry0 = lshr i128 %p0, 64
  %p1a = mul i128 %mw, %c1w
  %p1 = add i128 %p1a, %carry0
  %carry1w = lshr i128 %p1, 64
  %carry1 = trunc i128 %carry1w to i64
  %p2a = mul i64 %m, %c0
  %top = add i64 %p2a, %carry1
  %middle = trunc i128 %p1 to i64
  %bottom = trunc i128 %p0 to i64
  ; n = top two bits, rounded by the third; the fraction is what follows, signed
  %n0 = lshr i64 %top, 62
  %third = lshr i64 %top, 61
  %up = and i64 %third, 1
  %n = add i64 %n0, %up
  %topw = zext i64 %top to i128
  %tops = shl i128 %topw, 64
  %midw = zext i64 %middle to i128
  %both = or i128 %tops, %midw
  %f0 = shl i128 %both, 2
  %botw = lshr i64 %bottom, 62
  %botx = zext i64 %botw to i128
  %f = or i128 %f0, %botx
  %negative = icmp slt i128 %f, 0
  %minus = sub i128 0, %f
  %size = select i1 %negative, i128 %minus, i128 %f
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %lift = and i128 %zeros, 127
  %up128 = shl i128 %size, %lift
  %h0 = lshr i128 %up128, 75
  %h1 = trunc i128 %h0 to i64
  %high = uitofp i64 %h1 to double
  %g0 = lshr i128 %up128, 22
  %g1 = trunc i128 %g0 to i64
  %g2 = and i64 %g1, 9007199254740991
  %low = uitofp i64 %g2 to double
  ; value = high 2^(75-128-lift) + low 2^(22-128-lift)
  %lift64 = trunc i128 %lift to i64
  %eh = sub i64 970, %lift64
  %ehs = shl i64 %eh, 52
  %sh = bitcast i64 %ehs to double
  %el = sub i64 917, %lift64
  %els = shl i64 %el, 52
  %sl = bitcast i64 %els to double
  %vh = fmul double %high, %sh
  %vl = fmul double %low, %sl
  ; times pi/2 in two words
  %r = fmul double %vh, 0x3FF921FB54442D18
  %nr = fneg double %r
  %e1 = call double @llvm.fma.f64(double %vh, double 0x3FF921FB54442D18, double %nr)
  %e2 = call double @llvm.fma.f64(double %vh, double 0x3C91A62633145C07, double %e1)
  %e3 = call double @llvm.fma.f64(double %vl, double 0x3FF921FB54442D18, double %e2)
  %sum = fadd double %r, %e3
  %lost = fsub double %r, %sum
  %rest = fadd double %lost, %e3
  %xneg = icmp slt i64 %bits, 0
  %flip = xor i1 %negative, %xneg
  %sumn = fneg double %sum
  %restn = fneg double %rest
  %hi = select i1 %flip, double %sumn, double %sum
  %lo = select i1 %flip, double %restn, double %rest
  store double %hi, ptr %out
  %out1 = getelementptr double, ptr %out, i64 1
  store double %lo, ptr %out1
  %nm = sub i64 0, %n
  %ns = select i1 %xneg, i64 %nm, i64 %n
  %n4 = and i64 %ns, 3
  ret i64 %n4
}"""
)
DECLARATIONS = (
    "declare i128 @llvm.ctlz.i128(i128, i1 immarg)",
    "declare double @llvm.fma.f64(double, double, double)",
)


def far_reduction(
    b: Builder, x: Value, far: Value, r: Value, low: Value, n: Value
) -> tuple[Value, Value, Value]:
    """Replace (r, low, n) in the lanes marked `far` by Payne and Hanek's, if there are any."""
    b.has_loops = True
    b.declarations.update(dict.fromkeys(DECLARATIONS))
    b.declarations[TABLE] = None
    b.declarations[FUNCTION] = None
    before, serial = b.block, len(b.lines)
    inside, after = f"far{serial}", f"near{serial}"
    b.lines.append(f"  br i1 {b.any(far)}, label %{inside}, label %{after}")
    b.start_block(inside)
    values = [r, low, n]
    pair = b.emit("alloca [2 x double]", "f").name
    # The window of bits exists for large operands only; other lanes are not used.
    x = b.select(far, x, _LIMIT)
    for lane in range(b.lanes):
        values = _far_lane(b, lane, pair, x, far, values)
    b.lines.append(f"  br label %{after}")
    b.start_block(after)
    merged = [
        b.emit(
            f"phi {b.type_of(old.kind)} [ {old.name}, %{before} ], [ {new.name}, %{inside} ]",
            old.kind,
        )
        for old, new in zip((r, low, n), values, strict=True)
    ]
    return merged[0], merged[1], merged[2]


def _far_lane(
    b: Builder, lane: int, pair: str, x: Value, far: Value, values: list[Value]
) -> list[Value]:
    """One lane of `far_reduction`, by selection: the call is made for every lane."""
    element, integer = b.scalar, f"i{b.bits}"
    xs = b.extract(x, lane, "f")
    if b.dtype == "f32":
        xs = b.emit(f"fpext float {xs} to double", "f").name
    n = b.emit(f"call i64 @ts_reduce_far(double {xs}, ptr {pair})", "i").name
    if b.dtype == "f32":
        n = b.emit(f"trunc i64 {n} to i32", "i").name
    high = b.emit(f"load double, ptr {pair}", "f").name
    place = b.emit(f"getelementptr double, ptr {pair}, i64 1", "i").name
    low = b.emit(f"load double, ptr {place}", "f").name
    if b.dtype == "f32":
        total = b.emit(f"fadd double {high}, {low}", "f").name
        high = b.emit(f"fptrunc double {total} to float", "f").name
        back = b.emit(f"fpext float {high} to double", "f").name
        rest = b.emit(f"fsub double {total}, {back}", "f").name
        low = b.emit(f"fptrunc double {rest} to float", "f").name
    chosen = b.extract(far, lane, "m")
    out = []
    for old, new, ty in zip(values, (high, low, n), (element, element, integer), strict=True):
        current = b.extract(old, lane, old.kind)
        pick = b.emit(f"select i1 {chosen}, {ty} {new}, {ty} {current}", old.kind).name
        out.append(b.insert(old, pick, lane))
    return out
