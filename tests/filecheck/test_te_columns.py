"""How many rows does the compiler add at once where it reduces columns?"""

from __future__ import annotations

import pytest
from schedule_steps import parse_function

from tensorscript.lowering.schedules.cpu import schedule_kernel
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters

COLUMNS = """
te.func @f kernel logical reduction (x: f32[{depth}, 768], out y: {total}[768]) {{
  te.for i in 0 .. 768 serial {{
    te.alloc stack t: {total}[]
    te.store t[] = (0.0).{total}
    te.for r in 0 .. {depth} serial reduce {{
      te.update t[] add= x.f32[r, i] * x.f32[r, i]
    }}
    te.store y[i] = t.{total}[()]
  }}
}}"""


@pytest.mark.parametrize(
    ("total", "depth", "rows"),
    [("f32", 128, 4), ("f64", 128, 8), ("f32", 8192, 8)],
    ids=["cached", "widened", "of memory"],
)
def test_rows_added_at_once(total: str, depth: int, rows: int) -> None:
    func = parse_function(COLUMNS.format(total=total, depth=depth))
    (found,) = [s for s in schedule_kernel(func, CPUParameters()) if s.primitive == "stretch"]
    assert found.args[2] == rows
