"""Single PTX instructions in the emulator against NumPy and Python integers.

Every lane runs one instruction on its own operands, so one launch covers many values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscript.backends.ptx.emulate import Emulator

Array = npt.NDArray[Any]

# One example is sixteen lanes already.
few = settings(max_examples=25)

LETTERS = {2: "rs", 4: "r", 8: "rd"}


def size_of(type_name: str) -> int:
    if type_name.endswith("x2"):
        return 4
    return int(type_name.lstrip("bfsu")) // 8


def execute(instruction: str, result: str, *operands: tuple[str, Array]) -> Array:
    """Run `instruction` with `{d}`, `{a}`, `{b}`, `{c}`; `operands` give types and values.

    `{p}` is a scratch predicate. The result comes back as unsigned integers of its width.
    """
    names: dict[str, str] = {"p": "%p1"}
    lines: list[str] = []
    for index, (type_name, _) in enumerate(operands):
        size = size_of(type_name)
        register = f"%{LETTERS[size]}{10 + index}"
        names["abcd"[index]] = register
        lines += [
            f"ld.param.b64 %rd1, [k_param_{index + 1}];",
            f"mad.wide.u32 %rd1, %r0, {size}, %rd1;",
            f"ld.global.b{size * 8} {register}, [%rd1];",
        ]
    size = size_of(result)
    names["d"] = f"%{LETTERS[size]}9"
    parameters = ", ".join(f".param .u64 k_param_{i}" for i in range(len(operands) + 1))
    text = f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry k({parameters})
{{
.reg .pred %p<4>; .reg .b16 %rs<20>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
mov.u32 %r0, %tid.x;
{" ".join(lines)}
{instruction.format(**names)}
ld.param.b64 %rd1, [k_param_0];
mad.wide.u32 %rd1, %r0, {size}, %rd1;
st.global.b{size * 8} [%rd1], {names["d"]};
ret;
}}
"""
    count = max(values.size for _, values in operands)
    out = np.zeros(count, f"u{size}")
    arrays = [np.ascontiguousarray(np.broadcast_to(v, (count,))) for _, v in operands]
    Emulator(text).launch("k", 1, count, [out, *arrays])
    return out


