"""Pointwise arithmetic and functions: one row an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    int32,
    int64,
    real_dtype,
)
from tensorscript.base.errors import OperatorError, ValueRangeError
from tensorscript.base.operand_dtypes import bool_clamp, unimplemented

from ..storage import Array, cast, compute, floating, is_tensor, promoted, value, wrap
from . import special
from .complex_parts import angle, make_complex, polar
from .division import div, float_power, floor_divide, fmod, power, remainder
from .pointwise import (
    apply2,
    binary,
    bitwise,
    factor,
    float_binary,
    float_unary,
    in_double,
    operand,
    rounding,
    unary,
)
from .shapes import check_broadcast

Kernel = Callable[..., Any]


def _scaled(other: Any, alpha: Any, dtype: DType) -> Any:
    """`alpha * other`; a complex one is a product also with 1, in which infinities make NaN."""
    if alpha == 1 and not dtype.is_complex:
        return other
    if isinstance(alpha, float) and not (dtype.is_floating_point or dtype.is_complex):
        raise OperatorError("For integral input tensors, argument alpha must not be a floating "
                            "point number.")  # fmt: skip
    return wrap(np.multiply(cast(other, dtype), operand(alpha, dtype)), dtype)


multiply = binary(np.multiply, factor)


def add(self: Any, other: Any, alpha: Any = 1) -> Any:
    dtype = promoted(self, other)
    return wrap(apply2(np.add, self, _scaled(other, alpha, dtype), dtype), dtype)


def sub(self: Any, other: Any, alpha: Any = 1) -> Any:
    dtype = promoted(self, other)
    if dtype is bool_:
        raise OperatorError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    _refuse_bool(self, other)
    return wrap(apply2(np.subtract, self, _scaled(other, alpha, dtype), dtype), dtype)


def _refuse_bool(*operands: Any) -> None:
    if any(getattr(x, "dtype", None) is bool_ or x is True or x is False for x in operands):
        raise OperatorError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    dtype = promoted(self, other)
    _refuse_bool(self, other)
    return wrap(apply2(np.subtract, other, _scaled(self, alpha, dtype), dtype), dtype)


def absolute(self: Any) -> Any:
    return wrap(np.abs(compute(self)), real_dtype(self.dtype))


def negative(self: Any) -> Any:
    if self.dtype is bool_:
        raise OperatorError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return wrap(np.negative(compute(self)), self.dtype)


def clamp(self: Any, lower: Any = None, upper: Any = None) -> Any:
    """Both bounds optional; NaN stays; where lower > upper the upper bound wins."""
    if lower is None and upper is None:
        raise OperatorError("torch.clamp: At least one of 'min' or 'max' must not be None")
    bounds = [b for b in (lower, upper) if b is not None]
    dtype = promoted(self, *bounds)
    if dtype is bool_:
        refused = bool_clamp(lower is not None, upper is not None, any(map(is_tensor, bounds)))
        if refused is not None:
            raise unimplemented(refused, dtype)
    out = cast(self, dtype)
    if lower is not None:
        check_broadcast(out, bound := cast(lower, dtype))
        out = np.maximum(out, bound)
    if upper is not None:
        check_broadcast(out, bound := cast(upper, dtype))
        out = np.minimum(out, bound)
    return wrap(out, dtype)


def clamp_max(self: Any, upper: Any) -> Any:
    return clamp(self, None, upper)


def round_decimals(self: Any, decimals: int = 0) -> Any:
    if self.dtype.is_integral or decimals == 0:
        return rounding(np.rint)(self)
    x = compute(self)
    scale = x.dtype.type(10.0 ** abs(decimals))
    out = np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale
    return wrap(out, self.dtype)


def sign(self: Any) -> Any:
    x = compute(self)
    if x.dtype.kind == "f":
        return wrap((x > 0).astype(x.dtype) - (x < 0), self.dtype)
    if x.dtype.kind == "c":
        return wrap(np.where(x == 0, 0, x / np.abs(x)), self.dtype)
    return wrap(x.copy() if x.dtype == bool else np.sign(x), self.dtype)


def lerp(self: Any, end: Any, weight: Any) -> Any:
    dtype = self.dtype
    for name, x in (("end", end), ("weight", weight)):
        if getattr(x, "dtype", dtype) is not dtype:
            raise OperatorError(
                f"expected dtype {cpp_name(dtype)} for `{name}` but got dtype {cpp_name(x.dtype)}"
            )
    a, b, w = cast(self, dtype), cast(end, dtype), cast(weight, dtype)
    check_broadcast(a, b, w)
    return wrap(np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)), dtype)


def addcmul(self: Any, first: Any, second: Any, scale: Any = 1) -> Any:
    dtype = promoted(self, first, second)
    a, b, c = cast(self, dtype), cast(first, dtype), cast(second, dtype)
    check_broadcast(a, b, c)
    return wrap(a + cast(scale, dtype) * b * c, dtype)


def addcdiv(self: Any, first: Any, second: Any, scale: Any = 1) -> Any:
    dtype = promoted(self, first, second)
    if not any(x.dtype.is_floating_point or x.dtype.is_complex for x in (first, second)):
        raise OperatorError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2."
        )
    a, b, c = cast(self, dtype), cast(first, dtype), cast(second, dtype)
    check_broadcast(a, b, c)
    return wrap(a + cast(scale, dtype) * b / c, dtype)


def nan_to_num(
    self: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    if self.dtype.is_complex:
        z = compute(self)
        parts = (nan_to_num(wrap(part, real_dtype(self.dtype)), nan, posinf, neginf)
                 for part in (z.real, z.imag))  # fmt: skip
        real, imaginary = map(compute, parts)
        return wrap(real + imaginary * z.dtype.type(1j), self.dtype)
    if not self.dtype.is_floating_point:
        return wrap(compute(self).copy(), self.dtype)
    x = compute(self)
    info = np.finfo(self.dtype.numpy if self.dtype.numpy.kind == "f" else np.float32)
    top = float(info.max) if self.dtype.short != "bf16" else 3.3895313892515355e38
    out = np.where(np.isnan(x), nan or 0.0, x)
    out = np.where(np.isposinf(x), top if posinf is None else posinf, out)
    return wrap(np.where(np.isneginf(x), -top if neginf is None else neginf, out), self.dtype)


def log_add_exp(a: Array, b: Array) -> Array:
    """log(exp a + exp b); of complex numbers without folding the angle of the larger one."""
    if a.dtype.kind != "c":
        return np.asarray(np.logaddexp(a, b))
    larger = np.where(a.real >= b.real, a, b)
    smaller = np.where(a.real >= b.real, b, a)
    grown = larger + log1p(np.exp(smaller - larger))
    same = np.isinf(larger.real) & (larger.real == smaller.real)
    return np.asarray(np.where(same, np.log(np.exp(a) + np.exp(b)), grown), a.dtype)


def logit(self: Any, eps: float | None = None) -> Any:
    dtype = floating(self.dtype)
    x = cast(self, dtype)
    if eps is not None:
        low, high = x.dtype.type(eps), x.dtype.type(1 - eps)
        x = np.where(x < low, low, np.where(x > high, high, x))  # `low` where it is above `high`
    return wrap(np.log(x / (1 - x)), dtype)


def where(condition: Any, self: Any, other: Any) -> Any:
    dtype = promoted(self, other)
    c, a, b = value(condition).astype(bool), cast(self, dtype), cast(other, dtype)
    check_broadcast(c, a, b)
    return wrap(np.where(c, a, b), dtype)


def bitwise_not(self: Any) -> Any:
    if self.dtype.is_floating_point or self.dtype.is_complex:
        raise unimplemented("bitwise_not_cpu", self.dtype)
    return wrap(np.invert(value(self)), self.dtype)


def times_log(log: Callable[[Array], Any]) -> Callable[[Array, Array], Array]:
    """a * log(b): 0 where a is 0 unless b is NaN."""
    return lambda a, b: np.where(np.isnan(b), b, np.where(a == 0, a.dtype.type(0), a * log(b)))


xlogy, xlog1py = float_binary(times_log(np.log)), float_binary(times_log(np.log1p))


def copysign(self: Any, other: Any) -> Any:
    dtype = floating(promoted(self, other))
    return wrap(apply2(np.copysign, self, other, dtype), dtype)


def square(self: Any) -> Any:
    """x ** 2: of bools, as int64."""
    x = compute(self)
    return wrap(x.astype(np.int64), int64) if self.dtype is bool_ else wrap(x * x, self.dtype)


def heaviside(self: Any, values: Any) -> Any:
    if self.dtype is not values.dtype:
        raise OperatorError("heaviside is not yet implemented for tensors with different dtypes.")
    fn = lambda x, v: np.where(x == 0, v, x > 0).astype(x.dtype)  # noqa: E731
    return wrap(apply2(fn, self, values, self.dtype), self.dtype)


def ldexp(self: Any, other: Any) -> Any:
    """self * 2 ** other, both steps being operators."""
    return multiply(self, wrap(np.exp2(cast(other, dtype := floating(other.dtype))), dtype))


def nextafter(self: Any, other: Any) -> Any:
    """The neighbour in the operands' own dtype, in the direction of `other`."""
    dtype = promoted(self, other)
    step = _NEXT.get(dtype, np.nextafter)
    return wrap(apply2(step, self, other, dtype), dtype)


