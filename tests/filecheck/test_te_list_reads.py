"""When does a list that a loop reads become a buffer? IR in, IR out."""

from __future__ import annotations

import io

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.dialects.te.ops import TE, functions
from tensorscript.lowering.schedules.list_reads import lists_read

LOOP = """
te.func @f host scheduled (n: i64, l: i64, out t: i64[9]) {{
  te.var k: i64 = l
  te.var j: i64 = 0
  te.while j < n {{
    {body}
    te.assign j = j + 1
  }}
}}"""
READS = """te.invoke m: i64 = @list_length(k)
    te.assert j < m, message 'no'
    te.invoke x: i64 = @list_get_i64(k, j)
    te.store t[j] = x + m"""
BOUND = """
  te.if j < n {
    te.let k_h: i64 = k
    te.invoke k_n: i64 = @list_length(k_h)
    te.bind k_b: i64[k_n] = k_h
    te.while j < n {
      te.let m: i64 = k_n
      te.assert j < m, message 'no'
      te.let x: i64 = k_b.i64[j]
      te.store t[j] = x + m
      te.assign j = j + 1
    }
  }
}"""


def rewritten(body: str) -> str:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    text = LOOP.format(body=body)
    module = Parser(context, f"builtin.module {{{text}\n}}").parse_module()
    (func,) = functions(module)
    lists_read(func)
    module.verify()
    out = io.StringIO()
    Printer(out).print_op(func)
    return out.getvalue()


def test_a_list_that_is_only_read() -> None:
    assert rewritten(READS).endswith(BOUND)


@pytest.mark.parametrize(
    "more",
    [
        "te.invoke @list_push_i64(k, 3)",
        "te.invoke @list_push_i64(l, 3)",  # may be the same list
        "te.invoke @list_release(l)",
        "te.assign k = l",
        "te.if j < 3 {\nte.assign k = l\n}",
        "te.invoke y: f64 = @list_get_f64(k, j)",
    ],
)
def test_a_list_that_may_change_stays(more: str) -> None:
    assert "te.bind" not in rewritten(f"{READS}\n{more}")
