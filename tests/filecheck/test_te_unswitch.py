"""What does the pass `unswitch` print, and what does it leave?"""

from __future__ import annotations

import io

from schedule_steps import parse_function
from xdsl.printer import Printer

from tensorscript.lowering.te.unswitch import unswitch

ADDED = """
te.func @f kernel scheduled (x: f32[N], y: f32[M], out o: f32[M], N: i64, M: i64) {
  te.for i in 0 .. M // 16 serial {
    te.for v in 0 .. 16 vector {
      te.store o[i * 16 + v] = x.f32[select(N == 1, 0, i * 16 + v)] + y.f32[i * 16 + v]
    }
  }
}"""
TWICE = """
  te.if N == 1 {
    te.for i in 0 .. M // 16 serial {
      te.for v in 0 .. 16 vector {
        te.store o[i * 16 + v] = x.f32[select(N == 1, 0, i * 16 + v)] + y.f32[i * 16 + v]
      }
    }
  } else {
    te.for i_u in 0 .. M // 16 serial {
      te.for v_u in 0 .. 16 vector {
        te.store o[i_u * 16 + v_u] = x.f32[i_u * 16 + v_u] + y.f32[i_u * 16 + v_u]
      }
    }
  }
"""


def run(source: str) -> str:
    func = parse_function(source)
    unswitch(func)
    func.verify()
    out = io.StringIO()
    Printer(out).print_op(func)
    return out.getvalue()


def test_what_is_broadcast_where_a_size_is_1_has_a_copy_without() -> None:
    assert TWICE in run(ADDED)


def test_choices_that_vectors_share_or_that_data_makes_stay() -> None:
    rows = ADDED.replace("select(N == 1, 0, i * 16 + v)", "select(N == 1, 0, i)")
    data = ADDED.replace("N == 1", "y.f32[i] == (0.0).f32")
    lanes = ADDED.replace("N == 1", "v == 1")
    for source in (rows, data, lanes):
        assert "te.if" not in run(source)
