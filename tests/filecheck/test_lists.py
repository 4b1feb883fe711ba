"""Run-time lists in tg and te: what is printed, that it parses back, what verifiers refuse."""

from __future__ import annotations

import io

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

import tensorscript as ts
from tensorscript.compiler.function import CompiledFunction
from tensorscript.dialects.te.ops import TE
from tensorscript.dialects.tg.ops import TG


def module_of(text: str):  # type: ignore[no-untyped-def]
    context = Context()
    for dialect in (Builtin, TG, TE):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def reprinted(text: str) -> str:
    stream = io.StringIO()
    Printer(stream).print_op(module_of(text))
    return stream.getvalue()


def odd_squares(n: int) -> list[int]:
    xs: list[int] = []
    for i in range(n):
        if i % 2 == 1:
            xs.append(i * i)
    return xs


def first_of_rows(rows: list[list[float]], i: int) -> float:
    row = rows[i]
    rows.append(row)
    return row[0]


def changed_row(rows: list[list[float]], i: int) -> float:
    rows[i][0] = 2.0
    return rows[i][0]


def compiled(fn, *inputs) -> CompiledFunction:  # type: ignore[no-untyped-def]
    made = ts.compile(fn, inputs, fallback="error", cache=False)
    assert isinstance(made, CompiledFunction)
    return made


def test_a_list_that_grows() -> None:
    made = compiled(odd_squares, 5)
    text = made.ir("tg")
    assert '%1 = tg.list "new" : () -> !tg.list<"i64">' in text
    assert 'tg.list "push" %1, %5 : (!tg.list<"i64">, !tg.scalar<"i64">) -> ()' in text
    assert 'tg.return %1 : !tg.list<"i64">' in text
    assert reprinted(text).strip() == text.strip()
    text = made.ir("te")
    assert "(n: i64, grown out0: i64[out0_0])" in text
    assert "te.invoke c0: i64 = @list_new(134217736, 0)" in text
    assert "te.invoke @list_push_i64(c0, " in text
    assert "= c0\n    te.give out0 = b0\n    te.invoke @list_release(c0)" in text
    assert reprinted(text).strip() == text.strip()


def test_a_list_of_lists_is_counted() -> None:
    made = compiled(first_of_rows, [[0.5]], 0)
    text = made.ir("tg")
    assert '^bb0(%0: !tg.list<"f64">, %1: !tg.list<"i64">, %2: !tg.scalar<"i64">)' in text
    assert '-> !tg.list<"f64[]">' in text
    lines = [line.strip() for line in made.ir("te").splitlines()]
    fetched = next(line for line in lines if "@list_get_i64" in line)
    name = fetched.split()[1].rstrip(":")
    assert f"te.invoke @list_retain({name})" in lines
    assert f"te.invoke @list_release({name})" in lines


def test_a_list_that_is_only_looked_into_is_borrowed() -> None:
    text = compiled(changed_row, [[0.5]], 0).ir("te")
    assert text.count("@list_get_i64") == 2
    assert "@list_retain" not in text


def evens(x: ts.Tensor) -> ts.Tensor:
    return x[x % 2 == 0] * 2


def test_a_size_that_is_found_has_a_name() -> None:
    made = compiled(evens, np.arange(6))
    text = made.ir("tg")
    assert 'tg.size "size0" %' in text
    assert '!tg.tensor<"i64[size0]">' in text
    assert reprinted(text).strip() == text.strip()
    text = made.ir("te")
    assert "grown out0: i64[out0_0]" in text
    assert "te.let size0: i64 = " in text
    assert reprinted(text).strip() == text.strip()


LISTS = 'builtin.module {{ %l = tg.list "new" : () -> !tg.list<"{}">\n {} }}'


@pytest.mark.parametrize(
    ("element", "line", "message"),
    [
        ("i64", 'tg.list "shuffle" %l : (!tg.list<"i64">) -> ()', "unknown action"),
        ("i64", 'tg.list "clear" %l, %l : (!tg.list<"i64">, !tg.list<"i64">) -> ()', "1 operands"),
        ("i64", 'tg.list "length" %l : (!tg.list<"i64">) -> ()', "number of results"),
        ("i64", '%v = tg.scalar <"True"> : () -> !tg.scalar<"b1">\n tg.list "push" %l, %v : '
         '(!tg.list<"i64">, !tg.scalar<"b1">) -> ()', "where"),
        ("f64[]", '%v = tg.list "join" %l : (!tg.list<"f64[]">) -> !tg.list<"i64">', "where"),
    ],
)  # fmt: skip
def test_actions_that_do_not_fit(element: str, line: str, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        module_of(LISTS.format(element, line))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("te.invoke @list_shuffle(h)", "no function list_shuffle"),
        ("te.invoke @list_clear(h, 1)", "arguments of @list_clear"),
        ("te.invoke @list_length(h)", "result of @list_length"),
    ],
)
def test_calls_that_do_not_fit(line: str, message: str) -> None:
    with pytest.raises((VerifyException, ParseError), match=message):
        module_of(f"builtin.module {{ te.func @f host logical (h: i64) {{\n {line}\n }}\n }}")
