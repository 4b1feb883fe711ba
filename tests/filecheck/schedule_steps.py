"""The text of a te.func after schedule steps."""

from __future__ import annotations

import io

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.dialects.te.ops import TE, FuncOp, functions
from tensorscript.dialects.te.schedule import Step
from tensorscript.lowering.schedule import apply


def parse_function(source: str) -> FuncOp:
    """The one function of `source`."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    (func,) = functions(Parser(context, source).parse_module())
    return func


def run_steps(source: str, steps: tuple[Step, ...]) -> str:
    """The one function of `source`, checked and scheduled; its text."""
    func = parse_function(source)
    apply(func, steps)
    func.verify()
    out = io.StringIO()
    Printer(out).print_op(func)
    return out.getvalue()


PLACE_OF_GREATEST = """
te.func @f kernel logical (x: i32[10], out y: i64[]) {
  te.alloc stack t: i32[]
  te.store t[] = (-2147483648).i32
  te.for r in 0 .. 10 serial reduce {
    te.update t[] max= x.i32[r]
  }
  te.alloc stack p: i64[]
  te.store p[] = 9223372036854775807
  te.for q in 0 .. 10 serial reduce {
    te.update p[] min= select(x.i32[q] == t.i32[()], q, 9)
  }
  te.store y[] = p.i64[()]
}"""
"""The place of the greatest of ten: a loop that finds it, and one that looks for the place."""
