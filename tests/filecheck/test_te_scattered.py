"""When are elements at places loaded one by one (`schedules/scattered.py`), and is it the same?"""

from __future__ import annotations

import numpy as np
import pytest
from schedule_steps import parse_function

import tensorscript as ts
from tensorscript.backends.target import host, parse
from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters

TAKEN = """
te.func @k kernel logical pointwise (x: f32[{size}], p: i64[{count}], \
out y: f32[{count}], N: i64) {{
  te.for i in 0 .. {count} serial {{
    te.store y[i] = {value}
  }}
}}"""
MOVED = "x.f32[p.i64[i]]"
FAR = 4096


@pytest.mark.parametrize(
    ("size", "count", "value", "far", "apart"),
    [
        ("2000", "100", MOVED, FAR, True),
        ("2000", "100", MOVED, None, False),
        ("1000", "100", MOVED, FAR, False),
        ("2000", "60", MOVED, FAR, False),
        ("N", "100", MOVED, FAR, False),
        ("2000", "N", MOVED, FAR, False),
        ("2000", "100", f"{MOVED} + (1.0).f32", FAR, False),
        ("2000", "100", "x.f32[i + 3]", FAR, False),
        ("2000", "100", "x.f32[p.i64[0]]", FAR, False),
    ],
    ids=[
        "far",
        "not here",
        "near",
        "few",
        "any table",
        "any number",
        "computed",
        "in order",
        "one",
    ],
)
def test_the_choice(size: str, count: str, value: str, far: int | None, apart: bool) -> None:
    func = parse_function(TAKEN.format(size=size, count=count, value=value))
    steps = schedule_kernel(func, CPUParameters(far=far, checked=True))
    assert (step("unroll", "i_i") in steps) == apart
    assert any(s.primitive == "vectorize" for s in steps) != apart


def test_processors() -> None:
    triple = "x86_64-unknown-linux-gnu"
    assert parse(triple, "graniterapids").far == 3 << 20
    assert parse(triple, "znver5").far is None


def taken(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return x.take(i)


@pytest.mark.parametrize("count", [60000, 60003])
def test_places_of_either_sign(count: int) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal(1 << 20).astype("f4")
    i = random.integers(-x.size, x.size, count)
    native = ts.compile(taken, (x, i), fallback="error", cache=False)
    assert ('"unroll"' in native.ir("schedule")) == (host().far is not None)
    np.testing.assert_array_equal(native(x, i), x[i])
    for place in (x.size, -x.size - 1):
        i[-1] = place
        with pytest.raises(IndexError):
            native(x, i)
