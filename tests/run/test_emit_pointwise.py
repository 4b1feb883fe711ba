"""Pointwise kernels: dtypes, semantics of operators, layouts, scalar and vector code alike."""

from __future__ import annotations

import numpy as np
import pytest
from emit_harness import Compiled, elementwise, parse_te, run_te

from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.target import host

SHORT = {
    "f4": "f32", "f8": "f64", "i8": "i64", "i4": "i32", "i2": "i16", "i1": "i8", "u1": "u8",
    "f2": "f16", "?": "b1",
}  # fmt: skip
WIDTHS = (1, 4, 16)


def values(kind: str, size: int = 37, low: int = -50, high: int = 50) -> np.ndarray:
    random = np.random.default_rng(7)
    dtype = np.dtype(kind)
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(bool)
    if dtype.kind == "f":
        return (random.standard_normal(size) * 10).astype(dtype)
    return random.integers(max(low, np.iinfo(dtype).min), high, size).astype(dtype)


def check(
    expression: str, arrays: list[np.ndarray], expected: np.ndarray, width: int, rtol: float = 0
) -> None:
    kinds = [SHORT[a.dtype.str[1:].replace("b1", "?")] for a in arrays]
    out = np.zeros(expected.shape, expected.dtype)
    short = SHORT[expected.dtype.str[1:].replace("b1", "?")]
    elementwise(expression, arrays, kinds, out, short, width)
    if rtol:
        np.testing.assert_allclose(out, expected, rtol=rtol)
    else:
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_float_chain(width: int) -> None:
    a, b = values("f4"), values("f4")[::-1].copy()
    check("max(a@ * b@ + (1.5).f32, (0.0).f32)", [a, b], np.maximum(a * b + np.float32(1.5), 0),
          width, 1e-6)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("op", ["min", "max"])
