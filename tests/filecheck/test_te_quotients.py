"""What does the pass `name-quotients` print, and what does it leave?"""

from __future__ import annotations

import io

import pytest
from schedule_steps import parse_function
from xdsl.printer import Printer

from tensorscript.lowering.te.quotients import name_quotients


def run(source: str) -> str:
    func = parse_function(source)
    name_quotients(func)
    func.verify()
    out = io.StringIO()
    Printer(out).print_op(func)
    return out.getvalue()


BLOCKS = """
te.func @f kernel scheduled (x: f32[N], out y: f32[N, 4], N: i64, m: i64) {
  te.let b: i64 = max(N // 7, 1)
  te.for i in 0 .. N serial {
    te.alloc stack t: f32[(N + 3) // b, 4]
    te.for j in 0 .. 4 unroll {
      te.store t[i % b, j] = x.f32[i // b]
    }
    te.for k in 0 .. 4 vector {
      te.store y[i, k] = t.f32[i // b // b, k]
    }
  }
}"""
NAMED = """
  te.let b: i64 = max(N // 7, 1)
  te.let quotient: i64 = (N + 3) // b
  te.for i in 0 .. N serial {
    te.alloc stack t: f32[quotient, 4]
    te.let remainder: i64 = i % b
    te.let quotient_2: i64 = i // b
    te.for j in 0 .. 4 unroll {
      te.store t[remainder, j] = x.f32[quotient_2]
    }
    te.let quotient_3: i64 = i // b
    te.let quotient_4: i64 = quotient_3 // b
    te.for k in 0 .. 4 vector {
      te.store y[i, k] = t.f32[quotient_4, k]
    }
  }
"""


def test_quotients_stand_before_the_loops_that_they_are_the_same_in() -> None:
    assert NAMED in run(BLOCKS)


def test_a_divisor_that_may_be_0_there_is_taken_as_1() -> None:
    """`b` may be 0 before the loop over `b`, but not in it."""
    found = run(BLOCKS.replace("max(N // 7, 1)", "N // 7"))
    assert "te.let quotient: i64 = (N + 3) // max(b, 1)\n" in found
    assert "te.let remainder: i64 = i % max(b, 1)\n" in found


@pytest.mark.parametrize(
    ("quotient", "is_named"),
    [
        ("i // (i + 1)", True),
        ("i // 7", False),  # a multiplication
        ("i // m", False),  # m may be negative
        ("i // (k + 1)", False),  # another one in each turn
    ],
)
def test_which_are_named(quotient: str, is_named: bool) -> None:
    source = """
te.func @f kernel scheduled (x: f32[N], out y: f32[N, 4], N: i64, m: i64) {
  te.for i in 0 .. N serial {
    te.for k in 0 .. 4 vector {
      te.store y[i, k] = x.f32[QUOTIENT]
    }
  }
}"""
    source = source.replace("QUOTIENT", quotient)
    assert (f"te.let quotient: i64 = {quotient}\n" in run(source)) == is_named
    assert ("te.let" in run(source)) == is_named


def test_what_a_variable_or_memory_tells_stays() -> None:
    source = """
te.func @f kernel scheduled (x: i64[N], out y: i64[N], N: i64) {
  te.var v: i64 = N
  te.for i in 0 .. N serial {
    te.store y[i] = N // v + N // x.i64[0]
    te.assign v = v + 1
  }
}"""
    assert "te.let" not in run(source)
