"""Texts of TorchScript that do not parse are refused as TorchScript's own parser refuses them."""

from __future__ import annotations

import re

import pytest

from tensorscript import jit
from tensorscript.base.errors import TextError

TEXTS = [
    ("def f(x:\n    return x\n", "expected ident but found 'return' here", 2),
    ("def f(x):\n    return x +\n", "expected ident but found 'newline' here", 2),
    ("def f(x):\n    y = 'abc\n    return x\n", "expected a valid token but found", 2),
    ("def f(x)\n    return x\n", "expected : but found 'indent' here", 1),
    ("def f(x):\n  return [x, 1\n", "expected ] but found 'eof' here", 2),
    ("def f(x):\n    1 = x\n", "unexpected expression on left-hand side of assignment", 2),
    ("def f(x):\n    x, y += x\n", "augmented assignment can only have one LHS expression", 2),
    ("def f(x):\n    return x x\n", "expected newline but found 'ident' here", 2),
    ("def f(x):\n    return x 'a' 'b'\n", "expected newline but found 'string_literal' here", 2),
    ("def f(x):\n    a = [1 2]\n", "expected ] but found 'number' here", 2),
    ("def f(x):\n    return x?\n", "expected newline but found '?' here", 2),
    ("def f(x):\n    if x\n        return x\n", "expected : but found 'indent' here", 2),
    ("def f(x):\n    return (x))\n", "expected newline but found ')' here", 2),
    ("def f(x):\n    return {'a': (x]}\n", "expected ) but found ']' here", 2),
    ("def f(x):\n    for i in\n        return x\n", "expected ident but found 'newline' here", 2),
    ("import os\n", "expected def but found 'import' here", 1),
    ("def f(x):\n    pass\n   return x\n", "unindent does not match any outer", 3),
]


@pytest.mark.parametrize(("text", "message", "line"), TEXTS)
def test_says_what_is_expected_and_where(text: str, message: str, line: int) -> None:
    with pytest.raises(TextError, match=re.escape(message)) as refused:
        jit.CompilationUnit(text)
    assert refused.value.span is not None and refused.value.span.line == line


def test_a_break_outside_of_loops() -> None:
    with pytest.raises(RuntimeError, match="SyntaxError: 'break' outside loop"):
        jit.CompilationUnit("def f(x):\n    break\n")


def test_a_text_without_a_table_of_constants() -> None:
    with pytest.raises(RuntimeError, match="undefined value CONSTANTS"):
        jit.CompilationUnit("def f(x):\n    return CONSTANTS.c0\n")


OTHER_WORDS = ("def f(x):\n    y = 'abc\n", "def f(x):\n    for i in\n")
"""Texts of which PyTorch says the same in other words: a blank for the quote, the next line's
indentation for the end of this one."""


@pytest.mark.parametrize(
    "text", [t for t, said, _ in TEXTS if "here" in said and not t.startswith(OTHER_WORDS)]
)
def test_equals_torch(text: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as theirs:
        torch.jit.CompilationUnit(text)
    with pytest.raises(RuntimeError) as ours:
        jit.CompilationUnit(text)
    first, second = (str(error.value).strip().split("\n")[0] for error in (theirs, ours))
    assert first == second
