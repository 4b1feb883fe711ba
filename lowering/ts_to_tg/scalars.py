"""Rows on numbers, bools and strings: computed now if known, else as an expression.

Integers wrap to 64 bits; `//` and `%` floor; division by zero is an error (asserted where the
divisor is not known), while `/` gives inf or nan.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Sequence

from tensorscript.base.dtypes import bfloat16, bool_, float16, float64, int64
from tensorscript.base.text import float_of, float_text, integer_of
from tensorscript.dialects.te.expr import Expr, binary, call, const, select, unary

from .builder import Builder, Rows
from .elements import as_expr, convert, known
from .functions import elementary
from .text_values import is_textual, joined_text
from .values import Tensor, Text, TupleValue, UnknownString, Value, Variant


def wrap(value: int) -> int:
    """A Python int as a 64-bit one."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _tidy(value: Value) -> Value:
    return wrap(value) if type(value) is int else value


def _paired(x: Value, y: Value) -> tuple[Expr, Expr]:
    """Both as expressions of one dtype (float if either is)."""
    p, q = as_expr(x), as_expr(y)
    wide = float64 if float64 in (p.dtype, q.dtype) else int64
    if p.dtype is q.dtype is bool_:
        return p, q
    return convert(p, wide), convert(q, wide)


def is_unknown(*values: Value) -> bool:
    return any(isinstance(v, Expr) for v in values)


