"""What does `track` print, and which loops does it refuse?"""

from __future__ import annotations

import pytest
from schedule_steps import PLACE_OF_GREATEST as LINE
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError

TRACKED = """
  te.alloc stack t: i32[]
  te.store t[] = (-2147483648).i32
  te.alloc reg r_best: i32[4]
  te.alloc reg r_turn: i32[4]
  te.for r_s in 0 .. 4 vector {
    te.store r_best[r_s] = (-2147483648).i32
    te.store r_turn[r_s] = (0).i32
  }
  te.for r_o in 0 .. 2 serial reduce {
    te.for r_v in 0 .. 4 vector {
      te.let r_x: i32 = x.i32[r_o * 4 + r_v]
      te.store r_turn[r_v] = select(r_x.i32 > r_best.i32[r_v], i32(r_o), r_turn.i32[r_v])
      te.update r_best[r_v] max= r_x.i32
    }
  }
  te.for r_w in 0 .. 4 vector {
    te.if 8 + r_w < 10 {
      te.let r_x_2: i32 = x.i32[8 + r_w]
      te.store r_turn[r_w] = select(r_x_2.i32 > r_best.i32[r_w], (2).i32, r_turn.i32[r_w])
      te.update r_best[r_w] max= r_x_2.i32
    }
  }
  te.for r_z in 0 .. 4 vector reduce {
    te.update t[] max= r_best.i32[r_z]
  }
  te.alloc stack p: i64[]
  te.store p[] = 9223372036854775807
  te.alloc reg r_first: i32[]
  te.store r_first[] = (2147483647).i32
  te.for r_y in 0 .. 4 vector reduce {
    te.update r_first[] min= select(r_best.i32[r_y] == t.i32[()], r_turn.i32[r_y] * (4).i32 + i32(r_y), (2147483647).i32)
  }
  te.update p[] min= i64(r_first.i32[()])
  te.store y[] = p.i64[()]
}
"""  # noqa: E501 (a te statement is one line)


def test_the_place_is_found_along_with_the_extreme() -> None:
    found = run_steps(LINE, (step("track", "r", "q", 4),))
    assert found.split("\n", 1)[1] == TRACKED.strip("\n")


@pytest.mark.parametrize(
    ("change", "lanes", "reason"),
    [
        (
            ("== t.i32[()]", "== (1).i32"),
            4,
            "q does not look for the first place",
        ),
        (("t[] max=", "t[] add="), 4, "q does not look for the first place"),
        (("q in 0 .. 10", "q in 0 .. 9"), 4, "q does not look for the first place"),
        (("x.i32[q] ==", "x.i32[9 - q] =="), 4, "q does not look for the first place"),
        (("", ""), 1, "at least 2"),
    ],
)
def test_other_searches_are_refused(change: tuple[str, str], lanes: int, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(LINE.replace(*change), (step("track", "r", "q", lanes),))
