"""When do lanes across rows that are written turn what they have (`schedules/crossed.py`)?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from schedule_steps import parse_function

import tensorscript as ts
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.te.evaluate import evaluate

CENTRED = """
te.func @k kernel logical rows (x: f32[{length}, {rows}], out y: f32[{shape}]) {{
  te.for i in 0 .. {rows} serial {{
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.for r in 0 .. {length} serial reduce {{
      te.update t[] add= x.f32[r, i]
    }}
    te.for j in 0 .. {length} serial {{
      te.store y[{place}] = x.f32[j, i] - t.f32[()]
    }}
  }}
}}"""


@pytest.mark.parametrize(
    ("rows", "length", "turned", "squares"),
    [(64, 40, True, 8), (64, 44, True, 8), (64, 40, False, None), (4, 64, True, None)],
    ids=["wide", "a rest", "written as it is read", "few"],
)
def test_the_choice(rows: int, length: int, turned: bool, squares: int | None) -> None:
    shape = (rows, length) if turned else (length, rows)
    place = "i, j" if turned else "j, i"
    source = CENTRED.format(rows=rows, length=length, shape=", ".join(map(str, shape)), place=place)
    func = parse_function(source)
    steps = schedule_kernel(func, CPUParameters(vector_bytes=32, checked=True))
    sides = {s.args[1] for s in steps if s.primitive == "squares"}
    assert sides == ({squares} if squares else set())
    x = np.random.default_rng(0).integers(-8, 8, (length, rows)).astype("f4")
    found = np.empty(shape, "f4")
    evaluate(func, {"x": x, "y": found})
    wanted = x - x.sum(0)
    np.testing.assert_array_equal(found, wanted.T if turned else wanted)


def softmax(x: ts.Tensor) -> ts.Tensor:
    return x.transpose(-1, -2).softmax(-1)


def norm(x: ts.Tensor) -> ts.Tensor:
    turned = x.transpose(-1, -2)
    return ts.nn.functional.layer_norm(turned, [turned.shape[-1]])


@pytest.mark.parametrize("run", [softmax, norm])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(64, 40), (3, 70, 33), (17, 100), (2, 56, 56), (512, 4)])
def test_the_same_as_eagerly(
    run: Callable[[ts.Tensor], ts.Tensor], dtype: str, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    native = ts.compile(run, (x,), fallback="error", cache=False)
    np.testing.assert_allclose(native(x), np.asarray(run(ts.from_numpy(x))), 1e-5, 1e-5)
