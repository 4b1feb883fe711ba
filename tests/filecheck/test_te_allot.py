"""What does `allot` print and compute, when is it illegal, and when does the compiler choose it?"""

from __future__ import annotations

import numpy as np
import pytest
from schedule_steps import parse_function, run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.te.evaluate import evaluate

ROWS = """
te.func @f kernel logical scatter (x: f32[{rows}, 4], p: i64[6], z: f32[6, 4], \
out y: f32[{rows}, 4], N: i64) {{
  te.for i in 0 .. {rows} serial {{
    te.for j in 0 .. 4 serial {{
      te.store y[i, j] = x.f32[i, j]
    }}
  }}
  te.for d in 0 .. 6 serial {{
    te.for k in 0 .. 4 serial {{
      te.update y[select(p.i64[d] < 0, p.i64[d] + {rows}, p.i64[d]), k] add= z.f32[d, k]
    }}
  }}
}}"""
ALLOTTED = """
  te.for i_o in 0 .. 9 parallel grain 2 chunk i_n {
    te.for i in 0 .. i_n serial {
      te.for j in 0 .. 4 serial {
        te.store y[i_o + i, j] = x.f32[i_o + i, j]
      }
    }
    te.for d in 0 .. 6 serial {
      te.let d_row: i64 = select(p.i64[d] < 0, p.i64[d] + 9, p.i64[d])
      te.if (i_o <= d_row) & (d_row < i_o + i_n) {
        te.for k in 0 .. 4 serial {
          te.update y[d_row, k] add= z.f32[d, k]
        }
      }
    }
  }
}"""
SOURCE = ROWS.format(rows=9)


def test_it_hands_rows_to_who_made_them() -> None:
    text = run_steps(SOURCE, (step("allot", "i", "d", 2),))
    assert text.endswith(ALLOTTED)
    assert run_steps(text, ()) == text


@pytest.mark.parametrize("rows", ["9", "N"])
@pytest.mark.parametrize("seed", range(4))
def test_any_runs_of_rows_give_the_same(rows: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, z = (random.standard_normal((n, 4)).astype("f4") for n in (9, 6))
    p = random.integers(-9, 9, 6)
    p[3:] = p[0]  # each row's additions keep their order
    wanted = x.copy()
    np.add.at(wanted, p, z)
    text = run_steps(ROWS.format(rows=rows), (step("allot", "i", "d", 2),))
    found = np.empty_like(x)
    evaluate(parse_function(text), {"x": x, "p": p, "z": z, "y": found, "N": 9}, seed)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("add= z.f32[d, k]", "add= y.f32[d, k]"), "y is read"),
        (("te.store y[i, j] =", "te.store y[0, j] ="), "an iteration of i does not write one row"),
        (("te.for i in 0 .. 9", "te.for i in 0 .. 8"), "i does not make all rows of y"),
        (("= x.f32[i, j]", "= x.f32[i, j]\n te.store y[8 - i, j] = (0.5).f32"), "one row of y"),
        (("  te.for d", "  te.store y[0, 0] = (0.5).f32\n te.for d"), "does not follow i directly"),
        (("add= z", "add= (2.0).f32\n te.update y[d, k] add= z"), "d does not change one row of y"),
        (("te.for d in 0 .. 6 serial", "te.for d in 0 .. 6 unroll"), "loop d is unroll already"),
        (
            ("  te.update y", "  te.assert p.i64[d] < 9, message ''\n te.update y"),
            "te.assert inside",
        ),
    ],
    ids=["read", "one row", "few rows", "two rows", "between", "two places", "unrolled", "assert"],
)
def test_refusals(change: tuple[str, str], reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(SOURCE.replace(*change), (step("allot", "i", "d", 2),))


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (step("serial", "i_o"), "i_o takes i_n iterations at once"),
        (step("split", "i_o", 2, "guard"), "loop i_o is parallel already"),
        (step("allot", "i", "d", 2), "a loop around i is parallel"),
    ],
    ids=lambda value: getattr(value, "primitive", ""),
)
def test_what_a_thread_takes_at_once_stays_together(then: object, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(SOURCE, (step("allot", "i", "d", 2), then))  # type: ignore[arg-type]  # a step


SCATTER = """
te.func @k kernel logical scatter (x: f32[{rows}, {columns}], p: i64[{places}], \
z: f32[{places}, {columns}], out y: f32[{rows}, {columns}]{sizes}) {{
  te.for i in 0 .. {rows} serial {{
    te.for j in 0 .. {columns} serial {{
      te.store y[i, j] = x.f32[i, j]
    }}
  }}
  te.for d in 0 .. {places} serial {{
    te.for k in 0 .. {columns} serial {{
      te.update y[{row}, k] add= z.f32[d, k]
    }}
  }}
}}"""


@pytest.mark.parametrize(
    ("rows", "places", "columns", "row", "chosen"),
    [
        ("1024", "512", 256, "p.i64[d]", "allot"),
        ("128", "64", 256, "p.i64[d]", ""),
        ("1024", "100000", 256, "p.i64[d]", ""),
        ("100000", "50000", 8, "p.i64[d]", ""),
        ("N", "M", 256, "p.i64[d]", "allot"),
        ("N", "M", 32, "p.i64[d]", ""),
        ("1024", "1024", 256, "d", "fuse_loops"),
    ],
    ids=["rows", "few", "many places", "narrow", "any number", "narrow ones", "in order"],
)
def test_the_choice(rows: str, places: str, columns: int, row: str, chosen: str) -> None:
    sizes = ", N: i64, M: i64" if rows == "N" else ""
    source = SCATTER.format(rows=rows, places=places, columns=columns, row=row, sizes=sizes)
    func = parse_function(source)
    steps = schedule_kernel(func, CPUParameters(checked=True))
    first = steps[0].primitive
    assert (first if first in ("allot", "fuse_loops") else "") == chosen
    if chosen:
        (loop,) = func.block.ops
        assert loop.properties["kind"].data == "parallel"  # type: ignore[attr-defined]  # te.for
