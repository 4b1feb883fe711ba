"""What does `fold` print, and stretches in parts that leave rows over?"""

from __future__ import annotations

import pytest
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError

FEW_COLUMNS = """
te.func @f kernel logical (a: f32[70, 3], m: f32[3], out y: f32[3]) {
  te.for j in 0 .. 3 serial {
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.for k in 0 .. 70 serial reduce {
      te.update t[] add= abs(a.f32[k, j] - m.f32[j])
    }
    te.store y[j] = t.f32[()] / (70.0).f32
  }
}"""
FOLDED = """
  te.alloc stack m_f: f32[48]
  te.for k_q in 0 .. 16 serial {
    te.for j_q in 0 .. 3 serial {
      te.store m_f[k_q * 3 + j_q] = m.f32[j_q]
    }
  }
  te.alloc stack t_f: f32[48]
  te.for j_w in 0 .. 48 serial {
    te.alloc stack t_w: f32[]
    te.store t_w[] = (0.0).f32
    te.for k_w in 0 .. 4 serial reduce {
      te.update t_w[] add= abs(a.f32[k_w * 16, j_w] - m_f.f32[j_w])
    }
    te.store t_f[j_w] = t_w.f32[()]
  }
  te.for j in 0 .. 3 serial {
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.for k_s in 0 .. 16 serial reduce {
      te.update t[] add= t_f.f32[k_s * 3 + j]
    }
    te.for k_t in 0 .. 6 serial reduce {
      te.update t[] add= abs(a.f32[64 + k_t, j] - m.f32[j])
    }
    te.store y[j] = t.f32[()] / (70.0).f32
  }
}"""
SEVEN_ROWS = """
te.func @f kernel logical (a: f32[7, 4], out y: f32[4]) {
  te.for j in 0 .. 4 serial {
    te.store y[j] = (0.0).f32
    te.for k in 0 .. 7 serial reduce {
      te.update y[j] add= a.f32[k, j]
    }
  }
}"""
IN_PARTS = """
  te.alloc stack j_sum_a: f32[3, 4]
  te.for k_a in 0 .. 3 serial {
    te.alloc stack j_sum: f32[4]
    te.for j_c_o in 0 .. 1 serial {
      te.for j_c_v in 0 .. 4 vector {
        te.store j_sum[j_c_o * 4 + j_c_v] = (0.0).f32
      }
    }
    te.for k_o in 0 .. 2 serial reduce {
      te.for j_s_o in 0 .. 1 serial {
        te.for j_s_v in 0 .. 4 vector {
          te.update j_sum[j_s_o * 4 + j_s_v] add= a.f32[k_a * 2 + k_o, j_s_o * 4 + j_s_v]
        }
      }
    }
    te.for j_e_o in 0 .. 1 serial {
      te.for j_e_v in 0 .. 4 vector {
        te.store j_sum_a[k_a, j_e_o * 4 + j_e_v] = j_sum.f32[j_e_o * 4 + j_e_v]
      }
    }
  }
  te.alloc stack j_sum_r: f32[4]
  te.for j_u_o in 0 .. 1 serial {
    te.for j_u_v in 0 .. 4 vector {
      te.store j_sum_r[j_u_o * 4 + j_u_v] = (0.0).f32
    }
  }
  te.for k_r in 0 .. 1 serial reduce {
    te.for j_t_o in 0 .. 1 serial {
      te.for j_t_v in 0 .. 4 vector {
        te.update j_sum_r[j_t_o * 4 + j_t_v] add= a.f32[6 + k_r, j_t_o * 4 + j_t_v]
      }
    }
  }
  te.for j_y_o in 0 .. 1 serial {
    te.for j_y_v in 0 .. 4 vector {
      te.store y[j_y_o * 4 + j_y_v] = (0.0).f32 + (j_sum_a.f32[0, j_y_o * 4 + j_y_v] + j_sum_a.f32[1, j_y_o * 4 + j_y_v] + (j_sum_a.f32[2, j_y_o * 4 + j_y_v] + j_sum_r.f32[j_y_o * 4 + j_y_v]))
    }
  }
}"""  # noqa: E501 (a te statement is one line)


def _body(source: str, *steps: object) -> str:
    """What the steps print, without the header."""
    return run_steps(source, steps).split("\n", 1)[1]  # type: ignore[arg-type]


def test_rows_are_one_long_row() -> None:
    assert _body(FEW_COLUMNS, step("fold", "j", 16)) == FOLDED.lstrip("\n")


def test_rows_left_over_have_a_sum_of_their_own() -> None:
    assert _body(SEVEN_ROWS, step("stretch", "j", 4, 4, 1, 0, 3)) == IN_PARTS.lstrip("\n")


@pytest.mark.parametrize(
    ("source", "rows", "reason"),
    [
        (FEW_COLUMNS, 71, "k has not 71 rows"),
        (FEW_COLUMNS, 1, "fewer than 2"),
        (FEW_COLUMNS.replace("[70, 3]", "[70, 4]"), 16, "k and j do not walk a in one stride"),
        (FEW_COLUMNS.replace("- m.f32[j]", "* f32(k)"), 16, "j or k is used outside of an index"),
        (FEW_COLUMNS.replace("70 serial reduce", "K serial reduce")
         .replace("out y", "K: i64, out y"), 16, "not constant"),
    ],
)  # fmt: skip
def test_what_is_not_a_long_row_is_refused(source: str, rows: int, reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(source, (step("fold", "j", rows),))
