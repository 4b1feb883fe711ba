"""cvt: between every pair of integer and float types (PTX ISA 9.7.9.22)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..rounding import flush, narrow, saturate, widen
from ..types import DTYPES, INTEGERS, Array
from .alu import Alu, Refusal, only

_SCALAR_FLOATS = ("f16", "bf16", "f32", "f64")
_MODES = ("rn", "rz", "rm", "rp", "rna")
_TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_PACKED = {"f16x2": "f16", "bf16x2": "bf16"}


def build_convert(modifiers: tuple[str, ...], source: str) -> Alu:
    """`cvt{.mode}{.ftz}{.sat}{.relu}.destination.source`; `modifiers` end in the destination."""
    if not modifiers:
        raise Refusal("cvt needs two types")
    *words, target = modifiers
    only(words, "rn rz rm rp rna rni rzi rmi rpi ftz sat relu")
    if target in _PACKED and source == "f32":
        return _pack(tuple(words), target)
    if target == "tf32" and source == "f32":
        return _to_tf32(tuple(words))
    known = (*_SCALAR_FLOATS, *INTEGERS)
    if source not in known or target not in known:
        raise Refusal(f"cvt from .{source} to .{target} is not emulated")
    if source in INTEGERS:
        function = _from_integer(tuple(words), target)
    elif target in INTEGERS:
        function = _float_to_integer(tuple(words), target, source)
    else:
        function = _float_to_float(tuple(words), target, source)
    return Alu(function, (source,), (target,))


def _from_integer(words: tuple[str, ...], target: str) -> Callable[[Array], Array]:
    dtype = DTYPES[target]
    if target in INTEGERS:
        if "sat" not in words:
            return lambda a: a.astype(dtype)
        limits = np.iinfo(dtype)
        return lambda a: _clip_integer(a, int(limits.min), int(limits.max)).astype(dtype)
    mode = next((w for w in words if w in _MODES), "rn")
    if target in ("f32", "f64") and mode == "rn":
        return lambda a: a.astype(dtype)

    def convert(a: Array) -> Array:
        if a.dtype.itemsize == 8 and mode != "rn":
            raise Refusal("a directed rounding of a 64-bit integer is not emulated")
        return narrow(a.astype(np.float64), target, mode)

    return convert


def _clip_integer(a: Array, low: int, high: int) -> Array:
    limits = np.iinfo(a.dtype)
    return np.clip(a, max(low, int(limits.min)), min(high, int(limits.max)))


def float_to_integer(value: Array, target: str, source: str) -> Array:
    """Integral doubles to an integer type, clamped; NaN gives 0, or 1 << 63 where f64 is in it."""
    dtype = DTYPES[target]
    limits = np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)
    inside = (value > low) & (value < high)
    result = np.where(inside, value, 0.0).astype(dtype)
    result = np.where(value >= high, dtype.type(limits.max), result)
    result = np.where(value <= low, dtype.type(limits.min), result)
    top = source == "f64" or dtype.itemsize == 8
    bits = dtype.itemsize * 8
    invalid = np.array([1 << (bits - 1) if top else 0], np.uint64).astype(f"u{dtype.itemsize}")
    return np.where(np.isnan(value), invalid.view(dtype), result)


def _float_to_integer(words: tuple[str, ...], target: str, source: str) -> Callable[[Array], Array]:
    mode = next((w for w in words if w in _TO_INTEGER), None)
    if mode is None:
        raise Refusal("cvt from float to integer needs .rni, .rzi, .rmi or .rpi")
    rounding, ftz = _TO_INTEGER[mode], "ftz" in words

    def convert(a: Array) -> Array:
        value = flush(a, source) if ftz else a
        return float_to_integer(rounding(widen(value, source)), target, source)

    return convert


def _float_to_float(words: tuple[str, ...], target: str, source: str) -> Callable[[Array], Array]:
    integral = next((_TO_INTEGER[w] for w in words if w in _TO_INTEGER), None)
    mode = next((w for w in words if w in _MODES), "rn")
    ftz, sat, relu = "ftz" in words, "sat" in words, "relu" in words

    def convert(a: Array) -> Array:
        value = widen(flush(a, source) if ftz else a, source)
        if integral is not None:
            value = integral(value)
        if sat:
            value = saturate(value)
        if relu:
            value = np.where(value < 0, 0.0, value)
        result = narrow(value, target, mode)
        return flush(result, target) if ftz and target == "f32" else result

    return convert


def _pack(words: tuple[str, ...], target: str) -> Alu:
    """Two floats to a pair of halves: the first source becomes the upper half."""
    one = _float_to_float(words, _PACKED[target], "f32")

    def bits(a: Array) -> Array:
        return np.ascontiguousarray(one(a)).view(np.uint16).astype(np.uint32)

    return Alu(lambda a, b: (bits(a) << np.uint32(16)) | bits(b), ("f32", "f32"), (target,))


def _to_tf32(words: tuple[str, ...]) -> Alu:
    """Ten mantissa bits: nearest, ties away (.rna) or to even (.rn)."""
    if not {"rna", "rn"}.intersection(words):
        raise Refusal("cvt to .tf32 needs .rna or .rn")
    even = "rn" in words

    def convert(a: Array) -> Array:
        bits = a.view(np.uint32)
        tie = (bits >> np.uint32(13)) & np.uint32(1) if even else np.uint32(1)
        rounded = (bits + np.uint32(0xFFF) + tie) & np.uint32(0xFFFFE000)
        return np.where(np.isfinite(a), rounded, bits)

    return Alu(convert, ("f32",), ("tf32",))
