"""What does `hoist` print, and which loops does it refuse?"""

from __future__ import annotations

import pytest
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError

ROW = """
te.func @f kernel logical (x: f32[9, 10], out y: f32[9, 10]) {
  te.for i in 0 .. 9 serial {
    te.alloc stack t: f32[1]
    te.store t[0] = x.f32[i, 0]
    te.for j in 0 .. 10 serial {
      te.store y[i, j] = x.f32[i, j] * rsqrt(t.f32[0] + (1.0).f32) - log(t.f32[0])
    }
  }
}"""
BEFORE_THE_LOOP = """
    te.store t[0] = x.f32[i, 0]
    te.alloc stack j_h: f32[]
    te.store j_h[] = log(t.f32[0])
    te.alloc stack j_h_2: f32[]
    te.store j_h_2[] = rsqrt(t.f32[0] + (1.0).f32)
    te.for j in 0 .. 10 serial {
      te.store y[i, j] = x.f32[i, j] * j_h_2.f32[()] - j_h.f32[()]
    }
"""


def test_functions_of_the_numbers_of_a_row_are_computed_once() -> None:
    assert BEFORE_THE_LOOP in run_steps(ROW, (step("hoist", "j"),))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"log(t.f32[0])": "t.f32[0]", "rsqrt(t.f32[0] + (1.0).f32)": "t.f32[0]"}, "nothing can"),
        ({"log(t.f32[0])": "muladd(t.f32[0], t.f32[0], t.f32[0])",
          "rsqrt(t.f32[0] + (1.0).f32)": "t.f32[0]"}, "nothing can"),
        ({"log(t.f32[0])": "log(x.f32[i, j])", "rsqrt(t.f32[0]": "rsqrt(x.f32[i, 0]"}, "nothing"),
        ({"te.store y[i, j]": "te.store t[0]", "x.f32[i, j]": "t.f32[0]"}, "nothing can"),
        ({"te.for j in 0 .. 10 serial": "te.for j in 0 .. 10 vector"}, "j is vector already"),
    ],
)  # fmt: skip
def test_what_a_loop_changes_or_may_not_read_stays(change: dict[str, str], reason: str) -> None:
    text = ROW
    for old, new in change.items():
        text = text.replace(old, new)
    with pytest.raises(ScheduleError, match=reason):
        run_steps(text, (step("hoist", "j"),))
