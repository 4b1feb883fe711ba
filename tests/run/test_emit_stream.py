"""What is written past the caches is there, wherever it begins and whoever wrote it."""

from __future__ import annotations

import numpy as np
import pytest
from emit_harness import Compiled

ROWS = """te.func @k kernel scheduled (x: f32[64, 100], out y: f32[64, 100]) streams y {
  te.for i in 0 .. 64 parallel grain 1 {
    te.for o in 0 .. 3 serial {
      te.for v in 0 .. 32 vector {
        te.store y[i, o * 32 + v] = x.f32[i, o * 32 + v] + (1.0).f32
      }
    }
    te.for t in 0 .. 4 vector {
      te.store y[i, t + 96] = x.f32[i, t + 96] + (1.0).f32
    }
  }
}"""


@pytest.mark.parametrize("behind", [0, 16, 4])
def test_rows_that_begin_anywhere(behind: int) -> None:
    program = Compiled(ROWS)
    x = np.arange(6400, dtype=np.float32).reshape(64, 100)
    memory = np.zeros(6400 * 4 + 128, np.uint8)
    start = -memory.ctypes.data % 64 + behind
    y = memory[start : start + x.nbytes].view(np.float32).reshape(64, 100)
    assert program(x, y) == 0
    np.testing.assert_array_equal(y, x + 1)
    assert not memory[:start].any()
    assert not memory[start + x.nbytes :].any()


def test_only_whole_lines_are_marked_and_all_are_waited_for() -> None:
    text = Compiled(ROWS).text
    (past,) = (line for line in text.splitlines() if "!nontemporal" in line)
    assert "store <32 x float>" in past
    assert "align 64" in past
    assert text.count("fence seq_cst") == 1  # in the body of the parallel loop
    assert "nontemporal" not in Compiled(ROWS.replace(" streams y", "")).text
    assert "fence" not in Compiled(ROWS.replace(" streams y", "")).text