def _next_float16(x: Array, y: Array) -> Array:
    found = np.nextafter(x.astype(np.float16), y.astype(np.float16))
    return np.where(x == y, y, found)  # NumPy keeps the sign of zero


def _next_bfloat16(x: Array, y: Array) -> Array:
    """Numbers of bfloat16 as float32: a sign and a magnitude, whose upper halves count by one."""
    x, y = np.broadcast_arrays(x, y)
    magnitude = np.abs(x).view(np.int32)
    away = np.where((y > x) == (x > 0), 1 << 16, -1 << 16).astype(np.int32)
    moved = np.copysign((magnitude + away).view(np.float32), x)
    least = np.copysign(np.array(1 << 16, np.int32).view(np.float32), y)
    found = np.where(x == y, y, np.where(x == 0, least, moved))
    return np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), found)


_NEXT: dict[DType, Callable[[Array, Array], Any]] = {
    bfloat16: _next_bfloat16, float16: _next_float16,
}  # fmt: skip


def positive(self: Any) -> Any:
    if self.dtype is bool_:
        raise OperatorError("The `+` operator, on a bool tensor is not supported.")
    return self


def frexp(self: Any) -> Any:
    """Mantissas in [0.5, 1) and exponents (int32) of powers of two."""
    if not self.dtype.is_floating_point:
        raise OperatorError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(value(self))
    return wrap(mantissa, self.dtype), wrap(exponent, int32)


