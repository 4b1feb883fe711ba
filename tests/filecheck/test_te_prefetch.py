"""What does `prefetch` print, and which loops and buffers does it refuse?"""

from __future__ import annotations

import pytest
from schedule_steps import run_steps

from tensorscript.dialects.te.schedule import step
from tensorscript.lowering.schedule import ScheduleError

ROWS = """
te.func @f kernel logical (x: f32[8, 96], w: f32[96], n: i64[8], out y: f32[8, 96]) {
  te.for i in 0 .. 8 serial {
    te.alloc stack t: f32[1]
    te.store t[0] = (0.0).f32
    te.for r in 0 .. 3 serial reduce {
      te.for v in 0 .. 32 vector {
        te.update t[0] add= x.f32[i, r * 32 + v]
      }
    }
    te.for j in 0 .. 3 serial {
      te.for l in 0 .. 32 vector {
        te.store y[i, j * 32 + l] = t.f32[0] * w.f32[j * 32 + l]
      }
    }
  }
}"""
BESIDE_THE_OTHER_PASS = """
    te.for j in 0 .. 3 serial {
      te.prefetch x.f32[i, j * 32 + 192], cache 1
      te.prefetch x.f32[i, j * 32 + 208], cache 1
      te.for l in 0 .. 32 vector {
"""
OF_A_WHOLE_ROW = """
  te.for i in 0 .. 8 serial {
    te.prefetch x.f32[i, 96], cache 1
    te.prefetch x.f32[i, 112], cache 1
    te.prefetch x.f32[i, 128], cache 1
    te.prefetch x.f32[i, 144], cache 1
    te.prefetch x.f32[i, 160], cache 1
    te.prefetch x.f32[i, 176], cache 1
    te.alloc stack t: f32[1]
"""


def test_a_pass_asks_for_what_another_one_reads_later() -> None:
    assert BESIDE_THE_OTHER_PASS in run_steps(ROWS, (step("prefetch", "j", "x", 192),))


def test_a_row_asks_for_all_lines_of_the_next_one() -> None:
    assert OF_A_WHOLE_ROW in run_steps(ROWS, (step("prefetch", "i", "x", 96),))


def test_a_part_of_a_line_is_a_line() -> None:
    text = ROWS.replace("f32[8, 96], w", "f64[8, 96], w").replace("x.f32", "x.f64")
    found = run_steps(
        text.replace("32", "9").replace("f9", "f32"), (step("prefetch", "r", "x", 1),)
    )
    assert [line.split("te.prefetch ")[1] for line in found.splitlines() if "prefetch" in line] == [
        "x.f64[i, r * 9 + 1], cache 1",
        "x.f64[i, r * 9 + 9], cache 1",
    ]


@pytest.mark.parametrize(
    ("change", "arguments", "reason"),
    [
        (("", ""), ("l", "x", 64), "l is a vector"),
        (("", ""), ("j", "t", 64), "t is no argument"),
        (("", ""), ("j", "nobody", 64), "nobody is no argument"),
        (("", ""), ("j", "x", 0), "0 is no distance ahead"),
        (("", ""), ("j", "n", 1), "an iteration of j reads no neighbours of n"),
        (("", ""), ("i", "w", 64), "an iteration of i reads no neighbours of w"),
        (("r in 0 .. 3", "r in 0 .. 2"), ("j", "x", 64), "an iteration of j reads no neighbours"),
        (("x.f32[i,", "x.f32[n.i64[i],"), ("j", "x", 64), "an iteration of j reads no neighbours"),
        (("96], w", "96]{192, 2}, w"), ("j", "x", 64), "reads no neighbours of x"),
        (("8, 96], w", "8, 960], w"), ("i", "x", 64), "an iteration of i reads 60 lines"),
    ],
)
def test_refusals(change: tuple[str, str], arguments: tuple[str, str, int], reason: str) -> None:
    with pytest.raises(ScheduleError, match=reason):
        run_steps(ROWS.replace(*change), (step("prefetch", *arguments),))
