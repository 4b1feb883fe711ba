"""setp, set, selp, slct (PTX ISA 9.7.6 and 9.7.7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..rounding import flush, from_bfloat
from ..types import DTYPES, FLOATS, INTEGERS, Array
from .alu import Alu, Refusal, only, require

Comparison = Callable[[Array, Array], Array]

_ORDERED: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED_ONLY = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_JOIN: dict[str, Comparison] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _numbers(a: Array, b: Array) -> Array:
    return ~(np.isnan(a) | np.isnan(b))


def _comparison(word: str, type_name: str) -> Comparison | None:
    if type_name not in FLOATS:
        return _ORDERED.get(_UNSIGNED_ONLY.get(word, word))
    if word == "num":
        return _numbers
    if word == "nan":
        return lambda a, b: ~_numbers(a, b)
    if word == "ne":
        return lambda a, b: _numbers(a, b) & (a != b)
    if word in _ORDERED:
        return _ORDERED[word]
    if word == "neu":
        return np.not_equal
    unordered = _ORDERED.get(word.removesuffix("u")) if word.endswith("u") else None
    if unordered is None:
        return None
    inner = unordered
    return lambda a, b: inner(a, b) | ~_numbers(a, b)


def _parts(words: tuple[str, ...], type_name: str) -> tuple[Comparison, Comparison | None]:
    """The comparison and the Boolean operator that joins a third operand to it."""
    require(type_name, (*INTEGERS, "f16", "bf16", "f32", "f64"))
    only(words[1:], "and or xor ftz")
    compare = _comparison(words[0], type_name) if words else None
    if compare is None:
        raise Refusal(f"comparison .{words[0] if words else ''} of .{type_name} is not emulated")
    known, ftz = compare, "ftz" in words

    def run(a: Array, b: Array) -> Array:
        if ftz:
            a, b = flush(a, type_name), flush(b, type_name)
        if type_name == "bf16":
            a, b = from_bfloat(a), from_bfloat(b)
        return known(a, b)

    return run, next((_JOIN[w] for w in words if w in _JOIN), None)


def build_setp(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """`setp.cmp{.bool}{.ftz}.type p|q, a, b{, c}`: p = (a cmp b) bool c, q = !(a cmp b) bool c."""
    compare, join = _parts(modifiers, type_name)
    if join is None:

        def plain(a: Array, b: Array) -> tuple[Array, ...]:
            result = compare(a, b)
            return result, ~result

        return Alu(plain, (type_name,) * 2, ("pred", "pred"))
    operator = join

    def joined(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        result = compare(a, b)
        return operator(result, c), operator(~result, c)

    return Alu(joined, (type_name, type_name, "pred"), ("pred", "pred"))


def build_set(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """`set.cmp{.bool}{.ftz}.dtype.stype d, a, b{, c}`: all ones (or 1.0) where true."""
    if not modifiers or modifiers[-1] not in ("u32", "s32", "f32"):
        raise Refusal("set needs a destination type of .u32, .s32 or .f32")
    *words, target = modifiers
    compare, join = _parts(tuple(words), type_name)
    true = DTYPES[target].type(1.0 if target == "f32" else -1 if target == "s32" else 0xFFFFFFFF)
    false = DTYPES[target].type(0)

    def run(a: Array, b: Array, *c: Array) -> Array:
        result = compare(a, b)
        answer: Array = np.where(join(result, c[0]) if join else result, true, false)
        return answer

    sources = (type_name, type_name, "pred") if join else (type_name, type_name)
    return Alu(run, sources, (target,))


def build_select(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """`selp.type d, a, b, p`."""
    only(modifiers, "")
    require(type_name, (*INTEGERS, *FLOATS))
    return Alu(lambda a, b, p: np.where(p, a, b), (type_name, type_name, "pred"), (type_name,))


def build_select_sign(modifiers: tuple[str, ...], type_name: str) -> Alu:
    """`slct{.ftz}.dtype.ctype d, a, b, c`: a where c >= 0 (a NaN c selects b)."""
    if not modifiers or type_name not in ("s32", "f32"):
        raise Refusal("slct needs two types")
    *words, target = modifiers
    only(words, "ftz")
    require(target, (*INTEGERS, *FLOATS))
    return Alu(lambda a, b, c: np.where(c >= 0, a, b), (target, target, type_name), (target,))
