"""What does `ahead` print, and which loops does it refuse?"""

from __future__ import annotations

import pytest
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError

ROWS = """
te.func @f kernel logical (x: f32[9, 10], out y: f32[9, 10]) {
  te.for i in 0 .. 9 serial {
    te.alloc stack t: f32[1]
    te.store t[0] = (0.0).f32
    te.for r in 0 .. 10 serial reduce {
      te.update t[0] add= x.f32[i, r]
    }
    te.for j in 0 .. 10 serial {
      te.store y[i, j] = x.f32[i, j] - t.f32[0]
    }
  }
}"""
A_ROW_AHEAD = """
  te.alloc stack t_a: f32[1]
  te.store t_a[0] = (0.0).f32
  te.for r_a in 0 .. 10 serial reduce {
    te.update t_a[0] add= x.f32[0, r_a]
  }
  te.for i in 0 .. 9 serial {
    te.alloc stack t: f32[1]
    te.store t[0] = t_a.f32[0]
    te.store t_a[0] = (0.0).f32
    te.for r in 0 .. 10 serial reduce {
      te.update t_a[0] add= x.f32[min(i + 1, 8), r]
    }
    te.for j in 0 .. 10 serial {
      te.store y[i, j] = x.f32[i, j] - t.f32[0]
    }
  }
"""
TWO_ROWS_AT_ONCE = """
    te.for r in 0 .. 10 serial reduce {
      te.update t_a[0] add= x.f32[min(i + 1, 8), r]
      te.store y[i, r] = x.f32[i, r] - t.f32[0]
    }
"""


def test_the_next_rows_sum_is_found_before_the_rest_of_this_row() -> None:
    assert A_ROW_AHEAD in run_steps(ROWS, (step("ahead", "i"),))


def test_the_rest_of_this_row_joins_it() -> None:
    assert TWO_ROWS_AT_ONCE in run_steps(ROWS, (step("ahead", "i"), step("fuse_loops", "r", "j")))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"te.for i in 0 .. 9 serial": "te.for i in 0 .. 9 parallel"}, "i is not a serial loop"),
        ({"te.for i in 0 .. 9": "te.for i in 0 .. 0"}, "i may have no iteration"),
        ({"te.store y[i, j] = x": "te.store y[i, j] = y", "add= x": "add= y"}, "the rest writes y"),
        ({"te.store y[i, j] =": "te.store t[0] ="}, "the rest writes t"),
        ({"te.store t[0] = ": "te.store y[i, 0] = "}, "y is not of one iteration"),
        ({"f32[1]": "f32[2]"}, "t is more than a number"),
        ({"te.alloc stack t": "te.let n: i64 = 1\n    te.alloc stack t"}, "does not begin with"),
    ],
)
def test_what_another_iteration_has_a_part_in_stays(change: dict[str, str], reason: str) -> None:
    text = ROWS
    for old, new in change.items():
        text = text.replace(old, new)
    with pytest.raises(ScheduleError, match=reason):
        run_steps(text, (step("ahead", "i"),))
