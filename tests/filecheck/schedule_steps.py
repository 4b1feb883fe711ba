"""The text of a te.func after schedule steps."""

from __future__ import annotations

import io

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.dialects.te.ops import TE, functions
from tensorscript.dialects.te.schedule import Step
from tensorscript.lowering.schedule import apply


def run_steps(source: str, steps: tuple[Step, ...]) -> str:
    """The one function of `source`, checked and scheduled; its text."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    module = Parser(context, source).parse_module()
    (func,) = functions(module)
    apply(func, steps)
    module.verify()
    out = io.StringIO()
    Printer(out).print_op(func)
    return out.getvalue()