def refuse_float(name: str, fn: Kernel) -> Kernel:
    def run(self: Any, other: Any) -> Any:
        if promoted(self, other).is_floating_point:
            raise ValueRangeError(f"{name} expects integral inputs")
        return fn(self, other)

    return run


def logistic(x: Array) -> Array:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def log1p(x: Array) -> Array:
    """log(1 + x); of complex numbers near 0 by log1p of |1 + x|^2 - 1."""
    if x.dtype.kind != "c":
        return np.asarray(np.log1p(x))
    a, b = x.real, x.imag
    square = a * (2 + a) + b * b
    near = (np.abs(a) < 0.5) & (np.abs(b) < 0.5)
    made = np.empty_like(x)
    made.real = np.where(near, np.log1p(np.where(near, square, 0)) / 2, np.log(np.hypot(a + 1, b)))
    made.imag = np.arctan2(b, a + 1)
    return made


def _sinc(x: Array) -> Array:
    return np.sinc(x).astype(x.dtype)


def relu(self: Any) -> Any:
    x = compute(self)
    return wrap(np.where(x < 0, x.dtype.type(0), x), self.dtype)  # NaN and -0 stay


def conj_physical(self: Any) -> Any:
    """The conjugates, stored; a real tensor itself."""
    return wrap(np.conj(compute(self)), self.dtype) if self.dtype.is_complex else self


def _rows(*names: str, kernel: Kernel) -> dict[str, Kernel]:
    return {f"aten::{n}": kernel for n in names}


_FLOAT_UNARY: dict[str, Callable[[Array], Any]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "arcsinh": np.arcsinh,
    "arccosh": np.arccosh, "arctanh": np.arctanh,
    "log1p": log1p, "log2": np.log2, "log10": np.log10, "expm1": np.expm1, "exp2": np.exp2,
    "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x, "sigmoid": logistic,
    "erf": in_double(special.erf), "erfc": in_double(special.erfc),
    "erfinv": in_double(special.erfinv), "lgamma": in_double(special.lgamma),
    "digamma": in_double(special.digamma),
    "sinc": _sinc, "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg, "special_expit": logistic, "special_erf": in_double(special.erf),
    "special_exp2": np.exp2, "special_expm1": np.expm1, "special_log1p": log1p,
}  # fmt: skip

