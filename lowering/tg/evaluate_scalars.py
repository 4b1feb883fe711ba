"""The meaning of the functions and operations of expressions, over NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.inverse_error_function import erfinv

Array = np.ndarray


def _elementwise(fn: Callable[[float], float]) -> Callable[[Array], Array]:
    def run(x: Array) -> Array:
        return np.asarray(np.vectorize(fn, otypes=[np.float64])(np.asarray(x, np.float64)))

    return run


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.nan if math.isnan(x) else math.lgamma(x)


def _digamma(x: float) -> float:
    """Recurrence up to 10, then the asymptotic series; reflection for negative arguments."""
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x == 0:
        return math.copysign(math.inf, -x)
    if x < 0:
        if x == math.floor(x):
            return math.nan
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return shift + math.log(x) - 0.5 / x - series


def _gelu(x: float) -> float:
    return x * 0.5 * (1 + math.erf(x * math.sqrt(0.5)))


CALLS: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _elementwise(math.erf), "erfc": _elementwise(math.erfc),
    "gelu": _elementwise(_gelu), "erfinv": _elementwise(erfinv), "lgamma": _elementwise(_lgamma),
    "digamma": _elementwise(_digamma), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.round, "abs": np.abs, "atan2": np.arctan2, "hypot": np.hypot,
    "copysign": np.copysign, "nextafter": np.nextafter, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "signbit": np.signbit, "fma": lambda a, b, c: a * b + c,
    "muladd": lambda a, b, c: a * b + c, "decay": np.exp, "decay2": np.exp2,
}  # fmt: skip
"""What the functions of expressions compute."""


def _trunc_div(a: Array, b: Array) -> Array:
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient))


def _power(a: Array, b: Array) -> Array:
    """Integers to negative powers are what is left of the fraction: 0, 1 or -1."""
    if a.dtype.kind == "f":
        return np.asarray(np.power(a, b))
    sign = np.where(np.asarray(b) % 2 == 0, 1, -1)
    inverse = np.where(a == 1, 1, np.where(a == -1, sign, 0))
    return np.asarray(np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))))


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "min": np.minimum, "max": np.maximum, "pow": _power, "floordiv": np.floor_divide,
    "mod": np.mod, "truncdiv": _trunc_div, "truncmod": np.fmod, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
"""What the operations of two operands compute."""
COMBINE: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "greater": np.fmax, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
"""How reductions, scans and scatters join two values."""
