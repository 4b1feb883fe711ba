"""Arithmetic of TorchScript's numbers: 64-bit ints that wrap around, floor division, C's floats."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar

from tensorscript.base.dtypes import float64, int32, int64
from tensorscript.base.errors import OperatorError
from tensorscript.base.scalar_range import check_range
from tensorscript.base.text import float_of, integer_of

from ..storage import wrap_int64

Kernel = Callable[..., Any]

MIXED = ("int", "float", "int_float", "float_int", "")
WITH_COMPLEX = (
    *MIXED, "complex", "int_complex", "complex_int", "float_complex", "complex_float",
)  # fmt: skip
COMPARED = (*MIXED, "str")
_INT_MIN = -(1 << 63)


def rows(name: str, overloads: tuple[str, ...], kernel: Kernel) -> dict[str, Kernel]:
    return {f"aten::{name}.{o}" if o else f"aten::{name}": kernel for o in overloads}


def wrapped(fn: Callable[..., Any]) -> Kernel:
    """Integer results wrap around to 64 bits."""

    def run(*operands: Any) -> Any:
        out = fn(*operands)
        return wrap_int64(out) if type(out) is int else out

    return run


def divide(a: Any, b: Any) -> Any:
    """True division; by zero as IEEE says, also for ints."""
    if isinstance(a, complex) or isinstance(b, complex):
        return a / b
    x, y = float(a), float(b)
    if y:
        return x / y
    if x == 0 or math.isnan(x):
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _extremum(closer: Callable[[Any, Any], bool]) -> Kernel:
    """`max` or `min` of two numbers: the second where the comparison fails, as of NaN."""

    def run(a: Any, b: Any) -> Any:
        found = a if closer(a, b) else b
        return float(found) if isinstance(a, float) or isinstance(b, float) else found

    return run


def floor_divide(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise OperatorError("division by 0")
        return wrap_int64(a // b)
    quotient = divide(a, b)  # of floats, C++'s floor(a / b): 1.0 // 0.1 is 10
    return math.copysign(math.floor(quotient), quotient) if math.isfinite(quotient) else quotient


def remainder(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise OperatorError("division by 0")
        return a % b
    return a % b if b else math.nan


def truncated_divide(a: int, b: int) -> int:
    if b == 0:
        raise OperatorError("division by 0")
    return wrap_int64(-(-a // b) if (a < 0) != (b < 0) else a // b)


def power(a: Any, b: Any) -> Any:
    """int ** int is a float."""
    if isinstance(a, complex) or isinstance(b, complex):
        return complex(a) ** b
    x, y = float(a), float(b)
    if x == 0 and y < 0:
        raise OperatorError("0.0 cannot be raised to a negative power")
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 else math.inf
    except ValueError:
        return math.nan


def integer_power(a: int, b: int) -> int:
    if b < 0:
        return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)
    return wrap_int64(pow(a, b, 1 << 64))


def _implicit(t: Any, is_int: bool = False) -> Any:
    """The number of a tensor that stands for a number without being asked."""
    if t.dim():
        raise OperatorError("Cannot input a tensor of dimension other than 0 as a scalar argument")
    if is_int and t.dtype.is_floating_point:
        raise OperatorError(f"Cannot input a tensor of type {t.dtype.word} as an integral argument")
    return t.item()


def quotient_and_remainder(a: Any, b: Any) -> tuple[Any, Any]:
    """`divmod(a, b)`."""
    is_float = isinstance(a, float) or isinstance(b, float)
    if b == 0:
        what = "float divmod()" if is_float else "integer division or modulo by zero"
        raise OperatorError(f"ZeroDivisionError: {what}")
    return divmod(a, b) if is_float else (floor_divide(a, b), remainder(a, b))


N = TypeVar("N", int, float)


def _of_text(convert: Callable[[str], N], text: str) -> N:
    try:
        return convert(text)
    except ValueError as error:
        raise OperatorError(str(error)) from None


def to_int(x: Any) -> int:
    """C's conversion: towards zero; what does not fit is -2**63."""
    if isinstance(x, str):
        return _of_text(integer_of, x)
    if isinstance(x, complex):
        raise OperatorError("value cannot be converted to type int without overflow")
    if isinstance(x, float) and not -(2.0**63) <= x < 2.0**63:
        return _INT_MIN
    return int(x)


def whole_tensor(x: Any) -> int:
    """Of the only element; 2**63 is compared as a float, in which it is the greatest int."""
    number = x.item()
    if not isinstance(number, int):
        check_range(number, int64)
    return to_int(number.real)


def whole_number(x: Any) -> int:
    """Of a number that a tensor held: what is no integer goes through C's int."""
    if not isinstance(x, int):
        check_range(x, int32)
    return to_int(x.real)


