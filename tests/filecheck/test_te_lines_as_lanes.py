"""When are running values of neighbouring lines lanes (`schedules/cpu_lines.py`), and what comes of
it?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from schedule_steps import parse_function

import tensorscript as ts
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.te.evaluate import evaluate

SUMS = """
te.func @k kernel logical scan (x: f32[{rows}, {columns}], out y: f32[{rows}, {columns}], N: i64) {{
  te.for {lines} in 0 .. {count} serial {{
    te.alloc stack running: f64[]
    te.store running[] = (0.0).f64
    te.for {along} in 0 .. {length} serial {{
      te.update running[] add= f64(x.f32[i, j])
      te.store y[i, j] = f32(running.f64[()])
    }}
  }}
}}"""


def _sums(rows: str, columns: str, down: bool) -> str:
    lines, count, along, length = ("j", columns, "i", rows) if down else ("i", rows, "j", columns)
    return SUMS.format(
        rows=rows, columns=columns, lines=lines, count=count, along=along, length=length
    )


@pytest.mark.parametrize(
    ("rows", "columns", "down", "lanes"),
    [
        ("4", "20", True, True),
        ("N", "N", True, True),
        ("4", "7", True, False),
        ("20", "20", False, False),
    ],
    ids=["columns", "any number", "few columns", "rows"],
)
def test_the_choice(rows: str, columns: str, down: bool, lanes: bool) -> None:
    func = parse_function(_sums(rows, columns, down))
    steps = schedule_kernel(func, CPUParameters(vector_bytes=16, checked=True))
    assert any(s.primitive == "vectorize" for s in steps) == lanes
    assert [s.args[0] for s in steps if s.primitive == "split"] == ([8] if lanes else [])
    x = np.random.default_rng(0).standard_normal((4, 20)).astype("f4")
    if rows != "4":
        x = np.random.default_rng(0).standard_normal((20, 20)).astype("f4")
    x = x[:, : int(columns)] if columns != "N" else x
    found = np.empty_like(x)
    evaluate(func, {"x": np.ascontiguousarray(x), "y": found, "N": 20})
    np.testing.assert_array_equal(found, x.cumsum(0 if down else 1, dtype="f8").astype("f4"))


def sums(x: ts.Tensor) -> ts.Tensor:
    return x.cumsum(-2)


def products(x: ts.Tensor) -> ts.Tensor:
    return x.cumprod(-2)


@pytest.mark.parametrize("run", [sums, products])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1"])
@pytest.mark.parametrize("shape", [(9, 70), (5, 3, 64), (0, 64), (64, 1)])
def test_the_same_as_eagerly(
    run: Callable[[ts.Tensor], ts.Tensor], dtype: str, shape: tuple[int, ...]
) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 2).astype(dtype)
    native = ts.compile(run, (x,), fallback="error", cache=False)
    wanted = np.asarray(run(ts.from_numpy(x)))
    bound = 1e-2 if dtype == "f2" else 1e-6
    np.testing.assert_allclose(native(x), wanted, bound, bound)
