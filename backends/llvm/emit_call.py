"""`call` nodes: intrinsics and short sequences here, everything else from the math library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tensorscript.base.dtypes import bool_, float64, int32, int64

from .emit_arith import Site
from .emit_types import is_half, register_type
from .math.library import symbol


def _intrinsic(name: str) -> Callable[[Site, list[str]], str]:
    return lambda site, a: site.intrinsic(name, *a)


def _abs(site: Site, a: list[str]) -> str:
    if site.dtype.is_floating_point:
        return site.intrinsic("fabs", a[0])
    if not site.dtype.signed:
        return a[0]
    return site.choose(site.test("slt", a[0], site.literal(0)), site.negate(a[0]), a[0])


def _isnan(site: Site, a: list[str]) -> str:
    return site.test("uno", a[0], a[0])


def _isinf(site: Site, a: list[str]) -> str:
    return site.test("oeq", site.intrinsic("fabs", a[0]), site.literal(float("inf")))


def _isfinite(site: Site, a: list[str]) -> str:
    return site.test("olt", site.intrinsic("fabs", a[0]), site.literal(float("inf")))


def _signbit(site: Site, a: list[str]) -> str:
    bits = Site(site.code, int64 if site.dtype is float64 else int32, site.lanes)
    raw = site.code.let(f"bitcast {site.type} {a[0]} to {bits.type}")
    return bits.test("slt", raw, bits.literal(0))


def _nextafter(site: Site, a: list[str]) -> str:
    """The bits of a float, read as an integer, count up away from zero."""
    x, y = a
    bits = Site(site.code, int64 if site.dtype is float64 else int32, site.lanes)
    raw = site.code.let(f"bitcast {site.type} {x} to {bits.type}")
    zero = site.literal(0.0)
    grows = site.test("olt", x, y)
    away = site.code.let(f"xor {site.mask_type} {grows}, {site.test('olt', x, zero)}")
    step = bits.choose(away, bits.literal(1), bits.literal(-1))
    moved = bits.op("add", raw, step)
    near = site.code.let(f"bitcast {bits.type} {moved} to {site.type}")
    least = site.code.let(f"bitcast {bits.type} {bits.literal(1)} to {site.type}")
    near = site.choose(site.test("oeq", x, zero), site.intrinsic("copysign", least, y), near)
    near = site.choose(site.test("oeq", x, y), y, near)
    return site.choose(site.test("uno", x, y), site.op("fadd", x, y), near)


def _muladd(site: Site, a: list[str]) -> str:
    if site.is_loose:
        return site.intrinsic("fmuladd", *a)
    return site.op("fadd", site.op("fmul", a[0], a[1]), a[2])


INLINE: dict[str, Callable[[Site, list[str]], str]] = {
    "floor": _intrinsic("floor"), "ceil": _intrinsic("ceil"), "trunc": _intrinsic("trunc"),
    "round": _intrinsic("rint"), "sqrt": _intrinsic("sqrt"), "fma": _intrinsic("fma"),
    "copysign": _intrinsic("copysign"), "abs": _abs, "isnan": _isnan, "isinf": _isinf,
    "isfinite": _isfinite, "signbit": _signbit,
    "nextafter": _nextafter, "muladd": _muladd,
}  # fmt: skip

_INTEGER_TESTS = {"isnan": False, "isinf": False, "isfinite": True}


def emit_call(site: Site, function: str, operands: list[str]) -> str:
    """`function` of operands of `site.dtype`; half dtypes are computed in float (not rounded)."""
    if not site.dtype.is_floating_point and function in _INTEGER_TESTS:
        value = "true" if _INTEGER_TESTS[function] else "false"
        return value if site.lanes == 1 else f"splat (i1 {value})"
    if not site.dtype.is_floating_point and function in ("floor", "ceil", "trunc", "round"):
        return operands[0]
    if row := INLINE.get(function):
        return row(site, operands)
    return call_library(site, function, *operands)


def call_library(site: Site, function: str, *operands: str) -> str:
    """A call of the math library; its definition is added when the module is rendered."""
    if site.lanes > 1 and site.code.module.scalar_math:
        return lane_by_lane(site, lambda one, *o: call_library(one, function, *o), *operands)
    short = "f32" if is_half(site.dtype) else site.dtype.short
    site.code.module.math[(function, short, site.lanes)] = None
    inside = ", ".join(f"{site.type} {o}" for o in operands)
    name = symbol(function, short, site.lanes)
    return site.code.let(f"call {site.type} @{name}({inside})")


def lane_by_lane(site: Site, scalar: Callable[..., str], *operands: str) -> str:
    """The vector of `scalar(one-lane site, operands of the lane)`."""
    element = register_type(site.dtype)
    one = replace(site, lanes=1)
    result = "poison"
    for lane in range(site.lanes):
        parts = [site.code.let(f"extractelement {site.type} {o}, i64 {lane}") for o in operands]
        made = scalar(one, *parts)
        result = site.code.let(f"insertelement {site.type} {result}, {element} {made}, i64 {lane}")
    return result


def is_predicate(function: str) -> bool:
    return function in ("isnan", "isinf", "isfinite", "signbit")


def integer_power(site: Site, a: str, b: str) -> str:
    """`a ** b` of integers by a helper that multiplies and squares; one lane at a time."""
    site.code.module.declare("ts_ipow", "i64", "i64, i64")
    if site.lanes == 1:
        return _power_lane(site, a, b)
    return lane_by_lane(site, _power_lane, a, b)


def _power_lane(site: Site, a: str, b: str) -> str:
    if site.dtype is bool_:
        return site.op("or", a, site.logical_not(b))
    if site.dtype is int64:
        return site.code.let(f"call i64 @ts_ipow(i64 {a}, i64 {b})")
    extend = "sext" if site.dtype.signed else "zext"
    x, y = (site.code.let(f"{extend} {site.type} {o} to i64") for o in (a, b))
    wide = site.code.let(f"call i64 @ts_ipow(i64 {x}, i64 {y})")
    return site.code.let(f"trunc i64 {wide} to {site.type}")


INTEGER_POWER = """define internal i64 @ts_ipow(i64 %a, i64 %b) nounwind {
entry:
  %negative = icmp slt i64 %b, 0
  br i1 %negative, label %inverse, label %head
inverse:
  %one = icmp eq i64 %a, 1
  %minus = icmp eq i64 %a, -1
  %low = and i64 %b, 1
  %odd = icmp ne i64 %low, 0
  %sign = select i1 %odd, i64 -1, i64 1
  %r0 = select i1 %minus, i64 %sign, i64 0
  %r1 = select i1 %one, i64 1, i64 %r0
  ret i64 %r1
head:
  %base = phi i64 [ %a, %entry ], [ %square, %head2 ]
  %left = phi i64 [ %b, %entry ], [ %half, %head2 ]
  %result = phi i64 [ 1, %entry ], [ %result.next, %head2 ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %exit, label %head2
head2:
  %bit = and i64 %left, 1
  %take = icmp ne i64 %bit, 0
  %factor = select i1 %take, i64 %base, i64 1
  %result.next = mul i64 %result, %factor
  %square = mul i64 %base, %base
  %half = lshr i64 %left, 1
  br label %head
exit:
  ret i64 %result
}"""
"""Integer power by squaring; a negative exponent gives the truncated reciprocal, as in PyTorch."""