def integers(bits: int, signed: bool) -> st.SearchStrategy[Array]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edges = st.sampled_from([low, high, 0, 1, high - 1, low + 1, high // 2])
    value = st.one_of(edges, st.integers(low, high))
    dtype = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
    return st.lists(value, min_size=16, max_size=16).map(lambda v: np.array(v, dtype))


def floats(dtype: Any = np.float32) -> st.SearchStrategy[Array]:
    width = np.dtype(dtype).itemsize * 8
    value = st.floats(width=width)
    return st.lists(value, min_size=16, max_size=16).map(lambda v: np.array(v, dtype))


def uint32(values: list[int]) -> Array:
    return np.array(values, np.uint32)


def wrap(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGER_CASES: list[tuple[str, Callable[[int, int, int], int]]] = [
    ("add", lambda a, b, n: a + b),
    ("sub", lambda a, b, n: a - b),
    ("mul.lo", lambda a, b, n: a * b),
    ("mul.hi", lambda a, b, n: a * b >> n),
    ("min", lambda a, b, n: min(a, b)),
    ("max", lambda a, b, n: max(a, b)),
    ("div", lambda a, b, n: truncated(a, b) if b else -1),
    ("rem", lambda a, b, n: a - b * truncated(a, b) if b else a),
]


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64", "s16", "u16"])
@few
@given(data=st.data())
def test_integer_arithmetic_wraps(kind: str, data: st.DataObject) -> None:
    bits, signed = int(kind[1:]), kind[0] == "s"
    a, b = (data.draw(integers(bits, signed)) for _ in range(2))
    word, expected = data.draw(st.sampled_from(INTEGER_CASES))
    got = execute(f"{word}.{kind} {{d}}, {{a}}, {{b}};", kind, (kind, a), (kind, b))
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    assert got.tolist() == [wrap(expected(x, y, bits), bits) for x, y in pairs]


@few
@given(a=integers(32, True), b=integers(32, True), c=integers(64, True))
def test_wide_products(a: Array, b: Array, c: Array) -> None:
    got = execute("mad.wide.s32 {d}, {a}, {b}, {c};", "s64", ("s32", a), ("s32", b), ("s64", c))
    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    assert got.tolist() == [wrap(x * y + z, 64) for x, y, z in rows]


@pytest.mark.parametrize("kind", ["s32", "u32", "b64", "s64"])
@few
@given(data=st.data())
def test_shifts_saturate_their_count(kind: str, data: st.DataObject) -> None:
    bits, signed = int(kind[1:]), kind[0] == "s"
    a = data.draw(integers(bits, signed))
    count = data.draw(st.lists(st.integers(0, 80), min_size=16, max_size=16).map(uint32))
    left = execute(f"shl.b{bits} {{d}}, {{a}}, {{b}};", kind, (kind, a), ("u32", count))
    right = execute(f"shr.{kind} {{d}}, {{a}}, {{b}};", kind, (kind, a), ("u32", count))
    pairs = list(zip(a.tolist(), count.tolist(), strict=True))
    assert left.tolist() == [wrap(x << n, bits) for x, n in pairs]
    assert right.tolist() == [wrap(x >> n, bits) for x, n in pairs]


@few
@given(a=integers(32, False), b=integers(32, False), n=integers(32, False))
def test_bit_instructions(a: Array, b: Array, n: Array) -> None:
    word = ("b32", a)
    rows = list(zip(a.tolist(), b.tolist(), n.tolist(), strict=True))
    assert execute("popc.b32 {d}, {a};", "b32", word).tolist() == [
        x.bit_count() for x, _, _ in rows
    ]
    assert execute("clz.b32 {d}, {a};", "b32", word).tolist() == [
        32 - x.bit_length() for x, _, _ in rows
    ]
    assert execute("brev.b32 {d}, {a};", "b32", word).tolist() == [
        int(f"{x:032b}"[::-1], 2) for x, _, _ in rows
    ]
    wrapped = execute("shf.l.wrap.b32 {d}, {a}, {b}, {c};", "b32", word, ("b32", b), ("b32", n))
    assert wrapped.tolist() == [wrap((y << 32 | x) << (k % 32) >> 32, 32) for x, y, k in rows]
    swapped = execute("prmt.b32 {d}, {a}, 0, 0x123U;", "b32", word)
    np.testing.assert_array_equal(swapped, a.byteswap())
    both = execute("lop3.b32 {d}, {a}, {b}, {c}, 0xE8;", "b32", word, ("b32", b), ("b32", n))
    np.testing.assert_array_equal(both, (a & b) | (a & n) | (b & n))


@few
@given(
    a=integers(32, True),
    position=st.lists(st.integers(0, 40), min_size=16, max_size=16),
    length=st.lists(st.integers(0, 40), min_size=16, max_size=16),
)
def test_bit_fields(a: Array, position: list[int], length: list[int]) -> None:
    where = ("u32", np.array(position, np.uint32)), ("u32", np.array(length, np.uint32))
    unsigned = execute("bfe.u32 {d}, {a}, {b}, {c};", "b32", ("u32", a.view(np.uint32)), *where)
    signed = execute("bfe.s32 {d}, {a}, {b}, {c};", "b32", ("s32", a), *where)
    for index, (value, p, n) in enumerate(zip(a.tolist(), position, length, strict=True)):
        assert unsigned[index] == wrap(value, 32) >> p & ((1 << n) - 1)
        # The field's bits beyond bit 31 are copies of the sign; the top bit extends.
        field = (value >> p) & ((1 << n) - 1)
        negative = n and value >> min(p + n - 1, 31) & 1
        assert signed[index] == wrap(field - (1 << n) if negative else field, 32)


def round_to_float(value: Fraction, dtype: Any) -> Any:
    """The nearest-even value of a float type, by exact comparison with its neighbours."""
    guess = dtype(float(value))
    if not np.isfinite(guess):
        return guess
    candidates = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]
    finite = [c for c in candidates if np.isfinite(c)]
    even = np.dtype(dtype).itemsize
    return min(
        finite,
        key=lambda c: (
            abs(Fraction(float(c)) - value),
            int(np.array(c).view(f"u{even}")) & 1,
        ),
    )


def same(got: Array, expected: Array) -> None:
    """Equal bits, except that any NaN will do."""
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), ~numbers)
    bits = f"u{expected.dtype.itemsize}"
    np.testing.assert_array_equal(got[numbers].view(bits), expected[numbers].view(bits))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@few