_BINARY_TENSOR_SCALAR: dict[str, Kernel] = {
    "add": add, "sub": sub, "subtract": sub, "rsub": rsub, "mul": multiply,
    "multiply": multiply, "div": div, "divide": div, "true_divide": div,
    "remainder": remainder, "fmod": fmod,
    "bitwise_and": bitwise(np.bitwise_and), "bitwise_or": bitwise(np.bitwise_or),
    "bitwise_xor": bitwise(np.bitwise_xor), "__and__": bitwise(np.bitwise_and),
    "__or__": bitwise(np.bitwise_or), "__xor__": bitwise(np.bitwise_xor),
    "__lshift__": bitwise(np.left_shift), "__rshift__": bitwise(np.right_shift),
    "copysign": copysign,
}  # fmt: skip

_OVERLOADED: dict[str, Kernel] = {
    "div.Tensor_mode": div, "div.Scalar_mode": div, "divide.Tensor_mode": div,
    "divide.Scalar_mode": div, "floor_divide": floor_divide, "floor_divide.Scalar": floor_divide,
    "remainder.Scalar_Tensor": remainder,
    "pow.Tensor_Tensor": power, "pow.Tensor_Scalar": power, "pow.Scalar": power,
    **{f"bitwise_{n}_shift.{k}": bitwise(fn)
       for n, fn in (("left", np.left_shift), ("right", np.right_shift))
       for k in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")},
    **{f"bitwise_{n}.Scalar_Tensor": bitwise(fn) for n, fn in (
        ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor))},
    "lerp.Scalar": lerp, "lerp.Tensor": lerp, "addcmul": addcmul, "addcdiv": addcdiv,
    "clamp": clamp, "clamp.Tensor": clamp, "clip": clamp, "clip.Tensor": clamp,
    "clamp_min": clamp, "clamp_min.Tensor": clamp, "clamp_max": clamp_max,
    "clamp_max.Tensor": clamp_max, "where.self": where, "where.ScalarSelf": where,
    "where.ScalarOther": where, "where.Scalar": where,
    "abs": absolute, "absolute": absolute, "neg": negative, "negative": negative,
    "sign": sign, "sgn": sign, "relu": relu, "bitwise_not": bitwise_not,
    "floor": rounding(np.floor), "ceil": rounding(np.ceil), "trunc": rounding(np.trunc),
    "fix": rounding(np.trunc), "round": rounding(np.rint), "round.decimals": round_decimals,
    "frac": unary(lambda x: x - np.trunc(x)),
    "square": square, "positive": positive,
    "nan_to_num": nan_to_num, "logit": logit, "special_logit": logit,
    "atan2": float_binary(np.arctan2), "arctan2": float_binary(np.arctan2),
    "hypot": binary(np.hypot), "logaddexp": float_binary(log_add_exp),
    "logaddexp2": float_binary(np.logaddexp2),
    "xlogy.Tensor": xlogy, "xlogy.Scalar_Other": xlogy, "xlogy.Scalar_Self": xlogy,
    "special_xlog1py": xlog1py, "special_xlog1py.other_scalar": xlog1py,
    "special_xlog1py.self_scalar": xlog1py,
    "maximum": binary(np.maximum), "minimum": binary(np.minimum),
    "max.other": binary(np.maximum), "min.other": binary(np.minimum),
    "fmax": binary(np.fmax), "fmin": binary(np.fmin),
    "gcd": refuse_float("gcd", binary(np.gcd)), "lcm": refuse_float("lcm", binary(np.lcm)),
    "nextafter": nextafter,
    "heaviside": heaviside,
    "ldexp.Tensor": ldexp,
    "complex": make_complex, "polar": polar, "frexp.Tensor": frexp, "angle": angle,
    "conj_physical": conj_physical, "_conj_physical": unary(np.conj),
    "float_power.Tensor_Tensor": float_power, "float_power.Tensor_Scalar": float_power,
    "float_power.Scalar": float_power,
}  # fmt: skip

KERNELS: dict[str, Kernel] = {
    **{f"aten::{n}": float_unary(fn) for n, fn in _FLOAT_UNARY.items()},
    **{f"aten::{n}.Tensor": k for n, k in _BINARY_TENSOR_SCALAR.items()},
    **{f"aten::{n}.Scalar": k for n, k in _BINARY_TENSOR_SCALAR.items()},
    **{f"aten::{n}": k for n, k in _OVERLOADED.items()},
    "prim::abs": absolute,
}