def real_tensor(x: Any) -> float:
    """Of the only element."""
    check_range(number := x.item(), float64)
    return float(number.real)


def to_float(x: Any) -> float:
    if isinstance(x, str):
        return _of_text(float_of, x)
    if isinstance(x, complex):
        raise OperatorError("value cannot be converted to type float without overflow")
    return float(x)


def real(fn: Callable[..., float], pole: float = math.nan) -> Kernel:
    """A libm function: domain errors give NaN, overflow inf, `pole` at zero."""

    def run(*operands: Any) -> Any:
        if isinstance(operands[0], complex):
            return getattr(cmath, fn.__name__)(*operands)
        try:
            return fn(*(float(x) for x in operands))
        except OverflowError:
            return math.inf
        except ValueError:
            return pole if operands[-1] == 0 and not math.isnan(pole) else math.nan

    return run


def _lgamma(x: float) -> float:
    """inf at the poles 0, -1, -2, ..."""
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def to_whole(fn: Callable[[float], int]) -> Callable[[Any], int]:
    """`math.floor` or `math.ceil`, which refuse what 64 bits do not hold."""

    def run(x: Any) -> int:
        if isinstance(x, float) and not -(2.0**63) <= x < 2.0**63:
            raise OperatorError(f"Cannot convert float {x:f} to integer")
        return fn(x)

    return run


def _shift_left(a: int, b: int) -> int:
    return wrap_int64(a << b)


def factorial(a: int) -> int:
    if a < 0:
        raise OperatorError("factorial() not defined for negative values")
    return wrap_int64(math.factorial(a))


def is_same(a: Any, b: Any) -> bool:
    """Identity, which for numbers is equality. Of two strings or complex numbers Python does not
    tell: scripts that compare one with itself do not ask here."""
    if isinstance(a, str | complex) and isinstance(b, str | complex):
        return False
    return a is b or (isinstance(a, int | float) and type(a) is type(b) and a == b)


