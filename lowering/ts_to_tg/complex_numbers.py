"""Functions of complex numbers as expressions of their parts.

Branch cuts and signs of zeros follow C99's Annex G for finite numbers; infinities and NaN go where
the formulas take them. Quotients scale by the larger part of the divisor (R. L. Smith, Algorithm
116, 1962), roots avoid cancellation by halving the larger of |z| + |x| and |z| - |x|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tensorscript.dialects.te.expr import Expr, binary, call, const, select, unary

from .functions import elementary, hypot


class Pair(NamedTuple):
    """A complex number: its parts, expressions of one real dtype."""

    real: Expr
    imag: Expr


Function = Callable[..., Pair]


def add(x: Pair, y: Pair) -> Pair:
    return Pair(x.real + y.real, x.imag + y.imag)


def sub(x: Pair, y: Pair) -> Pair:
    return Pair(x.real - y.real, x.imag - y.imag)


def mul(x: Pair, y: Pair) -> Pair:
    return Pair(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


def scale(x: Pair, factor: Expr) -> Pair:
    return Pair(x.real * factor, x.imag * factor)


def neg(x: Pair) -> Pair:
    return Pair(-x.real, -x.imag)


def conj(x: Pair) -> Pair:
    return Pair(x.real, -x.imag)


def chosen(condition: Expr, yes: Pair, no: Pair) -> Pair:
    return Pair(select(condition, yes.real, no.real), select(condition, yes.imag, no.imag))


def constant(value: complex, like: Pair) -> Pair:
    return Pair(const(value.real, like.real.dtype), const(value.imag, like.real.dtype))


def div(x: Pair, y: Pair) -> Pair:
    """By the ratio of the divisor's parts that is at most 1; of a zero divisor part by part."""
    wide = binary("ge", call("abs", y.real), call("abs", y.imag))
    large, small = select(wide, y.real, y.imag), select(wide, y.imag, y.real)
    ratio = small / large
    weight = const(1, large.dtype) / (large + small * ratio)
    real = select(wide, x.real + x.imag * ratio, x.real * ratio + x.imag)
    imag = select(wide, x.imag - x.real * ratio, x.imag * ratio - x.real)
    by_zero = Pair(x.real / call("abs", y.real), x.imag / call("abs", y.real))
    return chosen(large.equals(0), by_zero, Pair(real * weight, imag * weight))


def reciprocal(x: Pair) -> Pair:
    return div(constant(1, x), x)


def absolute(x: Pair) -> Expr:
    return hypot(x.real, x.imag)


def angle(x: Pair) -> Expr:
    return call("atan2", x.imag, x.real)


def polar(length: Expr, turn: Expr) -> Pair:
    return Pair(length * call("cos", turn), length * call("sin", turn))


def exp(x: Pair) -> Pair:
    """A real number stays one, also where it overflows."""
    length = call("exp", x.real)
    return Pair(
        length * call("cos", x.imag),
        select(x.imag.equals(0), x.imag, length * call("sin", x.imag)),
    )


def expm1(x: Pair) -> Pair:
    """exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b / 2)^2."""
    half = call("sin", x.imag * 0.5)
    real = call("expm1", x.real) * call("cos", x.imag) - 2 * half * half
    return Pair(real, exp(x).imag)


def log(x: Pair) -> Pair:
    """Of a length near 1 by log1p of the length's square less 1."""
    size, other = call("abs", x.real), call("abs", x.imag)
    large, small = binary("max", size, other), binary("min", size, other)
    near = binary("and", large > 0.5, large < 1.5)
    precise = 0.5 * call("log1p", (large - 1) * (large + 1) + small * small)
    return Pair(select(near, precise, call("log", absolute(x))), angle(x))


def log_to(base: float) -> Function:
    return lambda x: scale(log(x), const(1 / math.log(base), x.real.dtype))


def log1p(x: Pair) -> Pair:
    above = Pair(x.real + 1, x.imag)
    square = x.real * (2 + x.real) + x.imag * x.imag
    near = binary("and", binary("lt", call("abs", x.real), 0.5), call("abs", x.imag) < 0.5)
    real = select(near, 0.5 * call("log1p", square), call("log", absolute(above)))
    return Pair(real, angle(above))


def sqrt(x: Pair) -> Pair:
    """The root whose real part is not negative; the imaginary part keeps its sign."""
    root = call("sqrt", (absolute(x) + call("abs", x.real)) * 0.5)
    other = call("abs", x.imag) / (root * 2)
    right = binary("ge", x.real, 0)
    real, imag = select(right, root, other), select(right, other, root)
    is_zero = root.equals(0)
    return chosen(
        is_zero,
        Pair(root, x.imag),
        Pair(real, call("copysign", imag, x.imag)),
    )


def rsqrt(x: Pair) -> Pair:
    return reciprocal(sqrt(x))


def power(x: Pair, y: Pair) -> Pair:
    """exp(y log(x)); 0 to the power 0 is 1, to another one with positive real part 0."""
    found = exp(mul(y, log(x)))
    base_zero = binary("and", x.real.equals(0), x.imag.equals(0))
    no_power = binary("and", y.real.equals(0), y.imag.equals(0))
    undefined = select(y.real > 0, const(0, x.real.dtype), const(math.nan, x.real.dtype))
    of_zero = Pair(undefined, undefined)
    return chosen(no_power, constant(1, x), chosen(base_zero, of_zero, found))