@given(data=st.data())
def test_fused_multiply_add_rounds_once(dtype: Any, data: st.DataObject) -> None:
    kind = f"f{np.dtype(dtype).itemsize * 8}"
    bits = np.dtype(dtype).itemsize * 8
    moderate = st.floats(-1e6, 1e6, width=bits, allow_subnormal=False)
    a = np.array(data.draw(st.lists(moderate, min_size=8, max_size=8)), dtype)
    b = np.array(data.draw(st.lists(moderate, min_size=8, max_size=8)), dtype)
    # An addend that nearly cancels the product shows a second rounding.
    with np.errstate(all="ignore"):
        c = np.where(data.draw(st.booleans()), -(a * b), b).astype(dtype)
    product = np.abs(a.astype(np.float64) * b)
    usable = (product == 0) | ((product > 1e-30) & (product < 1e30))
    got = execute(
        f"fma.rn.{kind} {{d}}, {{a}}, {{b}}, {{c}};", kind, (kind, a), (kind, b), (kind, c)
    )
    for x, y, z, r in zip(a[usable], b[usable], c[usable], got.view(dtype)[usable], strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        assert r == round_to_float(exact, dtype)


@few
@given(a=floats(), b=floats())
def test_float_arithmetic(a: Array, b: Array) -> None:
    sources = ("f32", a), ("f32", b)
    with np.errstate(all="ignore"):
        for word, expected in [
            ("add.rn", a + b),
            ("sub.rn", a - b),
            ("mul.rn", a * b),
            ("div.rn", a / b),
        ]:
            got = execute(f"{word}.f32 {{d}}, {{a}}, {{b}};", "f32", *sources)
            same(got.view(np.float32), expected)
        same(execute("sqrt.rn.f32 {d}, {a};", "f32", sources[0]).view(np.float32), np.sqrt(a))


@few
@given(a=floats(), b=floats())
def test_minimum_and_maximum(a: Array, b: Array) -> None:
    sources = ("f32", a), ("f32", b)
    got = execute("max.f32 {d}, {a}, {b};", "f32", *sources).view(np.float32)
    strict = execute("max.NaN.f32 {d}, {a}, {b};", "f32", *sources).view(np.float32)

    def larger(x: float, y: float) -> float:
        if x == y == 0:
            return math.copysign(0.0, max(math.copysign(1, x), math.copysign(1, y)))
        return max(x, y)

    for x, y, plain, nan in zip(a.tolist(), b.tolist(), got, strict, strict=True):
        if math.isnan(x) or math.isnan(y):
            assert math.isnan(nan)
            other = y if math.isnan(x) else x
            assert plain == other or (math.isnan(plain) and math.isnan(other))
        else:
            expected = np.float32(larger(x, y))
            assert plain == nan == expected
            assert np.signbit(plain) == np.signbit(nan) == np.signbit(expected)


@few
@given(a=floats())
def test_flushing_subnormals(a: Array) -> None:
    with np.errstate(all="ignore"):
        tiny = a * np.float32(2.0**-126)
    got = execute("add.rn.ftz.f32 {d}, {a}, 0f80000000;", "f32", ("f32", tiny)).view(np.float32)
    small = np.abs(tiny) < np.finfo(np.float32).tiny
    same(got, np.where(small, np.copysign(np.float32(0), tiny), tiny))


@pytest.mark.parametrize("target", ["s32", "u32", "s64", "u64", "s16", "u8"])
@pytest.mark.parametrize("mode", ["rzi", "rni", "rmi", "rpi"])
@few
@given(a=floats())
def test_float_to_integer_clamps(target: str, mode: str, a: Array) -> None:
    bits, signed = int(target[1:]), target[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    stored = "b16" if bits == 8 else target
    got = execute(f"cvt.{mode}.{target}.f32 {{d}}, {{a}};", stored, ("f32", a))
    modes: dict[str, Callable[[float], int]] = {
        "rzi": math.trunc,
        "rni": round,
        "rmi": math.floor,
        "rpi": math.ceil,
    }
    for value, result in zip(a.tolist(), got.tolist(), strict=True):
        if math.isnan(value):
            expected = 1 << bits - 1 if bits == 64 else 0
        elif math.isinf(value):
            expected = high if value > 0 else low
        else:
            expected = min(max(modes[mode](value), low), high)
        assert result == wrap(expected, bits)


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
@few
@given(data=st.data())
def test_integer_to_float_rounds_once(kind: str, data: st.DataObject) -> None:
    a = data.draw(integers(int(kind[1:]), kind[0] == "s"))
    got = execute(f"cvt.rn.f32.{kind} {{d}}, {{a}};", "f32", (kind, a)).view(np.float32)
    assert got.tolist() == [round_to_float(Fraction(v), np.float32) for v in a.tolist()]


@few
@given(a=floats())
def test_half_conversions(a: Array) -> None:
    with np.errstate(all="ignore"):
        half = execute("cvt.rn.f16.f32 {d}, {a};", "f16", ("f32", a)).view(np.float16)
        same(half, a.astype(np.float16))
        toward_zero = execute("cvt.rz.f16.f32 {d}, {a};", "f16", ("f32", a)).view(np.float16)
        numbers = ~np.isnan(a)
        assert (np.abs(toward_zero[numbers].astype(np.float32)) <= np.abs(a[numbers])).all()
        back = execute("cvt.f32.f16 {d}, {a};", "f32", ("f16", half)).view(np.float32)
        same(back, half.astype(np.float32))


@few
@given(a=floats(), b=floats())
def test_bfloat_conversion_and_packing(a: Array, b: Array) -> None:
    def bfloat(x: Array) -> Array:
        wide = x.view(np.uint32).astype(np.uint64)
        rounded = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
        return np.where(np.isnan(x), 0x7FFF, rounded).astype(np.uint32)

    one = execute("cvt.rn.bf16.f32 {d}, {a};", "bf16", ("f32", a))
    np.testing.assert_array_equal(one, bfloat(a))
    pair = execute("cvt.rn.bf16x2.f32 {d}, {a}, {b};", "bf16x2", ("f32", a), ("f32", b))
    np.testing.assert_array_equal(pair, bfloat(a) << 16 | bfloat(b))


@few
@given(a=integers(64, False))
def test_pack_and_unpack(a: Array) -> None:
    turned = execute("mov.b64 {{%r1, %r2}}, {a}; mov.b64 {d}, {{%r2, %r1}};", "b64", ("b64", a))
    np.testing.assert_array_equal(turned, (a << np.uint64(32)) | (a >> np.uint64(32)))


@few
@given(a=floats(), b=floats())
def test_comparisons(a: Array, b: Array) -> None:
    unordered = np.isnan(a) | np.isnan(b)
    for word, expected in [
        ("lt", a < b),
        ("ltu", (a < b) | unordered),
        ("ne", (a != b) & ~unordered),
        ("neu", a != b),
        ("num", ~unordered),
        ("nan", unordered),
    ]:
        text = f"setp.{word}.f32 {{p}}, {{a}}, {{b}}; selp.b32 {{d}}, 1, 0, {{p}};"
        got = execute(text, "b32", ("f32", a), ("f32", b))
        np.testing.assert_array_equal(got, expected.astype(np.uint32))


WARP_CASES: dict[str, Callable[[int, list[int]], int]] = {
    "shfl.sync.up.b32 {d}, {a}, 3, 0, -1;": lambda i, v: v[i - 3] if i >= 3 else v[i],
    "shfl.sync.down.b32 {d}, {a}, 5, 31, -1;": lambda i, v: v[i + 5] if i + 5 < 32 else v[i],
    "shfl.sync.bfly.b32 {d}, {a}, 7, 31, -1;": lambda i, v: v[i ^ 7],
    "shfl.sync.idx.b32 {d}, {a}, 9, 31, -1;": lambda i, v: v[9],
    "shfl.sync.idx.b32 {d}, {a}, 3, 0x181f, -1;": lambda i, v: v[i // 8 * 8 + 3],
    "shfl.sync.down.b32 {d}|{p}, {a}, 1, 0x1c1f, -1; @!{p} mov.b32 {d}, 0;": lambda i, v: (
        v[i + 1] if i % 4 < 3 else 0
    ),
    "redux.sync.max.s32 {d}, {a}, -1;": lambda i, v: max(v),
    "redux.sync.add.s32 {d}, {a}, -1;": lambda i, v: sum(v),
    "setp.gt.s32 {p}, {a}, 0; vote.sync.ballot.b32 {d}, {p}, -1;": lambda i, v: sum(
        1 << k for k in range(32) if v[k] > 0
    ),
    "activemask.b32 {d};": lambda i, v: -1,
    "match.any.sync.b32 {d}, {a}, -1;": lambda i, v: sum(1 << k for k in range(32) if v[k] == v[i]),
}


@pytest.mark.parametrize("instruction", list(WARP_CASES))
def test_warp_instructions(instruction: str) -> None:
    values = np.random.default_rng(3).integers(-5, 6, 64).astype(np.int32)
    got = execute(instruction, "b32", ("s32", values))
    expected = [
        wrap(WARP_CASES[instruction](t % 32, values[t // 32 * 32 :][:32].tolist()), 32)
        for t in range(64)
    ]
    assert got.tolist() == expected


@pytest.mark.parametrize("type_name", ["f16", "bf16"])
def test_packed_halves_act_like_two(type_name: str) -> None:
    values = np.random.default_rng(5).standard_normal((4, 64)).astype(np.float32)

    def halves(x: Array) -> Array:
        return execute(f"cvt.rn.{type_name}.f32 {{d}}, {{a}};", type_name, ("f32", x))

    a, b, c, e = (halves(v).astype(np.uint32) for v in values)
    packed = execute(
        f"fma.rn.{type_name}x2 {{d}}, {{a}}, {{b}}, {{c}};",
        f"{type_name}x2",
        ("b32", a << 16 | e),
        ("b32", b << 16 | a),
        ("b32", c << 16 | b),
    )
    text = f"fma.rn.{type_name} {{d}}, {{a}}, {{b}}, {{c}};"

    def single(*v: Array) -> Array:
        return execute(text, type_name, *((type_name, x.astype(np.uint16)) for x in v))

    np.testing.assert_array_equal(packed >> 16, single(a, b, c))
    np.testing.assert_array_equal(packed & 0xFFFF, single(e, a, b))


def test_packed_floats_act_like_two() -> None:
    values = np.random.default_rng(6).standard_normal((3, 64)).astype(np.float32)
    a, b, c = (v.view(np.uint32).astype(np.uint64) for v in values)
    packed = execute(
        "fma.rn.f32x2 {d}, {a}, {b}, {c};",
        "b64",
        ("b64", a << 32 | b),
        ("b64", b << 32 | c),
        ("b64", c << 32 | a),
    )
    text = "fma.rn.f32 {d}, {a}, {b}, {c};"
    x, y, z = (("f32", v) for v in values)
    np.testing.assert_array_equal(packed >> 32, execute(text, "f32", x, y, z))
    np.testing.assert_array_equal(packed & 0xFFFFFFFF, execute(text, "f32", y, z, x))
