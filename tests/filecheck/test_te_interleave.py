"""What does `interleave` print, and which loops does it refuse?"""

from __future__ import annotations

import pytest
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError

CHANNELS_LAST = """
te.func @f kernel logical (x: f32[3, 10], out y: f32[10, 3]) {
  te.for i in 0 .. 10 serial {
    te.for j in 0 .. 3 serial {
      te.store y[i, j] = x.f32[j, i] + (1.0).f32
    }
  }
}"""
TOGETHER = """
  te.for i_o in 0 .. 2 serial {
    te.for i_v in 0 .. 4 vector {
      te.for j_v in 0 .. 3 vector {
        te.store y[i_o * 4 + i_v, j_v] = x.f32[j_v, i_o * 4 + i_v] + (1.0).f32
      }
    }
  }
  te.for i_w in 0 .. 2 serial {
    te.for j in 0 .. 3 serial {
      te.store y[8 + i_w, j] = x.f32[j, 8 + i_w] + (1.0).f32
    }
  }
}
"""


def test_vectors_of_all_channels_are_written_together() -> None:
    found = run_steps(CHANNELS_LAST, (step("interleave", "i", "j", 4),))
    assert found.split("\n", 1)[1] == TOGETHER.strip("\n")


ROWS = """
te.func @f kernel logical (x: f32[8, 3], out y: f32[8, 3]) {
  te.for i in 0 .. 8 serial {
    te.for j in 0 .. 3 serial {
      te.store y[i, j] = x.f32[i, (j + 1) % 3] * x.f32[i, 0]
    }
  }
}"""
ROWS_TOGETHER = """
  te.for i_o in 0 .. 2 serial {
    te.for i_v in 0 .. 4 vector {
      te.for j_v in 0 .. 3 vector {
        te.store y[i_o * 4 + i_v, j_v] = x.f32[i_o * 4 + i_v, (j_v + 1) % 3] * x.f32[i_o * 4 + i_v, 0]
      }
    }
  }
}
"""  # noqa: E501  # as it is printed


def test_columns_of_rows_are_picked_apart_and_put_together() -> None:
    found = run_steps(ROWS, (step("interleave", "i", "j", 4),))
    assert found.split("\n", 1)[1] == ROWS_TOGETHER.strip("\n")


@pytest.mark.parametrize(
    ("change", "lanes", "reason"),
    [
        (("x.f32[j, i]", "x.f32[0, 9 * i + j]"), 4, "no short loop in i"),
        (("x.f32[j, i]", "x.f32[0, 9 - i]"), 4, "no short loop in i"),
        (("y[i, j]", "y[i, 2 - j]"), 4, "no short loop in i"),
        (("", ""), 3, "power of 2"),
        (("", ""), 16, "i has fewer than 16 iterations"),
    ],
)
def test_other_maps_are_refused(change: tuple[str, str], lanes: int, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(CHANNELS_LAST.replace(*change), (step("interleave", "i", "j", lanes),))