def square(x: Pair) -> Pair:
    return mul(x, x)


def sgn(x: Pair) -> Pair:
    length = absolute(x)
    return chosen(length.equals(0), constant(0, x), Pair(x.real / length, x.imag / length))


def sinh(x: Pair) -> Pair:
    a, b = x
    return Pair(call("sinh", a) * call("cos", b), call("cosh", a) * call("sin", b))


def cosh(x: Pair) -> Pair:
    a, b = x
    return Pair(call("cosh", a) * call("cos", b), call("sinh", a) * call("sin", b))


def tanh(x: Pair) -> Pair:
    """Kahan's form; far from the imaginary axis the limit +-1."""
    a, b = x
    t, s = call("tan", b), call("sinh", a)
    beta = 1 + t * t
    rho = call("sqrt", 1 + s * s)
    bottom = 1 + beta * s * s
    found = Pair(beta * rho * s / bottom, t / bottom)
    far = call("abs", a) > 11
    decay = 4 * call("sin", b) * call("cos", b) * call("exp", -2 * call("abs", a))
    return chosen(far, Pair(call("copysign", const(1, a.dtype), a), decay), found)


def _turned(fn: Function) -> Function:
    """f(z) = -i g(iz): sin of sinh, tan of tanh, and their inverses."""

    def run(x: Pair) -> Pair:
        found = fn(Pair(-x.imag, x.real))
        return Pair(found.imag, -found.real)

    return run


def cos(x: Pair) -> Pair:
    return cosh(Pair(-x.imag, x.real))


def acos(x: Pair) -> Pair:
    """Kahan's: 2 atan2 of roots' real parts, and asinh of a product's imaginary part."""
    left, right = sqrt(Pair(1 - x.real, -x.imag)), sqrt(Pair(1 + x.real, x.imag))
    real = 2 * call("atan2", left.real, right.real)
    return Pair(real, elementary("asinh")(mul(conj(right), left).imag))


def asin(x: Pair) -> Pair:
    left, right = sqrt(Pair(1 - x.real, -x.imag)), sqrt(Pair(1 + x.real, x.imag))
    real = call("atan2", x.real, mul(left, right).real)
    return Pair(real, elementary("asinh")(mul(conj(left), right).imag))


def acosh(x: Pair) -> Pair:
    left, right = sqrt(Pair(x.real - 1, x.imag)), sqrt(Pair(x.real + 1, x.imag))
    imag = 2 * call("atan2", left.imag, right.real)
    return Pair(elementary("asinh")(mul(conj(left), right).real), imag)


def atanh(x: Pair) -> Pair:
    """log1p(4a / ((1 - a)^2 + b^2)) / 4, and half the angle of (1 - |z|^2, 2b)."""
    a, b = x
    gap = 1 - a
    real = 0.25 * call("log1p", 4 * a / (gap * gap + b * b))
    return Pair(real, 0.5 * call("atan2", 2 * b, gap * (1 + a) - b * b))


def sigmoid(x: Pair) -> Pair:
    return reciprocal(add(constant(1, x), exp(neg(x))))


def silu(x: Pair) -> Pair:
    return mul(x, sigmoid(x))


def sinc(x: Pair) -> Pair:
    angle = scale(x, const(math.pi, x.real.dtype))
    found = div(_turned(sinh)(angle), angle)
    is_zero = binary("and", x.real.equals(0), x.imag.equals(0))
    return chosen(is_zero, constant(1, x), found)


def logaddexp(x: Pair, y: Pair) -> Pair:
    """From the number with the larger real part; of equal infinities one of them."""
    swapped = y.real > x.real
    top, low = chosen(swapped, y, x), chosen(swapped, x, y)
    infinite = binary("and", call("isinf", top.real), x.real.equals(y.real))
    return chosen(infinite, top, add(top, log1p(exp(sub(low, top)))))


def equal(x: Pair, y: Pair) -> Expr:
    return binary("and", x.real.equals(y.real), x.imag.equals(y.imag))


def unequal(x: Pair, y: Pair) -> Expr:
    return unary("not", equal(x, y))


UNARY: dict[str, Function] = {
    "neg": neg,
    "negative": neg,
    "square": square,
    "reciprocal": reciprocal,
    "sgn": sgn,
    "exp": exp,
    "exp2": lambda x: exp(scale(x, const(math.log(2), x.real.dtype))),
    "expm1": expm1,
    "log": log,
    "log2": log_to(2),
    "log10": log_to(10),
    "log1p": log1p,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "sin": _turned(sinh),
    "cos": cos,
    "tan": _turned(tanh),
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "asin": asin,
    "arcsin": asin,
    "acos": acos,
    "arccos": acos,
    "atan": _turned(atanh),
    "arctan": _turned(atanh),
    "asinh": _turned(asin),
    "arcsinh": _turned(asin),
    "acosh": acosh,
    "arccosh": acosh,
    "atanh": atanh,
    "arctanh": atanh,
    "sigmoid": sigmoid,
    "silu": silu,
    "sinc": sinc,
    "special_sinc": sinc,
}
