"""Which lists of a host function become buffers? IR in, IR out."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from tensorscript.dialects.te.lists import InvokeOp
from tensorscript.dialects.te.ops import TE, functions
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.schedules.list_buffers import lists_as_buffers

FIXED = """
te.func @f host logical (n: i64, k: i64, out o: i64[], out p: i64[]) {{
  te.invoke l: i64 = @list_new(8, {count})
  te.invoke m: i64 = @list_length(l)
  te.invoke @list_set_i64(l, k, m)
  te.invoke x: i64 = @list_get_i64(l, k)
  {more}
  te.store o[] = x
  te.invoke @list_release(l)
}}"""

APPENDED = """
te.func @f host logical (xs: i64[n], n: i64, count: i64, out o: i64[]) {{
  te.var other: i64 = 0
  te.invoke l: i64 = @list_new({layout}, 0)
  te.invoke @list_push_i64(l, 7)
  {between}
  te.var i: i64 = {start}
  te.while i < {limit} {{
    te.invoke before: i64 = @list_length(l)
    te.assert i < before, message 'too far'
    te.invoke x: i64 = @list_get_i64(l, i)
    {push}
    te.invoke after: i64 = @list_length(l)
    te.invoke y: i64 = @list_get_i64(l, after + (-1))
    {inside}
    te.assign i = i + 1
  }}
  te.invoke @list_push_i64(l, 9)
  te.invoke total: i64 = @list_length(l)
  te.store o[] = total
  te.invoke @list_release(l)
}}"""
PUSH = "te.invoke @list_push_i64(l, x + 1)"


def _rewritten(source: str) -> tuple[list[str], str]:
    """The functions of the run-time support that are called afterwards, and the text."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    (func,) = functions(Parser(context, source).parse_module())
    lists_as_buffers(func)
    func.verify()
    called = [op.function for op in walk_ops(func) if isinstance(op, InvokeOp)]
    return called, str(func)


def _appended(**parts: str) -> tuple[list[str], str]:
    plain = {"layout": "8", "between": "", "start": "0", "limit": "n", "inside": "", "push": PUSH}
    return _rewritten(APPENDED.format(**plain | parts))


@pytest.mark.parametrize(("count", "length"), [("200", "200"), ("n", "max(n, 0)")])
def test_a_list_that_keeps_its_length(count: str, length: str) -> None:
    called, text = _rewritten(FIXED.format(count=count, more=""))
    assert called == ["list_new", "list_release"]
    assert f"te.bind l_b: i64[{count}] = l" in text
    assert f"te.let m: i64 = {length}" in text
    assert "te.store l_b[k] = m" in text
    assert "te.let x: i64 = l_b.i64[k]" in text


def test_a_buffer_that_the_list_has_already_is_taken() -> None:
    source = FIXED.format(count="5", more="").replace(
        "  te.invoke m:", "  te.bind b: i64[5] = l\n  te.invoke m:"
    )
    text = _rewritten(source)[1]
    assert text.count("te.bind") == 1
    assert "te.let x: i64 = b.i64[k]" in text


@pytest.mark.parametrize(
    "more",
    [
        "te.invoke @list_push_i64(l, x)",
        "te.invoke @list_clear(l)",
        "te.let copy: i64 = l",
        "te.invoke other: i64 = @list_new(264, 0)\n  te.invoke @list_push_i64(other, l)",
        "te.invoke @list_set_i64(l, 0, l)",
    ],
)
def test_a_list_that_may_change_stays(more: str) -> None:
    called, text = _rewritten(FIXED.format(count="5", more=more))
    assert "list_get_i64" in called
    assert "te.bind" not in text


def test_lists_of_lists_stay() -> None:
    source = FIXED.format(count="5", more="").replace("list_new(8", "list_new(264")
    assert "list_get_i64" in _rewritten(source)[0]


def test_a_list_that_a_loop_appends_to() -> None:
    called, text = _appended()
    assert called == [
        "list_new", "list_push_i64", "list_grow", "list_push_i64", "list_length", "list_release",
    ]  # fmt: skip
    assert "te.let l_n: i64 = max(n, 0)" in text
    assert "te.bind l_b: i64[l_n + 1] = l" in text
    assert "te.let before: i64 = i + 1" in text
    assert "te.let x: i64 = l_b.i64[i]" in text
    assert "te.store l_b[i + 1] = x + 1" in text
    assert "te.let after: i64 = i + 2" in text


@pytest.mark.parametrize(
    "parts",
    [
        {"push": f"te.if x > 3 {{\n {PUSH}\n }}"},
        {"push": f"{PUSH}\n{PUSH}"},
        {"inside": "te.invoke @list_remove(l, 0)"},
        {"inside": "te.assign i = i + 1"},
        {"inside": "te.assign other = l"},
        {"between": "te.assign other = l"},
        {"between": "te.invoke @list_reverse(l)"},
        {"between": "te.if n > 3 {\n te.invoke @list_push_i64(l, 8)\n }"},
        {"start": "1"},
        {"limit": "other"},
        {"layout": "264"},
    ],
    ids=str,
)
def test_other_lists_are_appended_to_as_they_stand(parts: dict[str, str]) -> None:
    assert "list_grow" not in _appended(**parts)[0]


def test_only_the_first_of_two_loops_knows_where_it_appends() -> None:
    loop = "te.var j: i64 = 0\nte.while j < n {{\n{}\nte.assign j = j + 1\n}}"
    called, text = _appended(between=loop.format("te.invoke @list_push_i64(l, j)"))
    assert called.count("list_grow") == 1
    assert "te.store l_b[j + 1] = j" in text
    assert "te.invoke @list_push_i64(l, x + 1)" in text


@pytest.mark.parametrize(("limit", "grows"), [("1000", True), ("9999999", False), ("count", False)])
def test_room_where_an_error_may_end_the_loop(limit: str, grows: bool) -> None:
    """An error must come before memory runs out for turns that are never reached."""
    assert ("list_grow" in _appended(limit=limit)[0]) is grows