def range_length(low: int, high: int, step: int) -> int:
    """The number of elements of `range(low, high, step)`, which has wrapped around in 64 bits."""
    if step == 0:
        raise OperatorError("range() arg 3 must not be zero")
    distance = high - low if step > 0 else low - high
    return wrap_int64(max(-(-distance // abs(step)), 0))


def _make_complex(x: Any, y: Any = 0) -> complex:
    return complex(float(x), float(y)) if not isinstance(x, complex) else x


_EQUAL = (*WITH_COMPLEX, "bool", "str", "device", "enum", "int_list", "float_list", "bool_list",
          "str_list")  # fmt: skip
_NO_MIXED_INT = tuple(o for o in _EQUAL if o not in ("int_complex", "complex_int"))
_UNARY = ("int", "float", "Scalar")
_MATH: dict[str, Kernel] = {
    "sqrt": real(math.sqrt), "exp": real(math.exp), "sin": real(math.sin), "cos": real(math.cos),
    "tan": real(math.tan), "tanh": real(math.tanh), "sinh": real(math.sinh),
    "cosh": real(math.cosh), "asin": real(math.asin), "acos": real(math.acos),
    "atan": real(math.atan), "asinh": real(math.asinh), "acosh": real(math.acosh),
    "atanh": real(math.atanh), "expm1": real(math.expm1), "erf": real(math.erf),
    "erfc": real(math.erfc), "log1p": real(math.log1p), "log10": real(math.log10, -math.inf),
    "gamma": real(math.gamma, math.inf), "lgamma": real(_lgamma),
    "degrees": real(math.degrees), "radians": real(math.radians), "log": real(math.log, -math.inf),
    "fabs": real(math.fabs),
}  # fmt: skip
_COMPLEX: dict[str, Kernel] = {
    "sqrt": cmath.sqrt, "exp": cmath.exp, "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan,
    "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh, "asin": cmath.asin,
    "acos": cmath.acos, "atan": cmath.atan, "asinh": cmath.asinh, "acosh": cmath.acosh,
    "atanh": cmath.atanh, "log": cmath.log, "log10": cmath.log10, "isnan": cmath.isnan,
    "isinf": cmath.isinf, "isfinite": cmath.isfinite,
}  # fmt: skip
_FLOAT_PAIRS: dict[str, tuple[Kernel, str]] = {
    "fmod": (real(math.fmod), ""), "copysign": (real(math.copysign), ""),
    "mathremainder": (real(math.remainder), ""), "atan2": (real(math.atan2), "Scalar_Scalar"),
}  # fmt: skip

KERNELS: dict[str, Kernel] = {
    **rows("add", WITH_COMPLEX, wrapped(lambda a, b: a + b)),
    **rows("sub", WITH_COMPLEX, wrapped(lambda a, b: a - b)),
    **rows("mul", WITH_COMPLEX, wrapped(lambda a, b: a * b)),
    **rows("div", ("int", "float", "complex", ""), divide),
    **rows("floordiv", MIXED, floor_divide),
    **rows("remainder", MIXED, remainder),
    "aten::__round_to_zero_floordiv.int": truncated_divide,
    **rows("pow", ("int", "float", "complex", "int_float", "float_int", "float_complex",
                   "complex_float", "Scalar_Scalar"), power),
    "aten::pow.int_to_int": integer_power,
    **rows("lt", COMPARED, lambda a, b: a < b),
    **rows("le", COMPARED, lambda a, b: a <= b),
    **rows("gt", COMPARED, lambda a, b: a > b),
    **rows("ge", COMPARED, lambda a, b: a >= b),
    **rows("eq", _NO_MIXED_INT, lambda a, b: a == b),
    **rows("ne", _NO_MIXED_INT, lambda a, b: a != b),
    **rows("neg", (*_UNARY, "complex"), wrapped(lambda a: -a)),
    **rows("floor", _UNARY, to_whole(math.floor)),
    **rows("ceil", _UNARY, to_whole(math.ceil)),
    **rows("round", _UNARY, lambda a: float(round(a)) if math.isfinite(a) else a),
    **{k: v for n, fn in _MATH.items() for k, v in rows(n, _UNARY, fn).items()},
    **{k: v for n, (fn, last) in _FLOAT_PAIRS.items()
       for k, v in rows(n, (*MIXED[:-1], last), fn).items()},
    **rows("log", ("int_int", "float_float", "int_float", "float_int"),
           lambda a, b: divide(_MATH["log"](a), _MATH["log"](b))),
    **rows("log", ("complex_complex", "int_complex", "complex_int", "float_complex",
                   "complex_float"), lambda a, b: divide(cmath.log(a), cmath.log(b))),
    **rows("divmod", MIXED[:-1], quotient_and_remainder),
    **{f"aten::{n}.complex": fn for n, fn in _COMPLEX.items()},
    **rows("polar", ("int", "float", "int_float", "float_int"), cmath.rect),
    **rows("angle", ("int", "float", "complex"), cmath.phase),
    **rows("isnan", ("float",), math.isnan),
    **rows("isinf", ("float",), math.isinf),
    **rows("isfinite", ("float",), math.isfinite),
    "aten::modf": lambda a: math.modf(a),
    "aten::frexp": lambda a: math.frexp(a),
    "aten::ldexp": lambda x, i: math.ldexp(x, i),
    "aten::gcd.int": math.gcd,
    "aten::factorial.int": factorial,
    **rows("__and__", ("int", "bool"), lambda a, b: a & b),
    **rows("__or__", ("int", "bool"), lambda a, b: a | b),
    **rows("__xor__", ("int", "bool"), lambda a, b: a ^ b),
    "aten::__lshift__.int": _shift_left,
    "aten::__rshift__.int": lambda a, b: a >> b,
    "aten::__not__": lambda a: not a,
    "aten::__is__": is_same,
    "aten::__isnot__": lambda a, b: not is_same(a, b),
    **rows("Int", ("bool", "float", "str"), to_int),
    "aten::Int.Scalar": whole_number,
    "aten::Int.Tensor": whole_tensor,
    **rows("Float", ("bool", "int", "str"), to_float),
    "aten::Float.Scalar": lambda x: to_float(x.real),
    "aten::Float.Tensor": real_tensor,
    **rows("Bool", ("int", "float", "Tensor"), bool),
    "aten::IntImplicit": lambda t: to_int(_implicit(t, is_int=True)),
    "aten::FloatImplicit": lambda t: float(_implicit(t)),
    "aten::ComplexImplicit": lambda t: complex(t.item()),
    "aten::ScalarImplicit": lambda t: _implicit(t),
    **rows("Complex", ("Scalar", "int_bool", "bool_int", "float_bool", "bool_float", "float_int",
                       "int_float", "int_int", "bool_bool", "float_float", "Tensor_Tensor",
                       "Tensor_float", "float_Tensor", "Tensor_int", "int_Tensor", "Tensor_bool",
                       "bool_Tensor"), _make_complex),
    "aten::__range_length": range_length,
    "aten::__derive_index": lambda index, start, step: wrap_int64(start + index * step),
    **{f"prim::max.{o}": _extremum(operator.gt) for o in MIXED[:-1]},
    **{f"prim::min.{o}": _extremum(operator.lt) for o in MIXED[:-1]},
    "prim::max": _extremum(operator.gt),
    "prim::min": _extremum(operator.lt),
    **{f"prim::abs.{o}": wrapped(abs) for o in ("int", "float", "complex", "Scalar")},
}  # fmt: skip
