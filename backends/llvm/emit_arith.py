"""Arithmetic, comparisons and bitwise operations: one row per node kind, scalar or vector.

Integers wrap around. Float products carry `contract`, and of the sums those of reductions do: only
there is a product fused into a sum, and not where the program would see what it rounds to. A strict
module has none. `min` and `max` give NaN if either operand is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tensorscript.base.dtypes import DType, bool_, float32, float64
from tensorscript.base.records import dataclass

from .emit_text import Code
from .emit_types import register_type, splat, suffix, vector_of

REORDERED = " reassoc contract"
"""The flags of what a reduction adds up."""


@dataclass(frozen=True)
class Site:
    """Where an operation is emitted: operand dtype, lanes, and the liberties it may take.

    Attributes:
        is_loose: sums of reductions may be reordered and take in products.
        flags: LLVM's flags of float operations.
        wraps: LLVM's flags of sums and products of integers.
    """

    code: Code
    dtype: DType
    lanes: int
    is_loose: bool = False
    flags: str = ""
    wraps: str = ""

    @property
    def type(self) -> str:
        return register_type(self.dtype, self.lanes)

    @property
    def mask_type(self) -> str:
        return vector_of("i1", self.lanes)

    def literal(self, value: object) -> str:
        return splat(self.dtype, self.lanes, value)

    def op(self, opcode: str, a: str, b: str) -> str:
        return self.code.let(f"{opcode} {self.type} {a}, {b}")

    def test(self, predicate: str, a: str, b: str) -> str:
        compare = "fcmp" if self.dtype.is_floating_point else "icmp"
        return self.code.let(f"{compare} {predicate} {self.type} {a}, {b}")

    def choose(self, mask: str, yes: str, no: str) -> str:
        return self.code.let(f"select {self.mask_type} {mask}, {self.type} {yes}, {self.type} {no}")

    def intrinsic(self, name: str, *operands: str) -> str:
        full = f"llvm.{name}.{suffix(register_type(self.dtype), self.lanes)}"
        return self.code.call(self.type, full, [(self.type, o) for o in operands])

    def negate(self, a: str) -> str:
        if self.dtype.is_floating_point:
            return self.code.let(f"fneg {self.type} {a}")
        return self.op("sub", self.literal(0), a)

    def logical_not(self, mask: str) -> str:
        ones = "true" if self.lanes == 1 else "splat (i1 true)"
        return self.code.let(f"xor {self.mask_type} {mask}, {ones}")

    def both(self, a: str, b: str) -> str:
        return self.code.let(f"and {self.mask_type} {a}, {b}")


def _add(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating_point:
        return site.op(f"fadd{site.flags}", a, b)
    return site.op("or" if site.dtype is bool_ else f"add{site.wraps}", a, b)


def _sub(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating_point:
        return site.op(f"fsub{site.flags}", a, b)
    return site.op("xor" if site.dtype is bool_ else f"sub{site.wraps}", a, b)


def _mul(site: Site, a: str, b: str) -> str:
    if site.dtype.is_floating_point:
        flags = site.flags or (" contract" if site.is_loose else "")
        return site.op(f"fmul{flags}", a, b)
    return site.op("and" if site.dtype is bool_ else f"mul{site.wraps}", a, b)


def _div(site: Site, a: str, b: str) -> str:
    return site.op("fdiv", a, b)


def _is_number(text: str) -> bool:
    return text[0] not in "%@" and "7FF8" not in text


def _extremum(site: Site, a: str, b: str, less: bool) -> str:
    if not site.dtype.is_floating_point:
        if site.dtype is bool_:
            return site.op("and" if less else "or", a, b)
        kind = ("s" if site.dtype.signed else "u") + ("min" if less else "max")
        return site.intrinsic(kind, a, b)
    # x86's minps/maxps give the second operand if either is NaN: the literal goes first, and
    # only two unknown operands need a second test.
    if _is_number(b):
        a, b = b, a
    best = better(site, a, b, less)
    return best if _is_number(a) else site.choose(site.test("uno", a, a), a, best)


def better(site: Site, a: str, b: str, less: bool) -> str:
    """The extremum of floats that are no NaN."""
    return site.choose(site.test("olt" if less else "ogt", a, b), a, b)


def _min(site: Site, a: str, b: str) -> str:
    return _extremum(site, a, b, True)


def _max(site: Site, a: str, b: str) -> str:
    return _extremum(site, a, b, False)


def _greater(site: Site, a: str, b: str) -> str:
    return better(site, a, b, less=False)


def _bitwise(opcode: str) -> Callable[[Site, str, str], str]:
    return lambda site, a, b: site.op(opcode, a, b)


def _shl(site: Site, a: str, b: str) -> str:
    return _shift(site, "shl", a, b)


def _shr(site: Site, a: str, b: str) -> str:
    return _shift(site, "ashr" if site.dtype.signed else "lshr", a, b)


def _shift(site: Site, opcode: str, a: str, b: str) -> str:
    """Counts outside 0 .. width-1 give what PyTorch gives: 0, or the sign for `>>`."""
    bits = site.dtype.bits
    if b.isdigit() and int(b) < bits:
        return site.op(opcode, a, b)
    fits = site.test("ult", b, site.literal(bits))
    count = site.choose(fits, b, site.literal(bits - 1 if opcode == "ashr" else 0))
    shifted = site.op(opcode, a, count)
    return shifted if opcode == "ashr" else site.choose(fits, shifted, site.literal(0))


_FLOAT_TESTS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une", "gt": "ogt", "ge": "oge"}


def compare(site: Site, op: str, a: str, b: str) -> str:
    """A comparison of two operands of `site.dtype`; gives i1 per lane."""
    if site.dtype.is_floating_point:
        return site.test(_FLOAT_TESTS[op], a, b)
    if op in ("eq", "ne"):
        return site.test(op, a, b)
    return site.test(("s" if site.dtype.signed else "u") + op, a, b)


def compare_signs(site: Site, op: str, a: str, zero: str) -> str:
    """A number that is less or greater than 0; of a difference its two sides are, which are there
    sooner, and narrower where they were made wider. No difference of floats becomes 0 by rounding,
    and one of two infinities is NaN, which is neither greater nor less, as they are not."""
    if (found := site.code.differences.get(a)) is None:
        return compare(site, op, a, zero)
    dtype, x, y = found
    narrow = [site.code.widened.get(side) for side in (x, y)]
    if dtype is float64 and all(n is not None and n[0] == "float" for n in narrow):
        dtype, (x, y) = float32, (n[1] for n in narrow if n is not None)
    return compare(replace(site, dtype=dtype), op, x, y)


BINARY: dict[str, Callable[[Site, str, str], str]] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "min": _min, "max": _max,
    "greater": _greater,
    "and": _bitwise("and"), "or": _bitwise("or"), "xor": _bitwise("xor"), "shl": _shl, "shr": _shr,
}  # fmt: skip


def identity(combiner: str, dtype: DType) -> object:
    """The value that leaves the other operand of a te.update combiner as it is."""
    if combiner in ("add", "or", "xor"):
        return 0
    if combiner == "mul":
        return 1
    if combiner == "and":
        return True if dtype is bool_ else -1 if dtype.signed else 2**dtype.bits - 1
    low = combiner in ("max", "greater")
    if dtype.is_floating_point:
        return float("-inf") if low else float("inf")
    if dtype is bool_:
        return not low
    if not dtype.signed:
        return 0 if low else 2**dtype.bits - 1
    return -(2 ** (dtype.bits - 1)) if low else 2 ** (dtype.bits - 1) - 1


def horizontal(site: Site, combiner: str, value: str) -> str:
    """All lanes of `value` combined into one scalar."""
    element = register_type(site.dtype)
    tail = suffix(element, site.lanes)
    if site.dtype.is_floating_point:
        if combiner in ("min", "max", "greater"):
            return _float_extremum(site, combiner, value)
        start = splat(site.dtype, 1, -0.0 if combiner == "add" else 1.0)
        name = f"llvm.vector.reduce.f{combiner}.{tail}"
        site.code.module.declare(name, element, f"{element}, {site.type}")
        flags = REORDERED if site.is_loose else ""
        return site.code.let(
            f"call{flags} {element} @{name}({element} {start}, {site.type} {value})"
        )
    kind = combiner
    if site.dtype is bool_:
        kind = {"add": "or", "max": "or", "mul": "and", "min": "and"}.get(combiner, combiner)
    elif combiner in ("min", "max"):
        kind = ("s" if site.dtype.signed else "u") + combiner
    return site.code.call(element, f"llvm.vector.reduce.{kind}.{tail}", [(site.type, value)])


def _float_extremum(site: Site, combiner: str, value: str) -> str:
    """Halve the vector until one lane is left (odd lanes pad with the combiner's identity). Whether
    a lane is NaN is asked once, beside the chain of halves."""
    code, dtype, lanes, element = site.code, site.dtype, site.lanes, register_type(site.dtype)
    size = 1 << (lanes - 1).bit_length()
    if size == 1:
        return value
    if size != lanes:
        pad = splat(dtype, lanes, identity(combiner, dtype))
        picks = ", ".join(f"i32 {min(k, lanes)}" for k in range(size))
        value = code.let(
            f"shufflevector {site.type} {value}, {site.type} {pad}, <{size} x i32> <{picks}>"
        )
    has_nan = ""
    while size > 1:
        half = Site(code, dtype, size // 2)
        low, high = _halves(half, vector_of(element, size), value)
        if combiner != "greater":
            has_nan = has_nan or _any(half, half.test("uno", low, high))
        value = better(half, low, high, combiner == "min")
        size = half.lanes
    if combiner == "greater":
        return value
    nan = splat(dtype, 1, float("nan"))
    return code.let(f"select i1 {has_nan}, {element} {nan}, {element} {value}")


def _halves(half: Site, kind: str, value: str) -> tuple[str, str]:
    """The lanes of a vector of `kind`, twice as wide as `half`, in two parts."""
    code, lanes = half.code, half.lanes
    if lanes == 1:
        first, second = (code.let(f"extractelement {kind} {value}, i64 {k}") for k in (0, 1))
        return first, second
    picks = (", ".join(f"i32 {start + k}" for k in range(lanes)) for start in (0, lanes))
    first, second = (
        code.let(f"shufflevector {kind} {value}, {kind} poison, <{lanes} x i32> <{part}>")
        for part in picks
    )
    return first, second


def _any(site: Site, mask: str) -> str:
    """Whether a lane of a mask is set."""
    if site.lanes == 1:
        return mask
    name = f"llvm.vector.reduce.or.{suffix('i1', site.lanes)}"
    return site.code.call("i1", name, [(site.mask_type, mask)])
