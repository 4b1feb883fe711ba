"""What does `moments` print, when is it illegal, and when does the compiler choose it?"""

from __future__ import annotations

import pytest
from schedule_steps import parse_function, run_steps

import tensorscript as ts
from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError
from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters

VARIANCE = """
te.func @f kernel logical rows (a: f32[{depth}, {columns}], out m: f32[{columns}], \
out y: f32[{columns}]) {{
  te.for i in 0 .. {columns} serial {{
    te.store m[i] = (0.0).f32
    te.for k in 0 .. {depth} serial reduce {{
      te.update m[i] add= a.f32[k, i]
    }}
  }}
  te.for j in 0 .. {columns} serial {{
    te.store y[j] = (0.0).f32
    te.for l in 0 .. {depth} serial reduce {{
      te.update y[j] add= \
(a.f32[l, j] - m.f32[j] / (5.0).f32) * (a.f32[l, j] - m.f32[j] / (5.0).f32)
    }}
  }}
}}"""
"""Sums of columns, and squares of differences to a fifth of them."""
GROUPED = """
  te.alloc stack i_sum_m: f32[3, 4]
  te.alloc stack j_sum_q: f32[3, 4]
  te.for k_g in 0 .. 2 serial {
    te.for i_g in 0 .. 4 serial {
      te.let i_d0: f32 = a.f32[k_g * 2, i_g]
      te.let i_d1: f32 = a.f32[k_g * 2 + 1, i_g]
      te.let i_m: f32 = (i_d0.f32 + i_d1.f32) / (2.0).f32
      te.let i_a0: f32 = i_d0.f32 - i_m.f32
      te.let i_a1: f32 = i_d1.f32 - i_m.f32
      te.store j_sum_q[k_g, i_g] = muladd(i_a0.f32, i_a0.f32, i_a1.f32 * i_a1.f32)
      te.store i_sum_m[k_g, i_g] = i_m.f32
    }
  }
  te.for i_g_2 in 0 .. 4 serial {
    te.let i_d0_2: f32 = a.f32[4, i_g_2]
    te.let i_m_2: f32 = i_d0_2.f32 / (1.0).f32
    te.let i_a0_2: f32 = i_d0_2.f32 - i_m_2.f32
    te.store j_sum_q[2, i_g_2] = i_a0_2.f32 * i_a0_2.f32
    te.store i_sum_m[2, i_g_2] = i_m_2.f32
  }
  te.for i in 0 .. 4 serial {
    te.store m[i] = (0.0).f32
    te.for k in 0 .. 3 serial reduce {
      te.update m[i] add= i_sum_m.f32[k, i] * f32(min(2, 5 - k * 2))
    }
  }
"""
"""By groups of 2 rows; the fifth is a group of its own."""


def test_it_reads_the_rows_of_a_group_once() -> None:
    text = run_steps(VARIANCE.format(depth=5, columns=4), (step("moments", "i", "j", 2),))
    assert GROUPED in text
    squares = text[text.index("te.for j in") :]
    assert "te.for l in 0 .. 3 serial reduce {" in squares
    assert "add= j_sum_q.f32[l, j] + (i_sum_m.f32[l, j] - m.f32[j] / (5.0).f32)" in squares
    assert "a.f32[" not in squares


SOURCE = VARIANCE.format(depth=5, columns=4)


@pytest.mark.parametrize(
    ("source", "rows", "reason"),
    [
        (SOURCE, 1, "a group has 2 rows or more"),
        (SOURCE, 6, "k is not known to have 6 rows"),
        (SOURCE.replace("m.f32[j]", "m.f32[l % 4]"), 2, "l changes what j subtracts"),
        (SOURCE.replace("add= a.f32[k, i]", "max= a.f32[k, i]"), 2, "i and j do not add up"),
        (
            SOURCE.replace("add= a.f32[k, i]", "add= a.f32[k, 3 - i]"),
            2,
            "j does not add up squares of differences of what i adds up",
        ),
        (
            SOURCE.replace("(a: f32[5, 4], ", "(").replace("a.f32[", "c.f32["),
            2,
            "c is a constant of the module",
        ),
        (
            SOURCE.replace("(a: f32", "(out a: f32").replace(
                "  te.for j", "  te.store a[0, 0] = (1.0).f32\n  te.for j"
            ),
            2,
            "a is written by i, j or between them",
        ),
    ],
    ids=["few", "many", "centre", "greatest", "other columns", "constant", "written"],
)
def test_refusals(source: str, rows: int, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(source, (step("moments", "i", "j", rows),))


@pytest.mark.parametrize(
    ("depth", "columns", "vector", "chosen"),
    [
        (128, 768, 64, [16]),
        (128, 768, 32, [8]),
        (128, 1024, 64, [8]),
        (31, 768, 64, []),
        (31, 1024, 64, [8]),
        (128, 8, 64, []),
    ],
    ids=["registers", "fewer registers", "4096 bytes apart", "few rows", "enough", "few columns"],
)
def test_the_choice(depth: int, columns: int, vector: int, chosen: list[int]) -> None:
    func = parse_function(VARIANCE.format(depth=depth, columns=columns))
    steps = schedule_kernel(func, CPUParameters(vector_bytes=vector))
    assert [s.args[1] for s in steps if s.primitive == "moments"] == chosen


def of_rows(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return ts.var_mean(x, 1)


@pytest.mark.parametrize("shape", [(1024, 1024), (64, 5000)])
def test_reductions_of_rows_stay_as_they_are(shape: tuple[int, int]) -> None:
    """What is reduced lies side by side, not the columns: neither cut nor grouped."""

    steps = ts.compile(of_rows, (ts.TensorSpec(shape, ts.float32),), cache=False).ir("schedule")
    assert '"k1"' not in steps and "distribute" not in steps and "moments" not in steps
