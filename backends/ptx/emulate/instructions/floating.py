"""Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5).

Each row has the operation on an ordinary NumPy float type and, where a directed rounding or a
single rounding of a half type needs it, on doubles. Approximations (`ex2.approx`, `div.full`, ...)
are computed in doubles and rounded: more exact than any device, within the error that PTX allows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorscript.base.records import dataclass

from ..rounding import (
    add_odd,
    flush,
    fma64,
    fma_odd,
    from_bfloat,
    narrow,
    saturate,
    widen,
)
from ..types import DTYPES, UNSIGNED, Array
from .alu import Alu, Builder, Refusal, only, require

Function = Callable[..., Array]
_MODES = ("rn", "rz", "rm", "rp")
_PACKED = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}


@dataclass(frozen=True, slots=True)
class _Operation:
    """`native` works on float32, float64 or float16; `odd` on doubles, rounding to odd."""

    count: int
    native: Function
    odd: Function | None = None
    types: tuple[str, ...] = ("f32", "f64", "f16", "bf16", *_PACKED)
    modifiers: str = "rn ftz sat"


def _scalar(operation: _Operation, modifiers: tuple[str, ...], type_name: str) -> Function:
    """The function on arrays of one scalar type."""
    mode = next((m for m in modifiers if m in _MODES), "rn")
    core = _core(operation, type_name, mode)
    ftz, sat = "ftz" in modifiers, "sat" in modifiers

    def compute(*values: Array) -> Array:
        if ftz:
            values = tuple(flush(v, type_name) for v in values)
        result = core(*values)
        if ftz:
            result = flush(result, type_name)
        if sat and type_name == "bf16":
            result = narrow(saturate(widen(result, "bf16")), "bf16")
        elif sat:
            result = saturate(result)
        return result

    return compute


def _core(operation: _Operation, type_name: str, mode: str) -> Function:
    odd = operation.odd
    if odd is not None and type_name != "f64" and (mode != "rn" or operation.count == 3):
        exact = odd
        return lambda *v: narrow(exact(*(widen(x, type_name) for x in v)), type_name, mode)
    if mode != "rn":
        raise Refusal(f"rounding .{mode} of .{type_name} is not emulated here")
    if type_name == "bf16":
        native = operation.native
        return lambda *v: narrow(native(*(from_bfloat(x) for x in v)).astype(np.float64), "bf16")
    return operation.native


def packed(function: Function, type_name: str) -> Function:
    """A function on one type, applied to both halves of a register twice as wide."""
    dtype = DTYPES[type_name]
    half, whole = UNSIGNED[dtype.itemsize], UNSIGNED[2 * dtype.itemsize]
    shift = whole.type(8 * dtype.itemsize)

    def bits(result: Array) -> Array:
        widened: Array = np.ascontiguousarray(result).view(half).astype(whole)
        return widened

    def compute(*values: Array) -> Array:
        low = [v.astype(half).view(dtype) for v in values]
        high = [(v >> shift).astype(half).view(dtype) for v in values]
        both: Array = bits(function(*low)) | (bits(function(*high)) << shift)
        return both

    return compute


def _float(operation: _Operation) -> Builder:
    def build(modifiers: tuple[str, ...], type_name: str) -> Alu:
        only(modifiers, operation.modifiers)
        require(type_name, operation.types)
        part = _PACKED.get(type_name)
        function = _scalar(operation, modifiers, part or type_name)
        if part:
            function = packed(function, part)
        return Alu(function, (type_name,) * operation.count, (type_name,))

    return build


def _fma(a: Array, b: Array, c: Array) -> Array:
    return fma64(a, b, c)


def _negate(value: Array) -> Array:
    return np.negative(value)


def _minimum(a: Array, b: Array) -> Array:
    """The number if one is NaN; -0 is less than +0."""
    smaller = np.where((a < b) | ((a == b) & np.signbit(a)), a, b)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, smaller))


def _maximum(a: Array, b: Array) -> Array:
    return -_minimum(-a, -b)


def _propagating(function: Function) -> Function:
    def compute(a: Array, b: Array) -> Array:
        nan = np.isnan(a) | np.isnan(b)
        return np.where(nan, a.dtype.type(np.nan), function(a, b))

    return compute


def _extremum(function: Function) -> Builder:
    plain = _float(_Operation(2, function, modifiers="ftz NaN"))
    strict = _float(_Operation(2, _propagating(function), modifiers="ftz NaN"))

    def build(modifiers: tuple[str, ...], type_name: str) -> Alu:
        return (strict if "NaN" in modifiers else plain)(modifiers, type_name)

    return build


def _through_doubles(function: Function, count: int, types: str, modifiers: str) -> Builder:
    """An operation evaluated in doubles and rounded once (approximations)."""

    def native(*values: Array) -> Array:
        return function(*(v.astype(np.float64) for v in values)).astype(values[0].dtype)

    return _float(_Operation(count, native, None, tuple(types.split()), modifiers))


def _sign_bits(function: Function) -> Builder:
    """abs and neg change the sign bit alone, of a NaN too, and flush nothing unless told."""
    return _float(_Operation(1, function, modifiers="ftz"))


def _copysign(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """copysign d, a, b: the sign of a on the magnitude of b."""
    only(modifiers, "")
    require(type_name, ("f32", "f64"))
    return Alu(lambda a, b: np.copysign(b, a), (type_name,) * 2, (type_name,))


def _is_normal(value: Array) -> Array:
    answer: Array = np.isfinite(value) & (np.abs(value) >= np.finfo(value.dtype).tiny)
    return answer


def _is_subnormal(value: Array) -> Array:
    answer: Array = (value != 0) & (np.abs(value) < np.finfo(value.dtype).tiny)
    return answer


_TESTS: dict[str, Function] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda value: ~np.isnan(value),
    "notanumber": np.isnan,
    "normal": _is_normal,
    "subnormal": _is_subnormal,
}


def _test(modifiers: tuple[str, ...], type_name: str) -> Alu:
    if len(modifiers) != 1 or modifiers[0] not in _TESTS:
        raise Refusal("testp needs one property")
    require(type_name, ("f32", "f64"))
    return Alu(_TESTS[modifiers[0]], (type_name,), ("pred",))


_SINGLE = "f32 f64"
_EXACT = "rn rz rm rp ftz sat"

FLOATING: dict[str, Builder] = {
    "add": _float(_Operation(2, np.add, add_odd, modifiers=_EXACT)),
    "sub": _float(_Operation(2, np.subtract, lambda a, b: add_odd(a, -b), modifiers=_EXACT)),
    "mul": _float(_Operation(2, np.multiply, np.multiply, modifiers=_EXACT)),
    "fma": _float(_Operation(3, _fma, fma_odd, modifiers=_EXACT)),
    "mad": _float(_Operation(3, _fma, fma_odd, modifiers=_EXACT)),
    "div": _float(_Operation(2, np.divide, types=("f32", "f64"), modifiers="rn approx full ftz")),
    "rcp": _float(_Operation(1, np.reciprocal, types=("f32", "f64"), modifiers="rn approx ftz")),
    "sqrt": _float(_Operation(1, np.sqrt, types=("f32", "f64"), modifiers="rn approx ftz")),
    "rsqrt": _through_doubles(lambda a: 1.0 / np.sqrt(a), 1, _SINGLE, "approx ftz"),
    "ex2": _through_doubles(np.exp2, 1, "f32 f16 bf16 f16x2 bf16x2", "approx ftz"),
    "lg2": _through_doubles(np.log2, 1, "f32", "approx ftz"),
    "sin": _through_doubles(np.sin, 1, "f32", "approx ftz"),
    "cos": _through_doubles(np.cos, 1, "f32", "approx ftz"),
    "tanh": _through_doubles(np.tanh, 1, "f32 f16 bf16 f16x2 bf16x2", "approx"),
    "min": _extremum(_minimum),
    "max": _extremum(_maximum),
    "abs": _sign_bits(np.abs),
    "neg": _sign_bits(_negate),
    "copysign": _copysign,
    "testp": _test,
}
