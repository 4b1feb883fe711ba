"""What does `narrow` print, and which loops does it refuse?"""

from __future__ import annotations

import pytest
from schedule_steps import PLACE_OF_GREATEST as LINE
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError

NARROWED = """
  te.alloc stack t: i32[]
  te.store t[] = (-2147483648).i32
  te.alloc stack r_part: i32[3]
  te.for r_c in 0 .. 3 serial {
    te.store r_part[r_c] = (-2147483648).i32
    te.for r_i in 0 .. min(4, 10 - r_c * 4) serial reduce {
      te.update r_part[r_c] max= x.i32[r_c * 4 + r_i]
    }
  }
  te.for r_z in 0 .. 3 serial reduce {
    te.update t[] max= r_part.i32[r_z]
  }
  te.alloc stack p: i64[]
  te.store p[] = 9223372036854775807
  te.alloc stack q_chunk: i64[]
  te.store q_chunk[] = 2
  te.for q_c in 0 .. 3 serial reduce {
    te.update q_chunk[] min= select(r_part.i32[q_c] == t.i32[()], q_c, 2)
  }
  te.let q_from: i64 = q_chunk.i64[()] * 4
  te.alloc stack q_place: i64[]
  te.store q_place[] = min(4, 10 - q_from) - 1
  te.for q_i in 0 .. min(4, 10 - q_from) serial reduce {
    te.update q_place[] min= select(x.i32[q_from + q_i] == t.i32[()], q_i, min(4, 10 - q_from) - 1)
  }
  te.update p[] min= q_from + q_place.i64[()]
  te.store y[] = p.i64[()]
}
"""


def test_one_chunk_is_searched() -> None:
    found = run_steps(LINE, (step("narrow", "r", "q", 4),))
    assert found.split("\n", 1)[1] == NARROWED.strip("\n")


@pytest.mark.parametrize(
    ("change", "chunk", "reason"),
    [
        (("t[] max=", "t[] add="), 4, "q does not look for the first place"),
        (("x.i32[q] ==", "x.i32[9 - q] =="), 4, "q does not look for the first place"),
        (("", ""), 1, "more than one element"),
        (("", ""), 10, "fewer than r has"),
    ],
)
def test_other_searches_are_refused(change: tuple[str, str], chunk: int, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(LINE.replace(*change), (step("narrow", "r", "q", chunk),))
