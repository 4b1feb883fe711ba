"""Scalar te expressions evaluated on the host, with the arithmetic of the compiled code.

`compiled(e)` turns an expression into a Python function once; a host program calls it as often as
its control flow asks. Integers wrap around, floats are rounded to their dtype after each operation
(for + - * / and sqrt the detour over double is exact), min and max propagate NaN, `//` and `%`
round down as PyTorch's do, shifts by more than the width give 0 or the sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tensorscript.base.dtypes import DType, bool_, int32, int64
from tensorscript.base.errors import InternalError
from tensorscript.base.inverse_error_function import erfinv
from tensorscript.base.records import dataclass
from tensorscript.base.rounding import rounded
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.folding import reinterpreted
from tensorscript.dialects.te.vocabulary import COMPARISONS

Number = bool | int | float
STAGE = "gpu-host"


@dataclass
class Frame:
    """What an expression can see.

    Attributes:
        values: scalars by name.
        read: an element of a buffer, by name and indices.
    """

    read: Callable[[str, Sequence[int]], Number]
    values: dict[str, Number] = field(default_factory=dict)


Compiled = Callable[[Frame], Any]


def hold(value: Number, dtype: DType) -> Number:
    """`value` as the dtype holds it: integers wrap around, floats are rounded."""
    if dtype is bool_:
        return bool(value)
    if not dtype.is_floating_point:
        whole = int(value) & ((1 << dtype.bits) - 1)
        return whole - (1 << dtype.bits) if dtype.signed and whole >> (dtype.bits - 1) else whole
    return rounded(float(value), dtype)


def _divide(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def _fmod(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.fmod(np.float64(a), np.float64(b)))


def _remainder(a: float, b: float) -> float:
    rest = _fmod(a, b)
    return rest + b if rest != 0 and (b < 0) != (rest < 0) else rest


def _floor_divide(a: float, b: float) -> float:
    if b == 0:
        return _divide(a, b)
    exact = _divide(a - _fmod(a, b), b)
    if (rest := _fmod(a, b)) != 0 and (b < 0) != (rest < 0):
        exact -= 1.0
    if exact == 0 or exact != exact or math.isinf(exact):
        return math.copysign(0.0, _divide(a, b)) if exact == 0 else exact
    floor = float(math.floor(exact))
    return floor + 1.0 if exact - floor > 0.5 else floor


def _whole_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _minimum(a: Any, b: Any) -> Any:
    return a if a != a or a < b else b


def _maximum(a: Any, b: Any) -> Any:
    return a if a != a or a > b else b


_FLOAT: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": _divide, "min": _minimum, "max": _maximum, "floordiv": _floor_divide,
    "mod": _remainder, "truncmod": _fmod, "truncdiv": lambda a, b: _trunc(_divide(a, b)),
    "pow": lambda a, b: _library(np.power, a, b),
}  # fmt: skip
_WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "min": min, "max": max, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
    "truncdiv": _whole_quotient, "truncmod": lambda a, b: a - b * _whole_quotient(a, b),
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "pow": lambda a, b: a**b if b >= 0 else int(a == 1) or (a == -1) * (1 - 2 * (b & 1)),
}  # fmt: skip
_BOOL: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a | b, "sub": lambda a, b: a ^ b, "mul": lambda a, b: a & b,
    "min": lambda a, b: a & b, "max": lambda a, b: a | b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip


def _library(function: Callable[..., Any], *operands: float) -> float:
    with np.errstate(all="ignore"):
        return float(function(*map(np.float64, operands)))


def _over_numpy(function: Callable[..., Any]) -> Callable[..., float]:
    return lambda *operands: _library(function, *operands)


def _erf(x: float) -> float:
    return math.erf(x)


def _gelu(x: float) -> float:
    return x * 0.5 * (1.0 + math.erf(x * math.sqrt(0.5)))


def _sigmoid(x: float) -> float:
    return _divide(1.0, 1.0 + _library(np.exp, -x))


def _trunc(x: float) -> float:
    return _library(np.trunc, x)


_CALLS: dict[str, Callable[..., Any]] = {
    **{name: _over_numpy(getattr(np, name)) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan",
        "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "copysign", "nextafter", "hypot")},
    **{name: _over_numpy(getattr(np, f"arc{name[1:]}")) for name in (
        "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")},
    "decay": _over_numpy(np.exp), "decay2": _over_numpy(np.exp2),
    "rsqrt": lambda x: _divide(1.0, _library(np.sqrt, x)), "sigmoid": _sigmoid, "erf": _erf,
    "gelu": _gelu, "erfc": math.erfc, "erfinv": erfinv, "round": _over_numpy(np.rint), "abs": abs,
    "fma": lambda a, b, c: a * b + c, "muladd": lambda a, b, c: a * b + c,
    "isnan": lambda x: x != x, "isinf": lambda x: isinstance(x, float) and math.isinf(x),
    "isfinite": lambda x: not isinstance(x, float) or math.isfinite(x),
    "signbit": lambda x: math.copysign(1.0, x) < 0,
}  # fmt: skip


def convert(value: Number, target: DType) -> Number:
    """As the compiled code converts: float to int truncates, out of range gives the least."""
    if isinstance(value, float) and not target.is_floating_point and target is not bool_:
        step = int64 if target is int64 else int32
        limit = 1 << (step.bits - 1)
        whole = int(value) if math.isfinite(value) and abs(value) < limit else -limit
        return hold(whole, target)
    return hold(value, target)


def _binary(e: Expr) -> Compiled:
    left, right = (compiled(a) for a in e.args)
    if e.op in COMPARISONS:
        test = _COMPARE[e.op]
        return lambda f: test(left(f), right(f))
    dtype = e.dtype
    if e.op in ("shl", "shr"):
        return lambda f: _shift(e.op, left(f), right(f), dtype)
    table = _BOOL if dtype is bool_ else _FLOAT if dtype.is_floating_point else _WHOLE
    if (step := table.get(e.op)) is None:
        raise InternalError(f"no host arithmetic for {e.op} of {dtype.short}", STAGE)
    return lambda f: hold(step(left(f), right(f)), dtype)


def _shift(op: str, value: int, count: int, dtype: DType) -> Number:
    if not 0 <= count < dtype.bits:
        return -1 if op == "shr" and value < 0 else 0
    return hold(value << count if op == "shl" else value >> count, dtype)


def _select(e: Expr) -> Compiled:
    condition, yes, no = (compiled(a) for a in e.args)
    return lambda f: yes(f) if condition(f) else no(f)


def _unary(e: Expr) -> Compiled:
    (operand,) = (compiled(a) for a in e.args)
    dtype = e.dtype
    if e.op == "neg":
        return lambda f: hold(-operand(f), dtype)
    if dtype is bool_:
        return lambda f: not operand(f)
    return lambda f: hold(~operand(f), dtype)


def _cast(e: Expr) -> Compiled:
    (operand,) = (compiled(a) for a in e.args)
    return lambda f: convert(operand(f), e.dtype)


def _bitcast(e: Expr) -> Compiled:
    (operand,) = (compiled(a) for a in e.args)
    return lambda f: reinterpreted(operand(f), e.args[0].dtype, e.dtype)


def _call(e: Expr) -> Compiled:
    operands = [compiled(a) for a in e.args]
    whole = e.args[0].dtype
    if not whole.is_floating_point and e.value in ("floor", "ceil", "trunc", "round"):
        return operands[0]
    if (function := _CALLS.get(str(e.value))) is None:
        raise InternalError(f"no host arithmetic for {e.value}", STAGE)
    return lambda f: hold(function(*(o(f) for o in operands)), e.dtype)


def _load(e: Expr) -> Compiled:
    name, indices = str(e.value), [compiled(a) for a in e.args]
    return lambda f: f.read(name, [i(f) for i in indices])


def _constant(e: Expr) -> Compiled:
    value: Number = hold(e.value, e.dtype)  # type: ignore[arg-type]  # a literal holds a number
    return lambda f: value


def _variable(e: Expr) -> Compiled:
    name = str(e.value)
    return lambda f: f.values[name]


_NODES: dict[str, Callable[[Expr], Compiled]] = {
    "const": _constant, "var": _variable, "load": _load, "select": _select, "cast": _cast,
    "bitcast": _bitcast,
    "call": _call, "not": _unary, "neg": _unary,
}  # fmt: skip


def compiled(e: Expr) -> Compiled:
    """A function from a frame to the value of `e`.

    Raises:
        InternalError: an operation that no scalar code has.
    """
    return _NODES.get(e.op, _binary)(e)