def test_extremum_propagates_nan(op: str, kind: str, width: int) -> None:
    a, b = values(kind, 8), values(kind, 8)[::-1].copy()
    a[1], b[2] = np.nan, np.nan
    check(f"{op}(a@, b@)", [a, b], getattr(np, f"{op}imum")(a, b), width)
    one = f"(1.0).{SHORT[kind]}"
    check(f"{op}(a@, {one})", [a], getattr(np, f"{op}imum")(a, 1).astype(kind), width)
    check(f"{op}({one}, a@)", [a], getattr(np, f"{op}imum")(a, 1).astype(kind), width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_greater_gives_the_second_operand_beside_nan(kind: str, width: int) -> None:
    a, b = values(kind, 8), values(kind, 8)[::-1].copy()
    a[1], b[2] = np.nan, np.nan
    check("greater(a@, b@)", [a, b], np.where(a > b, a, b), width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["i8", "i4", "i2", "i1", "u1"])
def test_integer_operators(kind: str, width: int) -> None:
    a = values(kind)
    b = np.where(values(kind)[::-1] == 0, 3, values(kind)[::-1]).astype(kind)
    check("a@ // b@", [a, b], a // b, width)
    check("a@ % b@", [a, b], a % b, width)
    check("truncmod(a@, b@)", [a, b], np.fmod(a, b), width)
    check("a@ * a@ - b@", [a, b], a * a - b, width)
    check("(a@ & b@) ^ (a@ | ~b@)", [a, b], (a & b) ^ (a | ~b), width)
    check("select(a@ < b@, -a@, b@)", [a, b], np.where(a < b, (-a).astype(kind), b), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_division_by_constants_and_least_value(width: int) -> None:
    a = np.array([-(2**63), -7, -8, -1, 0, 1, 7, 8, 2**63 - 1], "i8")
    for divisor in (8, 7, -3, 1):
        check(f"a@ // {divisor}", [a], a // divisor, width)
        check(f"a@ % {divisor}", [a], a % divisor, width)
    minus = np.full(a.shape, -1, "i8")
    with np.errstate(all="ignore"):
        check("a@ // b@", [a, minus], -a, width)
        check("a@ % b@", [a, minus], a * 0, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_shift_counts_out_of_range(width: int) -> None:
    a = np.array([5, -5, 5, -5, 5, -5], "i4")
    b = np.array([1, 1, 31, 32, 40, -1], "i4")
    check("a@ << b@", [a, b], np.array([10, -10, -(2**31), 0, 0, 0], "i4"), width)
    check("a@ >> b@", [a, b], np.array([2, -3, 0, -1, 0, -1], "i4"), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_float_floor_division_and_remainder(width: int) -> None:
    a = np.array([7.5, -7.5, 7.5, -7.5, 0.0, 6.0, 1.0], "f4")
    b = np.array([2.0, 2.0, -2.0, -2.0, 3.0, 3.0, 0.1], "f4")
    check("a@ // b@", [a, b], a // b, width)
    check("a@ % b@", [a, b], a % b, width)
    check("truncmod(a@, b@)", [a, b], np.fmod(a, b), width)


CASTS = [
    ("f4", "i4"), ("f4", "u1"), ("f4", "i8"), ("f8", "f4"), ("i8", "f4"), ("i4", "i8"),
    ("i8", "i4"), ("u1", "f4"), ("i1", "i4"), ("?", "f4"), ("f4", "?"), ("i8", "?"), ("?", "i8"),
    ("f4", "f2"), ("f2", "f4"), ("f2", "i4"), ("i4", "f2"), ("f8", "i8"),
]  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(source: str, target: str, width: int) -> None:
    a = values(source, low=0) if target == "u1" else values(source)
    a = abs(a) if target == "u1" else a
    check(f"{SHORT[target]}(a@)", [a], a.astype(target), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_float_to_int_out_of_range(width: int) -> None:
    a = np.array([np.nan, 3e9, -3e9, np.inf, -(2.0**31), 2.0**31 - 128], "f4")
    least = -(2**31)
    check("i32(a@)", [a], np.array([least] * 5 + [2**31 - 128], "i4"), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_half_rounds_each_operation(width: int) -> None:
    a, b = values("f2"), values("f2")[::-1].copy()
    check("a@ * b@ + a@", [a, b], a * b + a, width)
    check("a@ / b@ - (0.1).f16", [a, b], a / b - np.float16(0.1), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_bfloat16(width: int) -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(37, generator=torch.Generator().manual_seed(1)).bfloat16()
    b = a.flip(0).clone()
    a[3] = float("nan")
    expected = (a * b + a).float().numpy()
    arrays = [x.view(torch.int16).numpy().view(np.uint16) for x in (a, b)]
    out = np.zeros(37, np.uint16)
    elementwise("a@ * b@ + a@", arrays, ["bf16", "bf16"], out, "bf16", width)
    np.testing.assert_array_equal((out.astype(np.uint32) << 16).view(np.float32), expected)


@pytest.mark.parametrize("width", [*WIDTHS, 64])
def test_rounding_to_bfloat16(width: int) -> None:
    """To nearest even, subnormals and what becomes infinite too; a NaN has no payload."""
    random = np.random.default_rng(3)
    bits = random.integers(0, 2**32, 300, np.uint64).astype(np.uint32)
    edges = [0, 0x8000, 0x18000, 0x8001, 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800000, 0x7FA00001]
    bits[: 2 * len(edges)] = [*edges, *(e | 0x80000000 for e in edges)]
    a, out = bits.view(np.float32), np.zeros(300, np.uint16)
    wanted = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    elementwise("bf16(a@)", [a], ["f32"], out, "bf16", width)
    np.testing.assert_array_equal(out, np.where(np.isnan(a), 0x7FC0, wanted))


def test_vectors_of_bfloat16_are_stored_by_one_shuffle() -> None:
    text = """te.func @k kernel scheduled (a: f32[32], out y: bf16[32]) {
      te.for v in 0 .. 32 vector {
        te.store y[v] = bf16(a.f32[v])
      }
    }"""
    emitted = emit_module(parse_te(text), host(), {}, None)
    assert "shufflevector <64 x i16>" in emitted
    assert "trunc <32 x i32>" not in emitted


@pytest.mark.parametrize("width", WIDTHS)
def test_bool_logic(width: int) -> None:
    a, b = values("?"), values("?")[::-1].copy()
    check("(a@ & ~b@) | (a@ ^ b@)", [a, b], (a & ~b) | (a ^ b), width)
    check("select(a@, b@, ~b@)", [a, b], np.where(a, b, ~b), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_inline_functions(width: int) -> None:
    a = values("f4")
    a[:5] = [np.nan, np.inf, -np.inf, -0.0, 2.5]
    for name, expected in [
        ("floor", np.floor(a)), ("ceil", np.ceil(a)), ("trunc", np.trunc(a)), ("abs", abs(a)),
        ("round", np.round(a)), ("isnan", np.isnan(a)), ("isinf", np.isinf(a)),
        ("isfinite", np.isfinite(a)), ("signbit", np.signbit(a)),
    ]:  # fmt: skip
        check(f"{name}(a@)", [a], expected, width)
    check("copysign(abs(a@), -a@)", [a], np.copysign(abs(a), -a), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_math_library_calls(width: int) -> None:
    a = values("f4") / np.float32(10)
    check("exp(a@)", [a], np.exp(a.astype("f8")).astype("f4"), width, 1e-6)
    check("tanh(a@) + pow(abs(a@), (2.5).f32)", [a],
          (np.tanh(a) + abs(a) ** np.float32(2.5)).astype("f4"), width, 1e-5)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
def test_integer_power(width: int) -> None:
    a, b = np.array([2, -3, 5, -1, 1, 0, 7], "i8"), np.array([10, 3, 0, -3, -9, 2, -1], "i8")
    check("pow(a@, b@)", [a, b], np.array([1024, -27, 1, -1, 1, 0, 0], "i8"), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_guarded_division_and_load(width: int) -> None:
    a, b = values("i8"), values("i8") % 3
    expected = np.where(b != 0, a // np.where(b == 0, 1, b), -1)
    check("select(b@ != 0, a@ // b@, -1)", [a, b], expected, width)


@pytest.mark.parametrize("kind", ["serial", "vector", "unroll"])
def test_concatenation_never_reads_outside(kind: str) -> None:
    x, y, z = np.arange(5, dtype="f4"), np.arange(11, dtype="f4") + 100, np.zeros(16, "f4")
    text = f"""te.func @k kernel scheduled (x: f32[5], y: f32[11], out z: f32[16]) {{
      te.for i in 0 .. 16 {kind} {{
        te.store z[i] = select(i < 5, x.f32[i], y.f32[i - 5])
      }}
    }}"""
    assert run_te(text, x, y, z) == 0
    np.testing.assert_array_equal(z, np.concatenate([x, y]))


@pytest.mark.parametrize("kind", ["serial", "vector"])
def test_layouts(kind: str) -> None:
    """Transposed, strided, reversed and broadcast reads; scattered and reversed stores."""
    x = np.arange(64, dtype="f4").reshape(8, 8)
    row, z = np.arange(8, dtype="f4") * 100, np.zeros((8, 8), "f4")
    r, t = np.zeros((8, 8), "f4"), np.zeros((8, 8), "f4")
    text = f"""te.func @k kernel scheduled (x: f32[8, 8], row: f32[8], out z: f32[8, 8],
 out r: f32[8, 8], out t: f32[8, 8]) {{
      te.for i in 0 .. 8 serial {{
        te.for j in 0 .. 8 {kind} {{
          te.store z[i, j] = x.f32[j, i] + row.f32[j] + row.f32[i] * (2.0).f32
          te.store r[i, 7 - j] = x.f32[i, 7 - j] + x.f32[j, 7 - i]
          te.store t[j, i] = x.f32[i, (j * j) % 8]
        }}
      }}
    }}""".replace("\n out", " out")
    assert run_te(text, x, row, z, r, t) == 0
    i, j = np.mgrid[:8, :8]
    np.testing.assert_array_equal(z, x.T + row + row[:, None] * 2)
    np.testing.assert_array_equal(r[i, 7 - j], x[i, 7 - j] + x[j, 7 - i])
    np.testing.assert_array_equal(t[j, i], x[i, (j * j) % 8])


def test_strided_parameter_and_symbolic_sizes() -> None:
    base = np.arange(60, dtype="f8").reshape(6, 10)
    out = np.zeros((6, 5))
    text = """te.func @k kernel scheduled (x: f64[N, 5]{10, 2}, out y: f64[N, 5], N: i64) {
      te.for i in 0 .. N parallel {
        te.for j in 0 .. 5 vector {
          te.store y[i, j] = x.f64[i, j] * f64(N)
        }
      }
    }"""
    compiled = Compiled(text)
    assert compiled(base, out, np.int64(6)) == 0
    np.testing.assert_array_equal(out, base[:, ::2] * 6)


def test_range_values_in_a_vector_loop() -> None:
    y, z = np.zeros(37, "i4"), np.zeros(37, "f4")
    elementwise("i32((o * 16 + v) * 3 - 5)", [], [], y, "i32")
    elementwise("f32((o * 16 + v) * (o * 16 + v))", [], [], z, "f32")
    np.testing.assert_array_equal(y, np.arange(37) * 3 - 5)
    np.testing.assert_array_equal(z, np.arange(37) ** 2)