def arithmetic(op: str, fn: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """Rows of binary operators on numbers: done now where both are known. `+` joins strings."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        if isinstance(x, UnknownString | Text) or isinstance(y, UnknownString | Text):
            return _joined(b, x, y)
        if not is_unknown(x, y):
            return _tidy(fn(x, y))
        p, q = _paired(x, y)
        if p.dtype is bool_:
            p, q = convert(p, int64), convert(q, int64)
        return known(binary(op, p, q))

    return row


def _joined(b: Builder, x: Value, y: Value) -> Value:
    """`x + y` of strings of which one is not known."""
    message = to_text(x) + to_text(y)
    if not b.finds_sizes or not is_textual(x) or not is_textual(y):
        return UnknownString(message)
    return joined_text(b, [x, y], message)


def compare(op: str, fn: Callable[[Value, Value], bool]) -> Callable[..., Value]:
    """Rows of comparisons of numbers, known strings and lists."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        if isinstance(x, list) and isinstance(y, list) and op in ("eq", "ne"):
            if len(x) != len(y):
                return op == "ne"
            same: Value = True
            for p, q in zip(x, y, strict=True):
                same = _and(b, same, row_eq(b, p, q))
            return same if op == "eq" else _not(b, same)
        if isinstance(x, UnknownString | Text) or isinstance(y, UnknownString | Text):
            b.cannot("comparing strings that depend on unknown values")
        if not is_unknown(x, y):
            return fn(x, y)
        if x is None or y is None:
            return op == "ne"
        return known(binary(op, *_paired(x, y)))

    return row


def _true_div(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if is_unknown(x, y):
        return known(convert(as_expr(x), float64) / convert(as_expr(y), float64))
    x, y = float(x), float(y)
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def _floor(op: str, fn: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        p, q = _paired(x, y)
        if q.dtype is float64:
            # Of floats, x // 0 is x / 0 and x % 0 is NaN.
            return known(
                select(q.equals(0), p / q, binary(op, p, q))
                if op == "floordiv"
                else binary(op, p, q)
            )
        if not is_unknown(y) and y == 0:
            b.error("division by 0" if op == "floordiv" else "modulo by 0")
        if not is_unknown(x, y):
            return _tidy(fn(x, y))
        if q.op != "const" and q.dtype is int64 and any(n.startswith("$") for n in q.free):
            b.check(binary("ne", q, 0), "division by 0")
        return known(binary(op, p, q))

    return row


def _float_pair(fn: Callable[[Expr, Expr], Expr]) -> Callable[..., Value]:
    """A function of two numbers as floats, which gives a float."""

    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        return known(fn(convert(as_expr(x), float64), convert(as_expr(y), float64)))

    return row


def _logarithm(b: Builder, x: Value, base: Value = None, *_: Value) -> Value:
    """log of one number, or of a number to a base."""
    log = math_function("log", math.log)
    return log(b, x) if base is None else _true_div(b, log(b, x), log(b, base))


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


def _whole_power(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    """An int to an int as an int."""
    return known(binary("pow", *_paired(x, y)))


def _complex(b: Builder, fn: Callable[..., complex], *parts: Value) -> complex:
    """A complex number of numbers, which have to be known."""
    if is_unknown(*parts):
        b.cannot("a complex number that is not known")
    return fn(*parts)


def _not(b: Builder, x: Value, *_: Value) -> Value:
    if isinstance(x, Expr):
        return known(unary("not", convert(x, bool_)))
    return not x


def _and(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if is_unknown(x, y):
        if x is False or y is False:
            return False
        if x is True or y is True:
            return y if x is True else x
        return known(binary("and", *_paired(x, y)))
    return x & y


def _or(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if is_unknown(x, y):
        if x is True or y is True:
            return True
        if x is False or y is False:
            return y if x is False else x
        return known(binary("or", *_paired(x, y)))
    return x | y


def _xor(b: Builder, x: Value, y: Value, *_: Value) -> Value:
    if not is_unknown(x, y):
        return x ^ y
    p, q = _paired(x, y)
    return known(binary("ne" if p.dtype is bool_ else "xor", p, q))


def _shift(op: str, fn: Callable[[int, int], int]) -> Callable[..., Value]:
    def row(b: Builder, x: Value, y: Value, *_: Value) -> Value:
        if not is_unknown(x, y) and 0 <= y < 64:
            return wrap(fn(x, y))
        b.check(known(binary("ge", as_expr(y), 0)), "negative shift count")
        p, q = _paired(x, y)
        shifted = binary(op, p, binary("min", q, 63))
        return known(shifted if op == "shr" else select(q > 63, const(0, int64), shifted))

    return row


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


def _all(b: Builder, values: list[Value], *_: Value) -> Value:
    found: Value = True
    for value in values:
        found = _and(b, found, _to_bool(b, value))
    return found


def _any(b: Builder, values: list[Value], *_: Value) -> Value:
    found: Value = False
    for value in values:
        found = _or(b, found, _to_bool(b, value))
    return found


def _sum(b: Builder, values: list[Value], *_: Value) -> Value:
    if not values:
        # An empty list has lost its element type; the overload says it.
        return 0.0 if b.operator.endswith(".float") else 0
    add = SCALAR["aten::add"]
    total = values[0] if isinstance(values[0], float) else add(b, 0, values[0])
    for value in values[1:]:
        total = add(b, total, value)
    return total


def _neg(b: Builder, x: Value, *_: Value) -> Value:
    return known(-convert(x, int64) if x.dtype is bool_ else -x) if is_unknown(x) else _tidy(-x)


def _abs(b: Builder, x: Value, *_: Value) -> Value:
    if not isinstance(x, Expr):
        return abs(x)
    return known(call("abs", x) if x.dtype is float64 else select(x < 0, -x, x))


def _to_int(b: Builder, x: Value, *_: Value) -> Value:
    if isinstance(x, Expr):
        return known(convert(x, int64))
    if isinstance(x, float) and not math.isfinite(x):
        return -(2**63)
    return _tidy(_of_text(b, integer_of, x) if isinstance(x, str) else int(x))


def _to_float(b: Builder, x: Value, *_: Value) -> Value:
    if isinstance(x, Expr):
        return known(convert(x, float64))
    return _of_text(b, float_of, x) if isinstance(x, str) else float(x)


def _of_text(b: Builder, convert: Callable[[str], Value], text: str) -> Value:
    try:
        return convert(text)
    except ValueError as error:
        return b.error(str(error))


def _to_bool(b: Builder, x: Value, *_: Value) -> Value:
    return known(convert(x, bool_)) if isinstance(x, Expr) else bool(x)


def extremum(op: str, fn: Callable[..., Value]) -> Callable[..., Value]:
    """Rows of `max` and `min` of numbers, or of a list of them."""

    def row(b: Builder, *values: Value) -> Value:
        items: Sequence[Value] = values[0] if isinstance(values[0], list) else values
        if len(values) == 2 and isinstance(values[0], list):
            return fn(values[0], values[1])
        if not items:
            b.error(f"{op}() arg is an empty sequence")
        if not is_unknown(*items):
            floats = any(isinstance(v, float) for v in items)
            return float(fn(items)) if floats else fn(items)
        out = items[0]
        for v in items[1:]:
            out = binary(op, *_paired(out, v))
        return known(as_expr(out))

    return row


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


_AT_DOMAIN_END = {"log": -math.inf, "log2": -math.inf, "log10": -math.inf, "lgamma": math.inf}


def _times(factor: float) -> Callable[..., Value]:
    def row(b: Builder, x: Value, *_: Value) -> Value:
        return known(convert(x, float64) * factor) if isinstance(x, Expr) else x * factor

    return row


def to_whole(name: str, fn: Callable[[float], int]) -> Callable[..., Value]:
    """floor and ceil give ints."""

    def row(b: Builder, x: Value, *_: Value) -> Value:
        if isinstance(x, Expr):
            return x if x.dtype is int64 else known(convert(call(name, x), int64))
        return fn(x)

    return row


def _is(b: Builder, x: Value, y: Value) -> Value:
    if x is None or y is None or isinstance(x, Tensor) or isinstance(y, Tensor):
        return x is y
    return row_eq(b, x, y)


def _range_length(b: Builder, start: Value, stop: Value, step: Value) -> Value:
    if not is_unknown(start, stop, step):
        if step == 0:
            b.error("range() arg 3 must not be zero")
        return len(range(start, stop, step))
    first, last, by = map(as_expr, (start, stop, step))
    if by.op != "const":
        b.check(binary("ne", by, 0), "range() arg 3 must not be zero")
        up = (last - first + (by - 1)) // by
        down = (first - last - by - 1) // -by
        return known(binary("max", select(by > 0, up, down), 0))
    if by.is_int(1):
        return known(binary("max", last - first, 0))
    span = (last - first + (by - 1)) // by if int(by.value) > 0 else (first - last - by - 1) // -by  # type: ignore[call-overload]
    return known(binary("max", span, 0))


def to_text(value: Value) -> str:
    """`str(value)` as TorchScript prints it: floats with up to 17 digits."""
    if isinstance(value, UnknownString):
        return value.text
    if isinstance(value, Text):
        return value.message
    if isinstance(value, Expr | Variant):
        return "{}"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(to_text, value)) + "]"
    if isinstance(value, TupleValue):
        return "(" + ", ".join(map(to_text, value.elements)) + ")"
    return str(value)


row_eq = compare("eq", operator.eq)

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10,
    "log1p": math.log1p, "expm1": math.expm1, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "asinh": math.asinh, "acosh": math.acosh, "atanh": math.atanh,
    "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma,
}  # fmt: skip

SCALAR: Rows = {
    "aten::add": arithmetic("add", operator.add),
    "aten::sub": arithmetic("sub", operator.sub),
    "aten::mul": arithmetic("mul", operator.mul),
    "aten::div": _true_div,
    "aten::floordiv": _floor("floordiv", operator.floordiv),
    "aten::floor_divide": _floor("floordiv", operator.floordiv),
    "aten::remainder": _floor("mod", operator.mod),
    "aten::fmod": _fmod,
    "aten::mathremainder": _ieee_remainder,
    "aten::pow": _power,
    "aten::pow.int_to_int": _whole_power,
    "aten::neg": _neg,
    "aten::abs": _abs,
    "prim::abs": _abs,
    "aten::fabs": lambda b, x: _abs(b, _to_float(b, x)),
    "aten::eq": row_eq,
    "aten::ne": compare("ne", operator.ne),
    "aten::lt": compare("lt", operator.lt),
    "aten::le": compare("le", operator.le),
    "aten::gt": compare("gt", operator.gt),
    "aten::ge": compare("ge", operator.ge),
    "aten::__not__": _not,
    "aten::__and__": _and,
    "aten::__or__": _or,
    "aten::__xor__": _xor,
    "aten::__lshift__": _shift("shl", operator.lshift),
    "aten::__rshift__": _shift("shr", operator.rshift),
    "aten::__is__": _is,
    "aten::__isnot__": lambda b, x, y: _not(b, _is(b, x, y)),
    "aten::Int": _to_int,
    "aten::IntImplicit": _to_int,
    "aten::Float": _to_float,
    "aten::FloatImplicit": _to_float,
    "aten::Bool": _to_bool,
    "aten::ScalarImplicit": lambda b, x: x,
    "prim::min": extremum("min", min),
    "prim::max": extremum("max", max),
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
    "aten::polar": lambda b, *parts: _complex(b, cmath.rect, *parts),
    "aten::Complex": lambda b, *parts: _complex(b, complex, *parts),
    "aten::__range_length": _range_length,
    "aten::__derive_index": lambda b, i, start, step: known(
        as_expr(start) + as_expr(i) * as_expr(step)
    ),
    "aten::all": _all,
    "aten::any": _any,
    "aten::sum": _sum,
    "aten::is_grad_enabled": lambda b: True,
    "aten::set_grad_enabled": lambda b, *_: None,
    "aten::get_autocast_dtype": lambda b, device: (bfloat16 if device == "cpu" else float16).code,
    "aten::is_scripting": lambda b: True,
    "aten::_get_tracing_state": lambda b: False,
    "aten::has_torch_function": lambda b, *_: False,
    "aten::isnan": lambda b, x: known(call("isnan", x)) if is_unknown(x) else math.isnan(x),
    "aten::isinf": lambda b, x: known(call("isinf", x)) if is_unknown(x) else math.isinf(x),
    "aten::isfinite": lambda b, x: (
        known(call("isfinite", x)) if is_unknown(x) else math.isfinite(x)
    ),
}
