"""What is underlined in texts, whose parser measures otherwise than Python's, and refused."""

from __future__ import annotations

import re

import pytest

import tensorscript as ts
from tensorscript.base.errors import CompileError


def _underlined(error: BaseException) -> str:
    """The first text with a row of tildes below it."""
    lines = str(error).split("\n")
    at = next(k for k, line in enumerate(lines) if re.match(" *~+", line))
    start, end = lines[at].index("~"), lines[at].rindex("~") + 1
    return lines[at - 1][start:end]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f(x: Tensor):\n  return x[[4], :, :]\n", "x[[4], :, :]"),
        ("def f(x: Tensor):\n  return [x[4] , x]\n", "x[4] "),
    ],
)
def test_a_subscript_ends_where_the_next_token_starts(text: str, wanted: str) -> None:
    f = ts.jit.CompilationUnit(text).f
    with pytest.raises(Exception, match=r"out of (bounds|range)") as caught:
        f(ts.ones(3, 3, 3))
    assert _underlined(caught.value) == wanted


def test_a_call_without_arguments_reaches_to_its_parenthesis() -> None:
    with pytest.raises(CompileError, match="Expected type hint for result of tolist") as caught:
        ts.jit.CompilationUnit("def f(x: Tensor):\n  return x.tolist()\n")
    assert _underlined(caught.value) == "x.tolist("


def test_a_text_loops_over_one_iterable() -> None:
    with pytest.raises(CompileError, match="List of iterables is not supported currently"):
        ts.jit.CompilationUnit("def f():\n  for i, j in [1], [2]:\n    print(i)\n")
    unit = ts.jit.CompilationUnit(
        "def f():\n  s = 0\n  for i in (1, 2):\n    s = s + i\n  return s\n"
    )
    assert unit.f() == 3


def test_a_text_may_name_the_least_int() -> None:
    unit = ts.jit.CompilationUnit("def f(n: int):\n  return -9223372036854775808 + n\n")
    assert unit.f(1) == -(2**63) + 1
    with pytest.raises(CompileError, match="Integral constant out of range"):
        ts.jit.CompilationUnit("def f():\n  return 9223372036854775808\n")
