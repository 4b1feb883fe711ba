"""What does `tally` make of counts of equal elements, and when is it chosen?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from schedule_steps import parse_function, run_steps

import tensorscript as ts
from tensorscript.dialects.te.schedule import ScheduleError, step
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.te.evaluate import evaluate

COUNTS = """
te.func @k kernel logical reduction (x: {kind}[{size}], w: f32[{size}], out y: f32[{results}]) {{
  te.for i in 0 .. {results} serial {{
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.for r in 0 .. {size} serial reduce {{
      te.update t[] add= {value}
    }}
    te.store y[i] = t.f32[()] * (2.0).f32
  }}
}}"""
WEIGHTS = "select((w.f32[r] > (0.0).f32) & (x.i64[r] == i), w.f32[r], (0.0).f32)"
ONES = "select(x.f32[r] == f32(i), (1.0).f32, (0.0).f32)"


def counts(value: str, kind: str = "i64", size: int = 100, results: int = 40) -> str:
    return COUNTS.format(value=value, kind=kind, size=size, results=results)


def test_places_and_counts() -> None:
    found = run_steps(counts(WEIGHTS), (step("tally", "i", "r", 64),))
    assert (
        found.split("\n", 1)[1]
        == """\
  te.alloc stack i_count: f64[41]
  te.for i_z in 0 .. 41 serial {
    te.store i_count[i_z] = (0.0).f64
  }
  te.for r_o in 0 .. 2 serial {
    te.alloc stack i_place: i32[64]
    te.for r_k in 0 .. min(64, 100 - r_o * 64) serial {
      te.store i_place[r_k] = select((w.f32[r_o * 64 + r_k] > (0.0).f32) & (x.i64[r_o * 64 + r_k]\
 >= 0) & (x.i64[r_o * 64 + r_k] < 40), i32(x.i64[r_o * 64 + r_k]), (40).i32)
    }
    te.for r_u in 0 .. min(64, 100 - r_o * 64) serial {
      te.update i_count[i64(i_place.i32[r_u])] add= f64(w.f32[r_o * 64 + r_u])
    }
  }
  te.for i in 0 .. 40 serial {
    te.store y[i] = f32(i_count.f64[i]) * (2.0).f32
  }
}"""
    )


@pytest.mark.parametrize(
    "value",
    [
        "select(x.i64[r] < i, (1.0).f32, (0.0).f32)",
        "select(x.i64[r] == i + 1, (1.0).f32, (0.0).f32)",
        "select((x.i64[r] == i) & (w.f32[r] < f32(i)), (1.0).f32, (0.0).f32)",
        "select((x.i64[r] == i) | (w.f32[r] > (0.0).f32), (1.0).f32, (0.0).f32)",
        "select(x.i64[r] == i, f32(i), (0.0).f32)",
        "select(x.i64[r] == i, w.f32[r], (1.0).f32)",
        "select(u8(x.i64[r]) == u8(i), (1.0).f32, (0.0).f32)",
    ],
)
def test_other_reductions_are_refused(value: str) -> None:
    with pytest.raises(ScheduleError, match="no counts"):
        run_steps(counts(value), (step("tally", "i", "r", 64),))


@pytest.mark.parametrize(
    ("value", "kind", "size", "results", "chosen"),
    [(WEIGHTS, "i64", 100, 40, True), (ONES, "f32", 1300, 40, True), (ONES, "f32", 100, 8, False)],
    ids=["weights", "ones", "few results"],
)
def test_the_choice(value: str, kind: str, size: int, results: int, chosen: bool) -> None:
    func = parse_function(counts(value, kind, size, results))
    steps = schedule_kernel(func, CPUParameters(vector_bytes=32, checked=True))
    assert any(s.primitive == "tally" for s in steps) == chosen
    random = np.random.default_rng(0)
    x = (random.integers(-4, 2 * results + 8, size) / (2 if kind == "f32" else 1)).astype(
        {"i64": "i8", "f32": "f4"}[kind]
    )
    w = random.integers(-3, 4, size).astype("f4")
    found = np.empty(results, "f4")
    evaluate(func, {"x": x, "w": w, "y": found})
    share = np.where(w > 0, w, 0) if value == WEIGHTS else np.ones(size)
    wanted = [2 * share[x == k].sum() for k in range(results)]
    np.testing.assert_array_equal(found, np.array(wanted, "f4"))


def histogram(x: ts.Tensor) -> ts.Tensor:
    return ts.histc(x, 50, -1.0, 1.0)


def labels(x: ts.Tensor) -> ts.Tensor:
    return (x.unsqueeze(-2) * 20 == ts.arange(64).unsqueeze(1)).sum(-1)


@pytest.mark.parametrize("run", [histogram, labels])
@pytest.mark.parametrize("shape", [(5,), (700,), (3, 1500)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_same_as_eagerly(
    run: Callable[[ts.Tensor], ts.Tensor], shape: tuple[int, ...], dtype: str
) -> None:
    x = (np.random.default_rng(0).integers(-30, 90, shape) / 20).astype(dtype)
    x.ravel()[:2] = np.nan, np.inf
    native = ts.compile(run, (x,), fallback="error", cache=False)
    np.testing.assert_array_equal(native(x), np.asarray(run(ts.from_numpy(x))))
