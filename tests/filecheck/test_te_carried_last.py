"""Where do minima and maxima of a loop have what the last iteration gave? IR in, IR out."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from tensorscript.dialects.te.expr_text import text
from tensorscript.dialects.te.ops import TE, AssignOp, LetOp, StoreOp, functions
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.schedules.carried_last import carried_last

LOOP = """
te.func @f host logical (x: {dtype}[9], y: {dtype}[9], inout t: {dtype}[2, 9], out o: i64[]) {{
  te.var least: i64 = 3
  te.var i: i64 = 0
  te.while i < 8 {{
    te.let next: i64 = i + 1
    te.let last: {dtype} = t.{dtype}[1, {read}]
    te.store t[1, next] = {value}
    te.assign least = min(min(least, i), next)
    te.assign i = i + 1
  }}
  te.store o[] = least
}}"""


def _values(dtype: str, read: str, value: str) -> tuple[str, str]:
    """What is stored in `t` and assigned to `least`."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    source = LOOP.format(dtype=dtype, read=read, value=value)
    (func,) = functions(Parser(context, source).parse_module())
    carried_last(func)
    func.verify()
    (stored,) = (op for op in walk_ops(func) if isinstance(op, StoreOp) and op.buffer == "t")
    (least,) = (op for op in walk_ops(func) if isinstance(op, AssignOp) and op.var == "least")
    assert sum(isinstance(op, LetOp) for op in walk_ops(func)) == 2
    return text(stored.value), text(least.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("min(min(last + 1, x.i64[i]), y.i64[i])", "min(min(y.i64[i], x.i64[i]), last + 1)"),
        ("max(max(x.i64[i], last), y.i64[i])", "max(max(y.i64[i], x.i64[i]), last)"),
        ("min(max(last, x.i64[i]), y.i64[i])", "min(y.i64[i], max(x.i64[i], last))"),
        ("min(min(x.i64[i], y.i64[i]), last)", "min(min(x.i64[i], y.i64[i]), last)"),
    ],
)
def test_an_element_of_the_last_iteration(value: str, expected: str) -> None:
    assert _values("i64", "i", value)[0] == expected


def test_an_element_of_another_iteration_stays() -> None:
    value = "min(min(last, x.i64[i]), y.i64[i])"
    assert _values("i64", "8 - i", value)[0] == value


def test_floats_stay() -> None:
    value = "min(min(last.f64, x.f64[i]), y.f64[i])"
    assert _values("f64", "i", value)[0] == value


def test_a_variable() -> None:
    assert _values("i64", "i", "last")[1] in (
        "min(min(next, i), least)",
        "min(min(i, next), least)",
    )
