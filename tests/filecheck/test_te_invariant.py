"""What does `invariant` name, and when does an outer loop run inside the vectors
(`schedules/steady.py`)?"""

from __future__ import annotations

import numpy as np
import pytest
from schedule_steps import parse_function, run_steps

import tensorscript as ts
from tensorscript.dialects.te.schedule import ScheduleError, step
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.te.evaluate import evaluate

SAMPLED = """
te.func @f kernel logical (x: f32[4, 9], p: f32[20], n: i64[20], out y: f32[4, 20]) {{
  te.for i in 0 .. 20 serial {{
    te.for c in 0 .. {times} serial {{
      te.store y[c, i] = {value}
    }}
  }}
}}"""


def sampled(value: str, times: str = "4") -> str:
    return SAMPLED.format(value=value, times=times)


@pytest.mark.parametrize(
    ("value", "named", "left"),
    [
        (
            "x.f32[c, i64(p.f32[i])] * exp(p.f32[i])",
            ["c_n: f32 = exp(p.f32[i])", "c_n_2: i64 = i64(p.f32[i])"],
            "x.f32[c, c_n_2] * c_n.f32",
        ),
        (
            "select(p.f32[i] < (1.0).f32, x.f32[c, i64(p.f32[i])], (0.0).f32)",
            ["c_n: i64 = i64(p.f32[i])", "c_n_2: b1 = p.f32[i] < (1.0).f32"],
            "select(c_n_2.b1, x.f32[c, c_n], (0.0).f32)",
        ),
        (
            "select(i < 9, x.f32[c, i], x.f32[0, i // 3] * (2.0).f32) * p.f32[i]",
            ["c_n: f32 = p.f32[i]"],
            "select(i < 9, x.f32[c, i], x.f32[0, i // 3] * (2.0).f32) * c_n.f32",
        ),
        (
            "select(n.i64[i] > 0, x.f32[c, 9 // n.i64[i]], p.f32[i])",
            ["c_n: i64 = n.i64[i]", "c_n_2: b1 = n.i64[i] > 0"],
            "select(c_n_2.b1, x.f32[c, 9 // c_n], p.f32[i])",
        ),
    ],
    ids=["places and weights", "under a condition", "reads that may fail", "divisions that may"],
)
def test_what_is_named(value: str, named: list[str], left: str) -> None:
    lets = "".join(f"    te.let {text}\n" for text in named)
    wanted = f"{lets}    te.for c in 0 .. 4 serial {{\n      te.store y[c, i] = {left}\n"
    assert wanted in run_steps(sampled(value), (step("invariant", "c"),))


@pytest.mark.parametrize(
    ("value", "times", "reason"),
    [
        ("x.f32[c, 0]", "4", "all changes along c"),
        ("y.f32[0, i] + x.f32[c, 0]", "4", "all changes along c"),
        ("p.f32[i]", "i", "c may not run at all"),
    ],
)
def test_what_is_refused(value: str, times: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(sampled(value, times), (step("invariant", "c"),))


CHANNELS = """
te.func @k kernel logical pointwise (x: f32[{count}, 9], p: f32[20], out y: f32[{count}, 20]) {{
  te.for c in 0 .. {count} serial {{
    te.for i in 0 .. 20 serial {{
      te.store y[c, i] = x.f32[c, i64(floor(p.f32[i]))] * {weight}
    }}
  }}
}}"""
COSTLY = "exp(p.f32[i]) / (exp(p.f32[i] * (2.0).f32) + (1.0).f32)"


@pytest.mark.parametrize(
    ("channels", "weight", "steady"),
    [(6, COSTLY, True), (3, COSTLY, False), (6, "p.f32[i]", False), (6, "exp(x.f32[c, 0])", False)],
    ids=["channels", "few channels", "little work", "of each channel"],
)
def test_the_choice(channels: int, weight: str, steady: bool) -> None:
    func = parse_function(CHANNELS.format(count=channels, weight=weight))
    steps = schedule_kernel(func, CPUParameters(vector_bytes=32, checked=True))
    assert any(s.primitive == "invariant" for s in steps) == steady
    random = np.random.default_rng(0)
    x = random.standard_normal((channels, 9)).astype("f4")
    p = random.uniform(0, 9, 20).astype("f4")
    found = np.empty((channels, 20), "f4")
    evaluate(func, {"x": x, "p": p, "y": found})
    by = {"p.f32[i]": p, "exp(x.f32[c, 0])": np.exp(x[:, :1])}
    share = by.get(weight, np.exp(p) / (np.exp(2 * p) + 1))
    np.testing.assert_allclose(found, x[:, p.astype(int)] * share, 1e-5)


UNREAD = """
te.func @k kernel logical pointwise (out y: f32[6, 20]) {
  te.for c in 0 .. 6 serial {
    te.for i in 0 .. 20 serial {
      te.store y[c, i] = exp(f32(i)) / (exp(f32(i) * (2.0).f32) + (1.0).f32) * exp(-f32(i)) + f32(c)
    }
  }
}"""


def test_a_map_that_reads_nothing() -> None:
    func = parse_function(UNREAD)
    schedule_kernel(func, CPUParameters(vector_bytes=32, checked=True))
    found = np.empty((6, 20), "f4")
    evaluate(func, {"y": found})
    i = np.arange(20.0)
    wanted = np.exp(i) / (np.exp(2 * i) + 1) * np.exp(-i) + np.arange(6.0)[:, None]
    np.testing.assert_allclose(found, wanted, 1e-5)


def sample(x: ts.Tensor, grid: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.grid_sample(x, grid, align_corners=False)


@pytest.mark.parametrize("shape", [(2, 8, 9, 33), (1, 5, 7, 16), (3, 4, 3, 3), (1, 40, 6, 100)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sampled_pixels_of_many_channels(shape: tuple[int, ...], dtype: str) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal(shape).astype(dtype)
    grid = random.uniform(-1.3, 1.3, (shape[0], 6, shape[-1] + 1, 2)).astype(dtype)
    native = ts.compile(sample, (x, grid), fallback="error", cache=False)
    wanted = np.asarray(sample(ts.from_numpy(x), ts.from_numpy(grid)))
    np.testing.assert_allclose(native(x, grid), wanted, 1e-4, 1e-5)
