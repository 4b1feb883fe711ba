"""Integer and float division with floor and truncation semantics.

Integer division never traps on the least value divided by -1, and uses unsigned instructions (or
shifts) where the operands are known not to be negative. Float floor division and remainder follow
PyTorch's `div_floor` and `remainder`: the fmod adjusted to the divisor's sign.
"""

from __future__ import annotations

from .emit_arith import Site
from .emit_call import call_library


def divide(site: Site, op: str, a: str, b: str, divisor: int | None, unsigned: bool) -> str:
    """`op` is floordiv, mod, truncdiv or truncmod; `divisor` is its value if it is a literal."""
    if site.dtype.is_floating_point:
        return _FLOAT[op](site, a, b)
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
