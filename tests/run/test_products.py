"""Do tiled products of every element type give the right numbers, in both orders of memory?"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from emit_harness import Compiled, parse_te

import tensorscript as ts
from tensorscript.backends.target import host
from tensorscript.base.dtypes import bfloat16, uint8
from tensorscript.dialects.te.expr import const, var
from tensorscript.dialects.te.ops import FuncOp
from tensorscript.lowering.schedules.contraction_shape import recognise
from tensorscript.lowering.schedules.contraction_tile import Tile, fitted
from tensorscript.lowering.schedules.cpu import CPUParameters, schedule_cpu


def product(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x @ w


def with_rows(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x @ w.t()


def of_columns(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.relu(x.t() @ w)


def of_bytes(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts._int_mm(x, w)


TILE = re.compile("te.alloc (reg tile|tile acc)")
SIZES = [(70, 96, 80), (33, 131, 65), (4, 300, 64), (128, 64, 256), (30, 1100, 40)]
PROGRAMS = {"plain": product, "rows": with_rows, "columns": of_columns}


def numbers(dtype: str, *shape: int) -> np.ndarray:
    random = np.random.default_rng(sum(shape))
    if dtype[0] == "f":
        return random.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def operands(dtype: str, layout: str, size: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    rows, depth, columns = size
    x, w = numbers(dtype, rows, depth), numbers(dtype, depth, columns)
    if layout == "rows":
        w = np.ascontiguousarray(w.T)
    return (np.ascontiguousarray(x.T) if layout == "columns" else x), w


@pytest.mark.parametrize("layout", PROGRAMS)
@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "i8"])
def test_integers_wrap_around(dtype: str, layout: str) -> None:
    for size in SIZES[:3]:
        x, w = operands(dtype, layout, size)
        compiled = ts.compile(PROGRAMS[layout], (x, w), fallback="error")
        assert TILE.search(compiled.ir("scheduled"))
        with np.errstate(over="ignore"):
            left, right = x.T if layout == "columns" else x, w.T if layout == "rows" else w
            wanted = left @ right
        wanted = np.maximum(wanted, 0) if layout == "columns" else wanted
        np.testing.assert_array_equal(compiled(x, w), wanted)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("layout", PROGRAMS)
def test_halves_are_summed_in_float32(kind: str, layout: str) -> None:
    dtype = getattr(ts, kind)
    for size in SIZES:
        x, w = (ts.from_numpy(a).to(dtype) for a in operands("f4", layout, size))
        compiled = ts.compile(PROGRAMS[layout], (x, w), fallback="error")
        sums = re.search(r"te\.alloc (reg tile|tile acc|stack dots): f32", compiled.ir("scheduled"))
        assert sums is not None
        exact = PROGRAMS[layout](x.to(ts.float64), w.to(ts.float64)).numpy()
        found = compiled(x, w).to(ts.float64).numpy()
        # One rounding of the sum, and the float32 sum itself.
        unit = 2.0 ** (-8 if kind == "bfloat16" else -11)
        limit = unit * np.abs(exact) + size[1] * 2.0**-22
        assert (np.abs(found - exact) <= limit).all()


def linear(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.linear(x, w, b)


def blended(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.addmm(b, x, w.t(), beta=3, alpha=0.5)


def of_vector(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.addmv(b, w, x[0])


def convolved(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.conv1d(x.unsqueeze(-1), w.unsqueeze(-1), b)


def spread(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.conv_transpose1d(x.unsqueeze(-1), w.t().unsqueeze(-1), b)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("program", [linear, blended, of_vector, convolved, spread])
def test_halves_with_a_bias_are_rounded_once(program: Callable[..., ts.Tensor], kind: str) -> None:
    """All sums are exact in float32, and few of them are half numbers."""
    dtype, random = getattr(ts, kind), np.random.default_rng(0)
    shapes = ((6, 24), (10, 24), (10,))
    whole = [random.integers(-100, 100, s).astype(np.float64) for s in shapes]
    whole[2] *= 2.0**6
    given = [ts.from_numpy(a).to(dtype) for a in whole]
    wanted = program(*(t.to(ts.float64) for t in given)).to(dtype).tolist()
    assert program(*given).tolist() == wanted
    assert ts.compile(program, fallback="error")(*given).tolist() == wanted


@pytest.mark.parametrize(
    ("dtype", "cpu", "instruction"),
    [
        ("bfloat16", "znver4", "vdpbf16ps"),
        ("bfloat16", "x86-64-v4", "vfmadd231ps"),  # has none for pairs
        ("int8", "cascadelake", "vpdpbusd"),
        ("uint8", "alderlake", "vpdpbusd"),
        ("int16", "znver4", "vpdpwssd"),
        ("uint8", "x86-64-v4", "vpmaddwd"),
        ("int16", "x86-64-v3", "vpmaddwd"),
        ("int16", "x86-64", "pmaddwd"),
    ],
)
def test_groups_are_one_instruction(dtype: str, cpu: str, instruction: str) -> None:
    specs = [ts.TensorSpec((64, 64), getattr(ts, dtype))] * 2
    target = "x86_64-unknown-linux-gnu"
    compiled = ts.compile(product, specs, target=target, cpu=cpu, fallback="error")
    assert compiled.asm().count(f"\t{instruction}\t") >= 8
    count = {"vfmadd231ps": 1, "vpdpbusd": 4}.get(instruction, 2)
    found = re.findall(r"te.for ku in 0 .. (\d) vector", compiled.ir("scheduled"))
    assert found == ([str(count)] if count > 1 else [])


@pytest.mark.parametrize("kinds", [("int8", "int8"), ("uint8", "int8")])
@pytest.mark.parametrize(("cpu", "register"), [("cascadelake", "zmm"), ("alderlake", "ymm")])
def test_sums_of_bytes_stay_in_registers(cpu: str, register: str, kinds: tuple[str, ...]) -> None:
    specs = [ts.TensorSpec((512, 512), getattr(ts, kind)) for kind in kinds]
    target = "x86_64-unknown-linux-gnu"
    compiled = ts.compile(of_bytes, specs, target=target, cpu=cpu, fallback="error")
    lines = compiled.asm().splitlines()
    multiplying = [k for k, line in enumerate(lines) if "\tvpdpbusd\t" in line]
    inside = lines[multiplying[0] : multiplying[-1]]
    assert len(multiplying) in (12, 28)
    assert not [line for line in inside if "rsp" in line and register in line]


def test_strict_numbers_are_not_paired() -> None:
    """The instruction for bfloat16 takes subnormal numbers for 0."""
    x = ts.full((64, 64), 2.0**-130, dtype=ts.bfloat16)
    y = ts.full((64, 64), 2.0**100, dtype=ts.bfloat16)
    found = ts.compile(product, (x, y), strict=True, fallback="error")(x, y)
    assert (found.to(ts.float32).numpy() == 2.0**-24).all()


@pytest.mark.skipif(host().vector_bytes < 32, reason="needs an x86-64 CPU with AVX2")
@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_narrow_vectors(dtype: str, cpu: str) -> None:
    for layout in ("plain", "rows"):
        x, w = operands(dtype, layout, SIZES[1])
        compiled = ts.compile(PROGRAMS[layout], (x, w), cpu=cpu, fallback="error")
        assert TILE.search(compiled.ir("scheduled"))
        wanted = x @ (w.T if layout == "rows" else w)
        np.testing.assert_allclose(compiled(x, w), wanted, rtol=1e-4, atol=1e-4)


BYTES = ["i1", "u1"]


@pytest.mark.parametrize("dtype", BYTES)
def test_products_of_bytes(dtype: str) -> None:
    for rows, depth, columns in SIZES:
        x, w = numbers(dtype, rows, depth), numbers("i1", depth, columns)
        compiled = ts.compile(of_bytes, (x, w), fallback="error")
        wanted = x.astype("i4") @ w.astype("i4")
        np.testing.assert_array_equal(compiled(x, w), wanted)
        eager = ts._int_mm(ts.from_numpy(x), ts.from_numpy(w))
        np.testing.assert_array_equal(eager.numpy(), wanted)


def widened(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x.to(ts.int32) @ w.to(ts.int32)


def of_rows(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.linear(x, w)


def widened_rows(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return (x.to(ts.int32) @ w.to(ts.int32).t()) * 0.5


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_bytes_of_every_sign_are_exact(left: str, right: str, strict: bool) -> None:
    """Depths that no group divides, tiles cut off at both edges, more than a block of the depth."""
    for rows, depth, columns in [(17, 67, 33), (300, 1101, 75), (64, 2050, 600)]:
        x, w = numbers(left, rows, depth), numbers(right, depth, columns)
        compiled = ts.compile(widened, (x, w), fallback="error", strict=strict)
        np.testing.assert_array_equal(compiled(x, w), x.astype("i4") @ w.astype("i4"))


@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_the_largest_bytes_do_not_saturate(left: str, right: str) -> None:
    ends = {kind: (np.iinfo(kind).min, np.iinfo(kind).max) for kind in BYTES}
    compiled = ts.compile(widened, (numbers(left, 16, 70), numbers(right, 70, 32)))
    for a in ends[left]:
        for b in ends[right]:
            found = compiled(np.full((16, 70), a, left), np.full((70, 32), b, right))
            assert (np.asarray(found) == 70 * int(a) * int(b)).all()


@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_bytes_whose_columns_lie_across(left: str, right: str) -> None:
    """Whole squares of quads and parts of such, a depth that is padded, a panel of one column."""
    for rows, depth, columns in [(260, 90, 40), (9, 71, 33), (16, 128, 64), (24, 66, 79)]:
        x, w = numbers(left, rows, depth), numbers(right, columns, depth)
        compiled = ts.compile(widened_rows, (x, w), fallback="error")
        np.testing.assert_array_equal(compiled(x, w), x.astype("i4") @ w.astype("i4").T * 0.5)


@pytest.mark.parametrize(
    "size", [(9, 267, 65), (16, 128, 64), (34, 90, 47), (12, 1100, 70)], ids=str
)
def test_halves_whose_columns_lie_across(size: tuple[int, int, int]) -> None:
    """The sums are exact."""
    rows, depth, columns = size
    random = np.random.default_rng(0)
    x, w = (random.integers(-3, 4, s).astype("f4") for s in ((rows, depth), (columns, depth)))
    given = [ts.from_numpy(a).bfloat16() for a in (x, w)]
    compiled = ts.compile(of_rows, given, fallback="error")
    wanted = ts.from_numpy(x @ w.T).bfloat16().float().numpy()
    np.testing.assert_array_equal(compiled(*given).float().numpy(), wanted)
    if bfloat16 in host().groups:
        assert "pairs" in compiled.ir("schedule")


class Weighted(ts.nn.Module):
    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        self.register_buffer("weight", ts.from_numpy(weight))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return x.to(ts.int32) @ self.weight.to(ts.int32)


@pytest.mark.skipif(host().vector_bytes < 32, reason="needs an x86-64 CPU with AVX2")
def test_constant_bytes_are_widened_to_pairs() -> None:
    x, weight = numbers("u1", 5, 130), numbers("i1", 130, 100)
    compiled = ts.compile(Weighted(weight).eval(), (x,), cpu="x86-64-v3", fallback="error")
    np.testing.assert_array_equal(compiled(x), x.astype("i4") @ weight.astype("i4"))
    assert "yp: i16" in compiled.ir("scheduled")


@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("dtype", BYTES)
def test_constant_bytes_are_packed_with_their_sums(left: str, dtype: str) -> None:
    x, weight = numbers(left, 5, 130), numbers(dtype, 130, 100)
    compiled = ts.compile(Weighted(weight).eval(), (x,), fallback="error")
    np.testing.assert_array_equal(compiled(x), x.astype("i4") @ weight.astype("i4"))
    if uint8 in host().groups:
        assert "te.alloc stack yp" not in compiled.ir("scheduled")
        assert "te.alloc stack starts" not in compiled.ir("scheduled")


@pytest.mark.parametrize(
    ("x", "w", "text"),
    [
        (ts.ones(2, 3), ts.ones(3, 4), "self dtype to be int8 or uint8 but got float"),
        (ts.ones(2, 3, dtype=ts.int8), ts.ones(3, 4), "mat2 dtype to be of type int8 but got flo"),
        (ts.ones(2, 3, dtype=ts.int8), ts.ones(4, 4, dtype=ts.int8), "but got 3 and 4"),
        (ts.ones(3, dtype=ts.int8), ts.ones(4, 4, dtype=ts.int8), "of dimension 2 but got 1"),
    ],
)
def test_what_a_product_of_bytes_refuses(x: ts.Tensor, w: ts.Tensor, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        ts._int_mm(x, w)
    with pytest.raises(RuntimeError, match=text):
        ts.compile(of_bytes)(x, w)


KEPT = """
te.func @k kernel logical contraction (x: f32[9, 8], w: f32[8, 40], b: f32[40], out y: f32[9, 40]) {
  te.for i in 0 .. 9 serial {
    te.for j in 0 .. 40 serial {
      te.alloc stack s: f32[]
      te.store s[] = (0.0).f32
      te.for r in 0 .. 8 serial reduce {
        te.update s[] add= x.f32[i, r] * w.f32[r, j]
      }
      te.alloc stack t: f32[]
      te.store t[] = s.f32[()] + b.f32[j]
      te.store y[i, j] = t.f32[()] * sigmoid(t.f32[()])
    }
  }
}"""


def test_a_number_kept_after_the_sum_goes_into_the_tile() -> None:
    module = parse_te(KEPT)
    (func,) = module.body.block.ops
    assert isinstance(func, FuncOp)
    found = recognise(func)
    assert found is not None
    assert [s.head() for s in found.epilogue] == [
        "y[i, j] = (s.f32[()] + b.f32[j]) * sigmoid(s.f32[()] + b.f32[j])"
    ]
    schedule_cpu(module, CPUParameters(vector_bytes=32))
    rng = np.random.default_rng(2)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((9, 8), (8, 40), (40,)))
    y = np.zeros((9, 40), np.float32)
    assert Compiled(module)(x, w, b, y) == 0
    t = x.astype(np.float64) @ w + b
    np.testing.assert_allclose(y, t / (1 + np.exp(-t)), rtol=1e-5, atol=1e-5)


def dense(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.relu(x @ w)


@pytest.mark.parametrize("columns", [16, 24, 80, 144, 160])
def test_panels_that_do_not_fill(columns: int) -> None:
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(s).astype("f4") for s in ((90, 70), (70, columns)))
    np.testing.assert_allclose(ts.compile(dense)(x, w), np.maximum(x @ w, 0), 1e-4, 1e-4)


def test_a_tile_has_one_vector_a_row_where_two_would_waste_many_lanes() -> None:
    wide, narrow = Tile(13, 32, 16), Tile(13, 16, 16)
    for columns, tile in {
        16: narrow,
        24: wide,
        80: narrow,
        144: narrow,
        160: wide,
        1000: wide,
    }.items():
        assert fitted(wide, const(columns)) == tile
    few = Tile(4, 32, 16)  # rows: one vector each would leave the units waiting
    assert fitted(few, const(16)) == few
    assert fitted(wide, var("N")) == wide


def test_a_row_is_multiplied_in_short_chains() -> None:
    """Chains of 256 additions err by 3e-7 of the largest result, those of 64 by 1.7e-7."""
    ts.manual_seed(0)
    random = np.random.default_rng(0)
    layer = ts.nn.Linear(1024, 512, bias=False).eval()
    x = random.standard_normal((1, 1024)).astype("f4")
    wanted = x.astype("f8") @ np.asarray(layer.weight.detach().numpy(), "f8").T
    found = ts.compile(layer, (x,), fallback="error")(x)
    assert np.abs(found - wanted).max() < 2.4e-7 * np.abs(wanted).max()
