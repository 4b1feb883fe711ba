"""Which loops become scans of vectors, and what do they become? IR in, IR out."""

from __future__ import annotations

import io

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.dialects.te.ops import TE, functions
from tensorscript.lowering.schedules.scans import scan_recurrences
from tensorscript.lowering.te.verify import verify_function

LOOP = """
te.func @f host scheduled (x: {dtype}[9], n: i64, k: i64, r: i64, out t: {dtype}[3, 9]) {{
  te.var c: {dtype} = {zero}
  te.var d: i64 = 0
  te.var j: i64 = 0
  te.while j < n {{
    {body}
    te.assign j = j + 1
  }}
}}"""
ELEMENT = """te.let last: i64 = t.i64[1, j]
    te.assert j < 8, message 'no'
    te.store t[1, j + 1] = min(x.i64[j] + t.i64[r, j], last + 1)"""
SCANNED_ELEMENT = """
  te.if (j < n) & (n - j >= 4) & (j + 3 < 8) & (r != 1) {
    te.var carried: i64 = t.i64[1, j]
    te.alloc stack fits: b1[]
    te.var go: b1 = True
    te.while go.b1 & ((j < n) & (n - j >= 4) & (j + 3 < 8)) {
      te.store fits[] = carried <= 9223372036854775803
      te.for j_v in 0 .. 4 vector {
        te.update fits[] and= x.i64[j + j_v] + t.i64[r, j + j_v] <= 9223372036854775803
      }
      te.assign go = fits.b1[()]
      te.if go.b1 {
        te.for j_v_1 in 0 .. 4 vector {
          te.scan carried_s: i64 of carried min= x.i64[j + j_v_1] + t.i64[r, j + j_v_1], step 1
          te.store t[1, j + j_v_1 + 1] = carried_s
        }
        te.assign j = j + 4
      }
    }
  }
  te.while j < n {"""
SCANNED_SUM = """
  te.if (j < n) & (n - j >= 4) {
    te.while (j < n) & (n - j >= 4) {
      te.for j_v in 0 .. 4 vector {
        te.scan c_s: i64 of c add= x.i64[j + j_v]
        te.store t[0, j + j_v] = c_s * 2
      }
      te.assign j = j + 4
    }
  }
  te.while j < n {"""


def rewritten(body: str, dtype: str = "i64", vector_bytes: int = 32) -> str:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    text = LOOP.format(body=body, dtype=dtype, zero="0" if dtype == "i64" else f"(0).{dtype}")
    module = Parser(context, f"builtin.module {{{text}\n}}").parse_module()
    (func,) = functions(module)
    verify_function(func)
    scan_recurrences(func, vector_bytes)
    verify_function(func)
    out = io.StringIO()
    Printer(out).print_op(func)
    return out.getvalue()


def test_an_element_of_the_iteration_before() -> None:
    assert SCANNED_ELEMENT in rewritten(ELEMENT)


def test_a_running_sum() -> None:
    body = "te.let s: i64 = c + x.i64[j]\n te.assign c = s\n te.store t[0, j] = s * 2"
    assert SCANNED_SUM in rewritten(body)


@pytest.mark.parametrize(
    ("value", "scan"),
    [
        ("max(c - 1, x.i64[j])", "max= x.i64[j + j_v_1], step -1"),
        ("min(c + k, x.i64[j])", "min= x.i64[j + j_v_1], step k"),
        ("min(c, x.i64[j])", "min= x.i64[j + j_v]"),
        ("min(min(c + 1, j), x.i64[j])", "min= min(j + j_v_1, x.i64[j + j_v_1]), step 1"),
        ("select(x.i64[j] > c, x.i64[j], c)", "max= x.i64[j + j_v]"),
        ("c - x.i64[j]", "add= -x.i64[j + j_v]"),
    ],
)
def test_what_is_linear(value: str, scan: str) -> None:
    assert scan in rewritten(f"te.assign c = {value}\n te.store t[0, j] = c")


def test_a_sum_before_the_element() -> None:
    text = rewritten("te.store t[0, j] = c\n te.assign c = c + x.i64[j]")
    assert "te.store t[0, j + j_v] = c_s - x.i64[j + j_v]" in text


@pytest.mark.parametrize(
    "body",
    [
        "te.assign c = min(c + 1, x.i64[j])",  # nobody sees but the last: LLVM's
        "te.assign c = c + 1\n te.store t[0, j] = c",  # a number of the counter: LLVM's
        "te.assign c = min(c + x.i64[j], 3)\n te.store t[0, j] = c",
        "te.assign c = min(c, 3) + x.i64[j]\n te.store t[0, j] = c",
        "te.assign c = min(c * 2, x.i64[j])\n te.store t[0, j] = c",
        "te.assign c = min(c + 1, x.i64[j])\n te.store t[0, 0] = c",
        "te.assign c = c + x.i64[j]\n te.store t[0, c] = j",
        "te.assign c = min(c + 1, x.i64[j])\n te.store t[0, j] = c\n te.store t[1, j] = c",
        "te.assign c = min(c + 1, x.i64[j])\n te.assign d = c\n te.store t[0, j] = c",
        "te.assert x.i64[j] > 0, message 'no'\n" + ELEMENT,
        "te.assert j != 3, message 'no'\n" + ELEMENT,
        ELEMENT.replace("r, j", "1, j + (-1)"),
        ELEMENT.replace("r, j", "1, j + 2") + "\n te.store t[2, j] = last",
        ELEMENT.replace("x.i64[j]", "x.i64[j] // k"),
    ],
)
def test_what_stays(body: str) -> None:
    assert "te.scan" not in rewritten(body)


def test_an_element_that_a_later_iteration_stores_is_read_before() -> None:
    assert "t.i64[1, j + j_v_1 + 2], step 1" in rewritten(ELEMENT.replace("r, j", "1, j + 2"))


def test_floats_and_short_vectors_stay() -> None:
    body = "te.assign c = min(c.f64, x.f64[j])\n te.store t[0, j] = c.f64"
    assert "te.scan" not in rewritten(body, "f64")
    assert "te.scan" not in rewritten(ELEMENT, vector_bytes=16)
