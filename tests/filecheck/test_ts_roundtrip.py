"""`ts` modules print as MLIR text that parses back to the same module."""

from __future__ import annotations

import io

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.dialects.ts.graph_text import graph_text
from tensorscript.dialects.ts.ops import TS, FuncOp
from tensorscript.frontends.script.text import compile_source

_SOURCE = """
def helper(x: Tensor, k: int=2) -> Tensor:
  return torch.mul(x, k)
def f(x: Tensor, xs: List[int], s: Optional[str]=None) -> Tuple[Tensor, int]:
  total = 0
  for i in xs:
    if i > 3:
      break
    total = total + i
  y = helper(x)
  if s is not None:
    print(s, [1.5, 2.0], "a\\n\\"b")
  d = {"k": total}
  return y, d["k"]
"""


def printed(module: ModuleOp) -> str:
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


def parsed(text: str) -> ModuleOp:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TS)
    return Parser(context, text).parse_module()


def test_text_parses_back() -> None:
    module = compile_source(_SOURCE).program.module
    module.verify()
    text = printed(module)
    again = parsed(text)
    again.verify()
    assert printed(again) == text


def test_graph_survives_the_text() -> None:
    module = compile_source(_SOURCE).program.module
    again = parsed(printed(module))
    pairs = zip(module.ops, again.ops, strict=True)
    for a, b in pairs:
        assert isinstance(a, FuncOp) and isinstance(b, FuncOp)
        assert graph_text(a, locations=False) == graph_text(b, locations=False)
