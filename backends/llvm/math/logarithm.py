"""log, log2, log10, log1p.

Where registers are tables the first three are sums of a logarithm from a table and a polynomial
(Tang, "Table-driven implementation of the logarithm function in IEEE floating-point arithmetic",
1990). Elsewhere x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1. In float32 log(1+f) is a
polynomial in f; in float64 s = f/(2+f) and log(1+f) = f - f^2/2 + s (f^2/2 + R(s^2)), the form of
Sun's fdlibm.
"""

from __future__ import annotations

from .builder import Builder, Value, float_literal, round_to_f32
from .coefficients import LOG, LOGF
from .exponential import LN2_HIGH, LN2_LOW
from .logarithm_tables import INVERSES, LOG_STEPS
from .registers import exponent_and_mantissa, has_tables, lookup
from .words import two_product

_SQRT_HALF_BITS = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}


def decompose(b: Builder, x: Value) -> tuple[Value, Value]:
    """(e as float, f) of a positive x; subnormals are scaled up first."""
    tiny = x < 2.0 ** (1 - b.bias)
    lift = b.mantissa + 2
    e, f = _parts(b, b.select(tiny, x * 2.0**lift, x))
    return b.to_float(e - b.select(tiny, b.integer(lift), b.integer(0))), f


def decompose_normal(b: Builder, x: Value) -> tuple[Value, Value]:
    """The same of what is no subnormal number."""
    e, f = _parts(b, x)
    return b.to_float(e), f


def _parts(b: Builder, x: Value) -> tuple[Value, Value]:
    bits = b.bits_of(x) - _SQRT_HALF_BITS[b.dtype]
    fraction = bits & ((1 << b.mantissa) - 1)
    return bits.sar(b.mantissa), b.float_of(fraction + _SQRT_HALF_BITS[b.dtype]) - 1.0


def edges(b: Builder, x: Value, result: Value) -> Value:
    """log(0) = -inf, log(negative) = NaN, log(inf) = inf, NaN kept."""
    result = b.select(x.equals(0.0), float("-inf"), result)
    result = b.select(x < 0.0, float("nan"), result)
    result = b.select(x.equals(float("inf")), x, result)
    return b.select(x.is_nan(), x, result)


def _series(b: Builder, f: Value) -> tuple[Value, Value]:
    """(f^2/2, s (f^2/2 + R)) so that log(1+f) = f - (first - second), in float64."""
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    return half_square, s * (half_square + z * b.polynomial(z, LOG))


def _short_series(b: Builder, f: Value, low: Value | float = 0.0) -> Value:
    """log(1+f) - f in float32, and `low`."""
    z = f * f
    return b.fma(z, -0.5, b.fma(z * f, b.polynomial(f, LOGF["f32"]), low))


def _log_of_parts(b: Builder, e: Value, f: Value, extra: Value | None = None) -> Value:
    low = e * LN2_LOW[b.dtype] if extra is None else b.fma(e, LN2_LOW[b.dtype], extra)
    if b.dtype == "f32":
        return b.fma(e, LN2_HIGH["f32"], f + _short_series(b, f, low))
    half_square, rest = _series(b, f)
    return b.fma(e, LN2_HIGH["f64"], f - (half_square - (rest + low)))


def _by_steps(b: Builder, x: Value, name: str) -> Value:
    """e log(2) + log(1/c) + log(1 + r) with c near 1/m from a table and r = m c - 1, where the sum
    of the first words is exact: of 0, infinity, negative numbers and NaN too what it should be."""
    steps = LOG_STEPS[name, b.dtype]
    e, m = exponent_and_mantissa(b, x)
    index = b.bits_of(m).sar(b.mantissa - 4)
    r = b.fma(m, lookup(b, "inverses", INVERSES, index), -1.0)
    top, low = (lookup(b, f"{name}word{k}", table, index) for k, table in enumerate(steps.inverses))
    two, two_low = steps.two
    top, low = b.fma(e, two, top), b.fma(e, two_low, low) if two_low else low
    first, *others = steps.factors
    if name == "log":
        return top + (r + b.fma(r * r, b.polynomial(r, others[1:]), low))
    product, lost = two_product(b, r, first)
    return top + (product + b.fma(r, b.polynomial(r, others), low + lost))


