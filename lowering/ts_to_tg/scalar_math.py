"""Functions of the `math` module, as C computes them."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import float64, int64
from tensorscript.dialects.te.expr import Expr, binary, call, const, select

from .builder import Builder, Rows
from .elements import as_expr, convert, known
from .functions import elementary
from .scalar_arithmetic import true_div
from .scalar_values import is_unknown
from .values import Value


def _float_pair(fn: Callable[[Expr, Expr], Expr]) -> Callable[..., Value]:
    """A function of two numbers as floats, which gives a float."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        return known(fn(convert(as_expr(x), float64), convert(as_expr(y), float64)))

    return row


def _logarithm(b: Builder, x: Value, base: Value = None, *_: Value) -> Value:
    """log of one number, or of a number to a base."""
    log = math_function("log", math.log)
    return log(b, x) if base is None else true_div(b, log(b, x), log(b, base))


def _angle(b: Builder, x: Value) -> Value:
    """pi for negative numbers, 0 for others, NaN for NaN."""
    e = convert(as_expr(x), float64)
    turned = select(e < 0, const(math.pi, float64), const(0.0, float64))
    return known(select(call("isnan", e), e, turned))


def _power(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    message = "0.0 cannot be raised to a negative power"
    if is_unknown(x, y):
        base, exponent = convert(as_expr(x), float64), convert(as_expr(y), float64)
        b.check(known(binary("or", binary("ne", base, 0), binary("ge", exponent, 0))), message)
        return known(binary("pow", base, exponent))
    if x == 0 and y < 0:
        b.error(message)
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 else math.inf
    except ValueError:
        return math.nan


def _fmod(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    """C's fmod; PyTorch's rows for ints give a float, too."""
    if not is_unknown(x, y) and y != 0 and math.isfinite(x):
        return math.fmod(x, y)
    return known(binary("truncmod", convert(as_expr(x), float64), convert(as_expr(y), float64)))


def _ieee_remainder(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    """C's remainder: what is left of the nearest multiple, of two the even one (fdlibm)."""
    if not is_unknown(x, y) and y != 0 and math.isfinite(x):
        return math.remainder(x, y)
    p, q = (convert(as_expr(v), float64) for v in (x, y))
    size, step = (select(call("signbit", e), -e, e) for e in (p, q))
    low = b.scalar_of(b.scalar_operand(binary("truncmod", size, step + step)))
    less = low - step
    near = select(binary("ge", less + less, step), less - step, less)
    found = select(binary("gt", low + low, step), near, low)
    return known(select(call("signbit", p), -found, found))


def math_function(name: str, fn: Callable[[float], float]) -> Callable[..., Value]:
    def row(b: Builder, x: Value, *_: Value) -> Value:
        if isinstance(x, Expr):
            return known(elementary(name)(convert(x, float64)))
        try:
            return fn(float(x))
        except OverflowError:
            return math.inf
        except ValueError:
            ends = x == 0 or name == "lgamma"  # whose poles are 0, -1, -2, ...
            return _AT_DOMAIN_END.get(name, math.nan) if ends else math.nan

    return row


def _times(factor: float) -> Callable[..., Value]:
    def row(b: Builder, x: Value, *_: Value) -> Value:
        return known(convert(x, float64) * factor) if isinstance(x, Expr) else x * factor

    return row


def _tested(name: str, fn: Callable[[float], bool]) -> Callable[..., Value]:
    def row(b: Builder, x: Value) -> Value:
        return known(call(name, x)) if is_unknown(x) else fn(x)

    return row


def to_whole(name: str, fn: Callable[[float], int]) -> Callable[..., Value]:
    """floor and ceil give ints, and refuse what 64 bits do not hold."""

    def row(b: Builder, x: Value, *_: Value) -> Value:
        if isinstance(x, Expr):
            if x.dtype is int64:
                return x
            inside = binary("and", binary("ge", x, -(2.0**63)), binary("lt", x, 2.0**63))
            b.check(known(inside), "Cannot convert float {} to integer")
            return known(convert(call(name, x), int64))
        if isinstance(x, float) and not -(2.0**63) <= x < 2.0**63:
            b.error(f"Cannot convert float {x:f} to integer")
        return fn(x)

    return row


_AT_DOMAIN_END = {"log": -math.inf, "log2": -math.inf, "log10": -math.inf, "lgamma": math.inf}

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10,
    "log1p": math.log1p, "expm1": math.expm1, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "asinh": math.asinh, "acosh": math.acosh, "atanh": math.atanh,
    "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma,
}  # fmt: skip


MATH: Rows = {
    "aten::fmod": _fmod,
    "aten::mathremainder": _ieee_remainder,
    "aten::pow": _power,
    "aten::floor": to_whole("floor", math.floor),
    "aten::ceil": to_whole("ceil", math.ceil),
    "aten::round": math_function("round", lambda x: float(round(x))),
    **{f"aten::{n}": math_function(n, f) for n, f in _FUNCTIONS.items()},
    "aten::log": _logarithm,
    "aten::degrees": _times(180 / math.pi),
    "aten::radians": _times(math.pi / 180),
    "aten::atan2": _float_pair(lambda x, y: call("atan2", x, y)),
    "aten::copysign": _float_pair(lambda x, y: call("copysign", x, y)),
    "aten::ldexp": _float_pair(lambda x, n: x * call("exp2", n)),
    "aten::angle": _angle,
    "aten::isnan": _tested("isnan", math.isnan),
    "aten::isinf": _tested("isinf", math.isinf),
    "aten::isfinite": _tested("isfinite", math.isfinite),
}
