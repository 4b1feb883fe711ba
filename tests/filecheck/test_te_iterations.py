"""What do the iterations of a program's loop become? IR in, IR out."""

from __future__ import annotations

import io

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.dialects.te.ops import TE, functions
from tensorscript.lowering.schedules.iterations import vectorize_iterations

LOOP = """
te.func @f host logical (size: i64, out y: i64[]) {
  te.var n: i64 = 3
  te.var i: i64 = 0
  te.while i < size {
    te.var z: f64 = f64(i)
    te.var steps: i64 = 0
    te.while z.f64 < (4.0).f64 {
      te.if steps < 5 {
        te.let twice: f64 = z.f64 + z.f64
        te.assign z = twice.f64
        te.assign steps = steps + 1
      } else {
        te.assign z = z.f64 + (1.0).f64
      }
    }
    te.let next: i64 = select(steps == 2, n + 1, n)
    te.assign n = next
    te.assign i = i + 1
  }
  te.store y[] = n
}"""
LANES = """
te.func @f host logical (size: i64, out y: i64[]) {
  te.var n: i64 = 3
  te.var i: i64 = 0
  te.alloc stack n_a: i64[]
  te.store n_a[] = 0
  te.for i_o in 0 .. (max(size, 0) + 15) // 16 serial {
    te.for i_v in 0 .. 16 vector {
      te.if i_o * 16 + i_v < size {
        te.var z: f64 = f64(i_o * 16 + i_v)
        te.var steps: i64 = 0
        te.while z.f64 < (4.0).f64 {
          te.let twice: f64 = z.f64 + z.f64
          te.let z_1: f64 = select(steps < 5, twice.f64, z.f64 + (1.0).f64)
          te.let steps_1: i64 = select(steps < 5, steps + 1, steps)
          te.assign z = z_1.f64
          te.assign steps = steps_1
        }
        te.update n_a[] add= select(steps == 2, 1, 0)
      }
    }
  }
  te.assign n = n + n_a.i64[()]
  te.store y[] = n
}"""


def rewritten(text: str) -> tuple[str, bool]:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    module = Parser(context, f"builtin.module {{{text}\n}}").parse_module()
    changed = [vectorize_iterations(f, vector_bytes=64) for f in functions(module)]
    module.verify()
    out = io.StringIO()
    Printer(out).print_op(next(iter(functions(module))))
    return out.getvalue(), changed[0]


def test_a_counting_loop_runs_as_lanes() -> None:
    assert rewritten(LOOP) == (LANES.strip(), True)


def test_a_loop_that_stores_stays() -> None:
    text = LOOP.replace("te.let next", "te.store y[] = 0\n    te.let next")
    assert rewritten(text)[1] is False


def test_a_carried_float_stays() -> None:
    text = LOOP.replace("te.var z: f64 = f64(i)", "").replace(
        "te.var i: i64", "te.var z: f64 = (0.0).f64\n  te.var i: i64"
    )
    assert rewritten(text)[1] is False