def log(b: Builder, x: Value) -> Value:
    if has_tables(b):
        return _by_steps(b, x, "log")
    e, f = decompose(b, x)
    return edges(b, x, _log_of_parts(b, e, f))


def log1p(b: Builder, x: Value) -> Value:
    """log(u) + (x - (u-1))/u with u = 1 + x rounded; f = x itself while u's exponent is 0."""
    u = x + 1.0
    e, f = decompose(b, u)
    lost = b.select(x > 1.0, 1.0 - (u - x), x - (u - 1.0)) / u
    near = e.equals(0.0)
    result = _log_of_parts(b, e, b.select(near, x, f), b.select(near, 0.0, lost))
    result = edges(b, u, result)
    return b.select(b.abs(x) < 2.0 ** -(b.mantissa + 2), x, result)


def _truncate(value: float, dtype: str) -> tuple[float, float]:
    """`value` as a part with half the mantissa bits, and the rest."""
    bits = int(float_literal(value, "f64"), 16)
    keep = 12 if dtype == "f32" else 26
    mask = ~((1 << (52 - keep)) - 1)
    high = float.fromhex(_hex_of_bits(bits & mask))
    return high, (round_to_f32(value - high) if dtype == "f32" else value - high)


def _hex_of_bits(bits: int) -> str:
    exponent = ((bits >> 52) & 0x7FF) - 1023
    return f"0x1.{bits & ((1 << 52) - 1):013x}p{exponent}"


# 1/ln2 and 1/ln10, log10(2): value plus what the double leaves out.
_INVERSE_LN2 = (1.4426950408889634, 2.0355273740931033e-17)
_INVERSE_LN10 = (0.4342944819032518, 1.098319650216765e-17)
_LOG10_2 = (0.3010299956639812, -2.8037281277851704e-18)


def _split_log(b: Builder, f: Value, inverse: tuple[float, float]) -> tuple[Value, Value]:
    """(high, low) of log(1+f) times a constant."""
    if b.dtype == "f32":  # what the product loses is known
        c_high = round_to_f32(inverse[0])
        high = f * c_high
        low = b.fma(f, round_to_f32(inverse[0] - c_high), b.fma(f, c_high, -high))
        return high, b.fma(_short_series(b, f), c_high, low)
    half_square, rest = _series(b, f)
    full = f - half_square
    high = b.float_of(b.bits_of(full) & -(1 << 27))  # its product is exact
    low = (f - high) - half_square + rest
    c_high, c_low = _truncate(inverse[0], "f64")
    c_low += inverse[1]
    return high * c_high, b.fma(low + high, c_low, low * c_high)


def _sum_parts(b: Builder, whole: Value, high: Value, low: Value) -> Value:
    total = whole + high
    return total + (low + ((whole - total) + high))


def log2(b: Builder, x: Value) -> Value:
    if has_tables(b):
        return _by_steps(b, x, "log2")
    e, f = decompose(b, x)
    high, low = _split_log(b, f, _INVERSE_LN2)
    return edges(b, x, _sum_parts(b, e, high, low))


def log10(b: Builder, x: Value) -> Value:
    if has_tables(b):
        return _by_steps(b, x, "log10")
    e, f = decompose(b, x)
    high, low = _split_log(b, f, _INVERSE_LN10)
    c_high, c_low = _truncate(_LOG10_2[0], b.dtype)
    c_low = c_low + _LOG10_2[1] if b.dtype == "f64" else c_low
    return edges(b, x, _sum_parts(b, e * c_high, high, b.fma(e, c_low, low)))
