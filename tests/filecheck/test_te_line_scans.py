"""When are the elements of a line lanes of a scan (`schedules/cpu_lines.py`), and what comes of
it (`te/scan.py`)?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from schedule_steps import parse_function

import tensorscript as ts
from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import check_step
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.te.evaluate import evaluate
from tensorscript.lowering.te.nest import Nest

RUNNING = """
te.func @k kernel logical scan (x: {dtype}[2, {size}], out y: {dtype}[2, {size}], N: i64) {{
  te.for i in 0 .. 2 serial {{
    te.alloc stack running: {wide}[]
    te.store running[] = ({first}).{wide}
    te.for j in 0 .. {size} serial {{
      te.update running[] {combiner}= {value}
      te.store y[i, j] = {result}
    }}
  }}
}}"""


def running(combiner: str, dtype: str, size: str, wide: str = "") -> str:
    first = {"add": "0.0", "max": "-inf", "mul": "1.0"}[combiner]
    value, result = f"x.{dtype}[i, j]", f"running.{wide or dtype}[()]"
    if wide:
        value, result = f"{wide}({value})", f"{dtype}({result})"
    return RUNNING.format(
        dtype=dtype, size=size, wide=wide or dtype, first=first, combiner=combiner, value=value,
        result=result,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("combiner", "dtype", "wide", "size", "lanes"),
    [
        ("max", "f32", "", "21", 8),
        ("max", "f64", "", "N", 4),
        ("max", "f32", "", "7", None),
        ("add", "f32", "f64", "21", 4),
        ("add", "f64", "", "21", None),
        ("mul", "f32", "f64", "21", None),
    ],
    ids=["maxima", "any number", "few", "sums", "what rounds to itself", "products"],
)
def test_the_choice(combiner: str, dtype: str, wide: str, size: str, lanes: int | None) -> None:
    func = parse_function(running(combiner, dtype, size, wide))
    steps = schedule_kernel(func, CPUParameters(vector_bytes=32, checked=True))
    assert [s.args[0] for s in steps if s.primitive == "scan"] == ([lanes] if lanes else [])
    columns = 21 if size == "N" else int(size)
    kind = {"f32": "f4", "f64": "f8"}[dtype]
    x = np.random.default_rng(0).standard_normal((2, columns)).astype(kind)
    found = np.empty_like(x)
    evaluate(func, {"x": x, "y": found, "N": columns})
    by = {"add": np.cumsum, "mul": np.cumprod, "max": np.maximum.accumulate}[combiner]
    np.testing.assert_array_equal(found, by(x.astype("f8"), axis=1).astype(kind))


def test_what_it_becomes() -> None:
    func = parse_function(running("max", "f32", "21"))
    schedule_kernel(func, CPUParameters(vector_bytes=32, checked=True))
    assert """
    te.var j_c: f32 = (-inf).f32
    te.for j_o in 0 .. 2 serial {
      te.for j_v in 0 .. 8 vector {
        te.scan j_s: f32 of j_c max= x.f32[i, j_o * 8 + j_v]
        te.store y[i, j_o * 8 + j_v] = j_s.f32
      }
    }
    te.for j_w in 0 .. 8 vector {
      te.if 16 + j_w < 21 {
        te.scan j_s_2: f32 of j_c max= x.f32[i, 16 + j_w]
        te.store y[i, 16 + j_w] = j_s_2.f32
      }
    }
""" in str(func)


@pytest.mark.parametrize(
    ("combiner", "change", "reason"),
    [
        ("mul", ("", ""), "no scans of f32 with mul"),
        ("max", ("y[i, j] =", "x[i, j] ="), "reads what it stores"),
        ("max", ("= x.f32[i, j]", "= x.f32[i, j] + running.f32[()]"), "does not run along a line"),
        ("max", ("(-inf).f32\n", "(-inf).f32\n    te.let n: i64 = 2\n"), "does not run along"),
    ],
)
def test_what_is_refused(combiner: str, change: tuple[str, str], reason: str) -> None:
    nest = Nest(parse_function(running(combiner, "f32", "21").replace(*change)))
    assert reason in (check_step(nest, step("scan", "j", 8)) or "")
    assert "at least 2" in (check_step(nest, step("scan", "j", 1)) or "")


def maxima(x: ts.Tensor) -> ts.Tensor:
    return x.cummax(-1)[0]


def places(x: ts.Tensor) -> ts.Tensor:
    return x.cummin(-1)[1]


def sums(x: ts.Tensor) -> ts.Tensor:
    return x.cumsum(-1)


@pytest.mark.parametrize("run", [maxima, places, sums])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "i2", "u1"])
@pytest.mark.parametrize("shape", [(5, 70), (3, 16), (2, 9), (0, 64), (64, 1), (1000,)])
def test_the_same_as_eagerly(
    run: Callable[[ts.Tensor], ts.Tensor], dtype: str, shape: tuple[int, ...]
) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    native = ts.compile(run, (x,), fallback="error", cache=False)
    wanted = np.asarray(run(ts.from_numpy(x)))
    np.testing.assert_allclose(native(x), wanted, 1e-6, 1e-6)


@pytest.mark.parametrize("run", [maxima, places, sums])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("place", [0, 3, 15, 16, 40])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, -0.0])
def test_what_is_no_number_is_seen_by_all_behind_it(
    run: Callable[[ts.Tensor], ts.Tensor], dtype: str, place: int, number: float
) -> None:
    x = np.random.default_rng(0).standard_normal((3, 41)).astype(dtype)
    x[1, place] = number
    x[1, -1] = -number
    native = ts.compile(run, (x,), fallback="error", cache=False)
    np.testing.assert_allclose(native(x), np.asarray(run(ts.from_numpy(x))), 1e-6, 1e-6)
