"""Integer and float division with floor and truncation semantics.

Integer division never traps on the least value divided by -1, and uses unsigned instructions (or
shifts) where the operands are known not to be negative. Float floor division and remainder follow
PyTorch's `div_floor` and `remainder`: the fmod adjusted to the divisor's sign.

No CPU divides vectors of integers. Those of up to 32 bits are divided as floats of more than twice
as many: what is no integer is at least 1 / b away from one, which is more than a / b is rounded by.
"""

from __future__ import annotations

from tensorscript.base.dtypes import float32, float64, int32

from .emit_arith import Site
from .emit_call import call_library
from .emit_cast import convert
from .emit_types import vector_of


def divide(site: Site, op: str, a: str, b: str, divisor: int | None, unsigned: bool) -> str:
    """`op` is floordiv, mod, truncdiv or truncmod; `divisor` is its value if it is a literal."""
    if site.dtype.is_floating_point:
        return _FLOAT[op](site, a, b)
    if site.lanes > 1 and divisor is None and site.dtype.bits <= 32:
        return _by_floats(site, op, a, b)
    if unsigned or not site.dtype.signed:
        return site.op("udiv" if op.endswith("div") else "urem", a, b)
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if op == "floordiv":
            return site.op("ashr", a, site.literal(divisor.bit_length() - 1))
        if op == "mod":
            return site.op("and", a, site.literal(divisor - 1))
    if divisor is not None and divisor != -1:
        quotient = site.op("sdiv", a, b)
    else:
        minus_one = site.test("eq", b, site.literal(-1))
        quotient = site.op("sdiv", a, site.choose(minus_one, site.literal(1), b))
        quotient = site.choose(minus_one, site.negate(a), quotient)
    if op == "truncdiv":
        return quotient
    rest = site.op("sub", a, site.op("mul", quotient, b))
    if op == "truncmod":
        return rest
    return _to_floor(site, op, quotient, rest, b)


def divide_halves(site: Site, op: str, a: str, divisor: int) -> str:
    """Division of indices, not negative and below 2^31, by a number: in 32 bits."""
    code, lanes = site.code, site.lanes
    half = Site(code, int32, lanes)
    narrow = convert(code, site.dtype, int32, lanes, a)
    made = half.op("udiv" if op.endswith("div") else "urem", narrow, half.literal(divisor))
    return code.let(f"zext {half.type} {made} to {site.type}")


def _by_floats(site: Site, op: str, a: str, b: str) -> str:
    """Division of vectors of integers of up to 32 bits."""
    code, dtype, lanes = site.code, site.dtype, site.lanes
    narrow = dtype.bits <= 16
    wide = Site(code, float32 if narrow else float64, lanes)
    # The least number by -1 is one too large for 32 bits: there it is the negative that wraps.
    wraps = "" if narrow or not dtype.signed else site.test("eq", b, site.literal(-1))
    by = site.choose(wraps, site.literal(1), b) if wraps else b
    ratio = wide.op("fdiv", *(convert(code, dtype, wide.dtype, lanes, x) for x in (a, by)))
    if op in ("floordiv", "mod"):
        ratio = wide.intrinsic("floor", ratio)
    whole = vector_of("i32", lanes)
    to_int = "fptosi" if narrow or dtype.signed else "fptoui"
    quotient = code.let(f"{to_int} {wide.type} {ratio} to {whole}")
    if narrow:
        quotient = code.let(f"trunc {whole} {quotient} to {site.type}")
    if wraps:
        quotient = site.choose(wraps, site.negate(a), quotient)
    if op.endswith("div"):
        return quotient
    return site.op("sub", a, site.op("mul", quotient, b))


def _to_floor(site: Site, op: str, quotient: str, rest: str, b: str) -> str:
    zero = site.literal(0)
    crosses = site.test("slt", site.op("xor", rest, b), zero)
    wrong = site.both(site.test("ne", rest, zero), crosses)
    if op == "floordiv":
        return site.choose(wrong, site.op("sub", quotient, site.literal(1)), quotient)
    return site.choose(wrong, site.op("add", rest, b), rest)


def _sign_differs(site: Site, rest: str, b: str) -> str:
    zero = site.literal(0)
    negative = site.test("olt", b, zero)
    opposite = site.code.let(f"xor {site.mask_type} {negative}, {site.test('olt', rest, zero)}")
    return site.both(site.test("une", rest, zero), opposite)


def _fmod(site: Site, a: str, b: str) -> str:
    return call_library(site, "fmod", a, b)


def _remainder(site: Site, a: str, b: str) -> str:
    rest = _fmod(site, a, b)
    return site.choose(_sign_differs(site, rest, b), site.op("fadd", rest, b), rest)


def _floor_divide(site: Site, a: str, b: str) -> str:
    zero, one = site.literal(0), site.literal(1)
    rest = _fmod(site, a, b)
    exact = site.op("fdiv", site.op("fsub", a, rest), b)
    adjusted = site.op("fsub", exact, one)
    exact = site.choose(_sign_differs(site, rest, b), adjusted, exact)
    floor = site.intrinsic("floor", exact)
    far = site.test("ogt", site.op("fsub", exact, floor), site.literal(0.5))
    floor = site.choose(far, site.op("fadd", floor, one), floor)
    plain = site.op("fdiv", a, b)
    signed_zero = site.intrinsic("copysign", zero, plain)
    result = site.choose(site.test("une", exact, zero), floor, signed_zero)
    return site.choose(site.test("oeq", b, zero), plain, result)


def _truncate(site: Site, a: str, b: str) -> str:
    return site.intrinsic("trunc", site.op("fdiv", a, b))


_FLOAT = {
    "floordiv": _floor_divide,
    "mod": _remainder,
    "truncdiv": _truncate,
    "truncmod": _fmod,
}
