"""Rows of elementwise arithmetic: one expression an operator; the builder promotes."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorscript.base.dtypes import WIDE_UNSIGNED, DType, bool_, float16
from tensorscript.base.operand_dtypes import bool_clamp
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, known_as, select, unary
from tensorscript.dialects.te.vocabulary import UNARY_MATH

from .builder import Builder, Rows
from .elements import as_expr, compute_dtype, known
from .functions import elementary, hypot
from .sizes import product
from .values import Tensor, Value

Element = Callable[..., Expr]


def float_type(b: Builder, x: Value) -> Value:
    """`x` as operators that only know floats take it: integers and bools as the default dtype
    (complex numbers stay)."""
    is_float = x.dtype.is_floating_point or x.dtype.is_complex
    return x if is_float else b.cast(x, b.default_dtype)


def unary_float(fn: Element) -> Callable[..., Tensor]:
    """A row whose result is floating point for every input."""

    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        dtype = x.dtype if x.dtype.is_floating_point else b.default_dtype
        return b.pointwise(fn, x, dtype=dtype, compute=compute_dtype(dtype))

    return row


def math_call(name: str) -> Callable[..., Tensor]:
    return unary_float(elementary(name))


def rounding(name: str) -> Callable[..., Tensor]:
    """floor, ceil, ...: integers stay as they are."""

    def row(b: Builder, x: Tensor, *_: Value) -> Tensor:
        return b.pointwise(lambda e: call(name, e), x) if x.dtype.is_floating_point else x

    return row


def _add(b: Builder, x: Value, y: Value, alpha: Value = 1, *_: Value) -> Tensor:
    def fn(p: Expr, q: Expr) -> Expr:
        return binary("or", p, q) if p.dtype is bool_ else p + q

    return _combined(b, fn, x, y, alpha)


def _sub(b: Builder, x: Value, y: Value, alpha: Value = 1, *_: Value) -> Tensor:
    return _combined(b, lambda p, q: p - q, x, y, alpha)


def _combined(b: Builder, fn: Element, x: Value, y: Value, alpha: Value) -> Tensor:
    """`fn` of x and alpha y, which half types round."""
    given = b.operands(x, y)
    dtype = b.result_type(x, y)
    _check_alpha(b, alpha, dtype)
    if known_as(alpha, 1):
        return b.pointwise(fn, *given)
    wide = compute_dtype(dtype)

    def scaled(p: Expr, q: Expr, s: Expr) -> Expr:
        return fn(p, cast(cast(_times(q, s), dtype), wide))

    return b.pointwise(scaled, *given, b.rounded(alpha, dtype), dtype=dtype, compute=wide)


def _check_alpha(b: Builder, alpha: Value, dtype: DType) -> None:
    is_bool = alpha.dtype is bool_ if isinstance(alpha, Expr) else isinstance(alpha, bool)
    is_float = isinstance(alpha, float) or (
        isinstance(alpha, Expr) and alpha.dtype.is_floating_point
    )
    if is_bool and dtype is not bool_:
        b.error("Boolean alpha only supported for Boolean results.")
    if is_float and not dtype.is_floating_point:
        b.error("For integral input tensors, argument alpha must not be a floating point number.")


def _mul(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    return b.pointwise(_times, *b.operands(x, y, by_scalar=True))


def _times(p: Expr, q: Expr) -> Expr:
    return binary("and", p, q) if p.dtype is bool_ else p * q


def true_div(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    """x / y in floating point; integers become the default dtype."""
    dtype = b.result_type(x, y)
    if not dtype.is_floating_point:
        dtype = b.default_dtype
    given = b.operands(x, y, by_scalar=True)
    return b.pointwise(lambda p, q: p / q, *given, dtype=dtype, compute=compute_dtype(dtype))


def _no_zero(b: Builder, x: Value, y: Value) -> None:
    """Integer division by zero, or by a tensor with a zero in it, is an error in PyTorch; elements
    of which there are none are divided by anything."""
    if isinstance(y, Tensor):
        fits = as_expr(b.item(b.call("aten::all", b.call("aten::ne.Scalar", y, 0))))
    else:
        fits = binary("ne", cast(as_expr(y), b.result_type(x, y)), 0)
    if isinstance(x, Tensor):
        fits = binary("or", fits, product(x.shape).equals(0))
    b.check(known(fits), "ZeroDivisionError")


def floor_div(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    """x // y, rounded down. Integers refuse a zero divisor."""
    if not b.result_type(x, y).is_floating_point:
        _no_zero(b, x, y)
        return b.pointwise(lambda p, q: p // q, x, y)
    # x // 0 is x / 0, not the NaN of the remainder form.
    given = b.operands(x, y, by_scalar=True)
    return b.pointwise(lambda p, q: select(q.equals(0), p / q, p // q), *given)


def _div_mode(b: Builder, x: Value, y: Value, mode: str | None = None, *_: Value) -> Tensor:
    if mode is None:
        return true_div(b, x, y)
    if (dtype := b.result_type(x, y)) in WIDE_UNSIGNED or dtype is bool_:
        b.unimplemented(f"div_{mode}_cpu", dtype)
    if mode == "floor":
        return floor_div(b, x, y)
    if b.result_type(x, y).is_floating_point:  # a half type rounds the quotient first
        quotient: Tensor = b.call("aten::trunc", true_div(b, x, y))
        return quotient
    _no_zero(b, x, y)
    return b.pointwise(lambda p, q: binary("truncdiv", p, q), x, y)


def _remainder(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    if not b.result_type(x, y).is_floating_point:
        _no_zero(b, x, y)
    return b.pointwise(lambda p, q: p % q, *b.operands(x, y))


def _fmod(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    if not b.result_type(x, y).is_floating_point:
        _no_zero(b, x, y)
    return b.pointwise(lambda p, q: binary("truncmod", p, q), *b.operands(x, y))


def integer_power(x: Expr, n: int) -> Expr:
    """x ** n for n >= 1 by repeated squaring."""
    out: Expr | None = None
    while n:
        if n & 1:
            out = x if out is None else out * x
        x, n = x * x, n >> 1
    assert out is not None
    return out


def _pow(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
    dtype = b.result_type(x, y)
    if isinstance(y, int | float) and not isinstance(y, bool):
        if not dtype.is_floating_point and y < 0:
            b.error("Integers to negative integer powers are not allowed.")
        if y == 0:
            return b.pointwise(lambda p: const(1, p.dtype), x, dtype=dtype, compute=dtype)
        if float(y).is_integer() and 0 < y <= 64 and (y <= 4 or not dtype.is_floating_point):
            n, wide = int(y), compute_dtype(dtype)
            return b.pointwise(lambda p: integer_power(p, n), x, dtype=dtype, compute=wide)
        if abs(y) == 0.5 and dtype.is_floating_point and dtype is not float16:
            root = "sqrt" if y > 0 else "rsqrt"
            return b.pointwise(
                lambda p: call(root, p), x, dtype=dtype, compute=compute_dtype(dtype)
            )
    if isinstance(y, Expr) and not dtype.is_floating_point:
        b.check(known(binary("ge", y, 0)), "Integers to negative integer powers are not allowed.")
    return b.pointwise(lambda p, q: binary("pow", p, q), *b.operands(x, y))


def _neg(b: Builder, x: Tensor, *_: Value) -> Tensor:
    if x.dtype is bool_:
        b.error(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return b.pointwise(lambda e: -e, x)


def absolute(e: Expr) -> Expr:
    if e.dtype.is_floating_point:
        return call("abs", e)
    return select(e < 0, -e, e) if e.dtype.signed else e


def _sign(e: Expr) -> Expr:
    if e.dtype is bool_:
        return e
    zero, one = const(0, e.dtype), const(1, e.dtype)
    negative = select(e < zero, -one, zero) if e.dtype.signed else zero
    return select(e > zero, one, negative)


def _clamp(b: Builder, x: Tensor, low: Value = None, high: Value = None, *_: Value) -> Tensor:
    if low is None and high is None:
        b.error("torch.clamp: At least one of 'min' or 'max' must not be None")
    bounds = [v for v in (low, high) if v is not None]
    if b.result_type(x, *bounds) is bool_:
        by_tensors = any(isinstance(v, Tensor) for v in bounds)
        if (refused := bool_clamp(low is not None, high is not None, by_tensors)) is not None:
            b.unimplemented(refused, bool_)

    def fn(e: Expr, *ends: Expr) -> Expr:
        at = iter(ends)
        if low is not None:
            e = binary("max", e, next(at))
        return binary("min", e, next(at)) if high is not None else e

    return b.pointwise(fn, x, *bounds)


def _lerp(b: Builder, x: Tensor, y: Tensor, weight: Value, *_: Value) -> Tensor:
    def fn(p: Expr, q: Expr, w: Expr) -> Expr:
        near = binary("lt", absolute(w), 0.5)
        step = q - p
        return select(near, call("muladd", w, step, p), call("muladd", w - 1, step, q))

    return b.pointwise(fn, x, y, weight)


def _addcmul(b: Builder, x: Tensor, p: Tensor, q: Tensor, value: Value = 1, *_: Value) -> Tensor:
    dtype = b.result_type(x, p, q)  # a fraction does not raise integers
    wide = compute_dtype(dtype)
    return b.pointwise(lambda e, m, n, v: e + v * m * n, x, p, q, value, dtype=dtype, compute=wide)


def _addcdiv(b: Builder, x: Tensor, p: Tensor, q: Tensor, value: Value = 1, *_: Value) -> Tensor:
    return b.pointwise(lambda e, m, n, v: e + v * (m / n), x, p, q, value)


def _nan_to_num(
    b: Builder, x: Tensor, nan: Value = None, high: Value = None, low: Value = None, *_: Value
) -> Tensor:
    if not x.dtype.is_floating_point:
        return x
    largest = {
        "float16": 65504.0,
        "bfloat16": 3.3895313892515355e38,
        "float64": 1.7976931348623157e308,
    }
    top = largest.get(x.dtype.name, 3.4028234663852886e38)

    def fn(e: Expr, n: Expr, h: Expr, w: Expr) -> Expr:
        infinite = select(e.equals(math.inf), h, select(e.equals(-math.inf), w, e))
        return select(call("isnan", e), n, infinite)

    return b.pointwise(
        fn,
        x,
        0.0 if nan is None else nan,
        top if high is None else high,
        -top if low is None else low,
        dtype=x.dtype,
        compute=compute_dtype(x.dtype),
    )


def logaddexp(p: Expr, q: Expr) -> Expr:
    """log(exp(p) + exp(q)) without overflow; equal infinities stay."""
    top = binary("max", p, q)
    same = p.equals(q)
    gap = call("abs", p - q)
    infinite = call("isinf", top)
    return select(binary("and", same, infinite), top, top + call("log1p", call("decay", -gap)))


def _xlogy(p: Expr, q: Expr) -> Expr:
    plain = select(p.equals(0), const(0, p.dtype), p * call("log", q))
    return select(call("isnan", q), q, plain)


def binary_float(fn: Element) -> Callable[..., Tensor]:
    """Two operands; the result is floating point for every input."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
        dtype = b.result_type(x, y)
        dtype = dtype if dtype.is_floating_point else b.default_dtype
        return b.pointwise(fn, *b.operands(x, y), dtype=dtype, compute=compute_dtype(dtype))

    return row


def bitwise(op: str) -> Callable[..., Tensor]:
    """Rows of bitwise operators, for integers and bools."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
        dtype = b.result_type(x, y)
        if dtype.is_floating_point:
            b.unimplemented(f"bitwise_{op}_cpu", dtype)
        return b.pointwise(lambda p, q: binary(op, p, q), x, y)

    return row


def _invert(b: Builder, x: Tensor, *_: Value) -> Tensor:
    if x.dtype.is_floating_point:
        b.unimplemented("bitwise_not_cpu", x.dtype)
    return b.pointwise(lambda e: unary("not", e), x)


def extremum(op: str) -> Callable[..., Tensor]:
    """Rows of `maximum` (op "max") and `minimum`; NaN goes through."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Tensor:
        if b.result_type(x, y) is bool_:
            return b.pointwise(lambda p, q: binary("or" if op == "max" else "and", p, q), x, y)
        return b.pointwise(lambda p, q: binary(op, p, q), x, y)

    return row


def _reciprocal(e: Expr) -> Expr:
    return const(1, e.dtype) / e


def _logit(b: Builder, x: Tensor, eps: Value = None, *_: Value) -> Tensor:
    if eps is not None:
        x = float_type(b, x)
        high = b.call("aten::clamp_max", x, 1 - as_expr(eps))
        x = b.call("aten::where", b.call("aten::lt.Scalar", x, eps), b.full((), eps, x.dtype), high)
    return unary_float(lambda e: call("log", e / (1 - e)))(b, x)


POINTWISE: Rows = {
    **{f"aten::{name}": math_call(name) for name in UNARY_MATH},
    **{f"aten::{name}": rounding(name) for name in ("floor", "ceil", "trunc", "round")},
    "aten::fix": rounding("trunc"),
    "aten::arcsin": math_call("asin"),
    "aten::arccos": math_call("acos"),
    "aten::arctan": math_call("atan"),
    "aten::special_expit": math_call("sigmoid"),
    "aten::add": _add,
    "aten::sub": _sub,
    "aten::subtract": _sub,
    "aten::rsub": lambda b, x, y, alpha=1, *_: _sub(b, y, x, alpha),
    "aten::mul": _mul,
    "aten::multiply": _mul,
    "aten::div": true_div,
    "aten::div.Tensor_mode": _div_mode,
    "aten::div.Scalar_mode": _div_mode,
    "aten::divide": true_div,
    "aten::divide.Tensor_mode": _div_mode,
    "aten::divide.Scalar_mode": _div_mode,
    "aten::true_divide": true_div,
    "aten::floor_divide": floor_div,
    "aten::floordiv": floor_div,
    "aten::remainder": _remainder,
    "aten::fmod": _fmod,
    "aten::pow": _pow,
    "aten::square": lambda b, x, *_: _pow(b, x, 2),
    "aten::neg": _neg,
    "aten::negative": _neg,
    "aten::positive": lambda b, x, *_: x,
    "aten::abs": lambda b, x, *_: b.pointwise(absolute, x),
    "aten::absolute": lambda b, x, *_: b.pointwise(absolute, x),
    "prim::abs": lambda b, x, *_: b.pointwise(absolute, x),
    "aten::sign": lambda b, x, *_: b.pointwise(_sign, x),
    "aten::sgn": lambda b, x, *_: b.pointwise(_sign, x),
    "aten::frac": lambda b, x, *_: b.pointwise(lambda e: e - call("trunc", e), x),
    "aten::reciprocal": unary_float(_reciprocal),
    "aten::deg2rad": unary_float(lambda e: e * (math.pi / 180)),
    "aten::rad2deg": unary_float(lambda e: e * (180 / math.pi)),
    "aten::logit": _logit,
    "aten::clamp": _clamp,
    "aten::clip": _clamp,
    "aten::clamp_min": lambda b, x, low, *_: _clamp(b, x, low, None),
    "aten::clamp_max": lambda b, x, high, *_: _clamp(b, x, None, high),
    "aten::lerp": _lerp,
    "aten::addcmul": _addcmul,
    "aten::addcdiv": _addcdiv,
    "aten::nan_to_num": _nan_to_num,
    "aten::logaddexp": binary_float(logaddexp),
    "aten::xlogy": binary_float(_xlogy),
    "aten::atan2": binary_float(lambda p, q: call("atan2", p, q)),
    "aten::hypot": binary_float(hypot),
    "aten::copysign": binary_float(lambda p, q: call("copysign", p, q)),
    "aten::maximum": extremum("max"),
    "aten::minimum": extremum("min"),
    "aten::max.other": extremum("max"),
    "aten::min.other": extremum("min"),
    "aten::bitwise_not": _invert,
    **{f"aten::bitwise_{n}": bitwise(n) for n in ("and", "or", "xor")},
    **{f"aten::__{n}__": bitwise(n) for n in ("and", "or", "xor")},
    "aten::bitwise_left_shift": bitwise("shl"),
    "aten::bitwise_right_shift": bitwise("shr"),
    "aten::__lshift__": bitwise("shl"),
    "aten::__rshift__": bitwise("shr"),
}
