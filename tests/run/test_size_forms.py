"""Canonical forms of sizes (`lowering/ts_to_tg/sizes.py`): what two ways of computing a size share,
and that the value stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorscript.dialects.te.expr import Expr, binary, const, var
from tensorscript.dialects.te.expr_parse import parse
from tensorscript.dialects.te.expr_text import text
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.lowering.ts_to_tg.sizes import same_size, simplify


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(H * W) // W", "H"),
        ("(H * 2 + 4) // 2", "H + 2"),
        ("((H + 1) // 2 + 1) // 2", "(H + 3) // 4"),
        ("(((H - 1) // 2 + 1 - 1) // 2 + 1) // 3", "(H + 3) // 12"),
        ("((H - 3) // 2 - 1) // 3", "(H + 1) // 6 - 1"),
        ("(H // 2 + W) // 2", "(H // 2 + W) // 2"),
        ("(H // 2 * 3) // 2", "H // 2 * 3 // 2"),
        ("max(H - 1, H - 2)", "H - 1"),
    ],
)
def test_forms(before: str, after: str) -> None:
    assert text(simplify(parse(before))) == after


def test_two_ways_to_a_size() -> None:
    assert same_size(parse("((H + 1) // 2 + 1) // 2"), parse("(H + 3) // 4"))
    assert not same_size(parse("((H + 1) // 2 + 1) // 2"), parse("(H + 2) // 4"))


def _size() -> st.SearchStrategy[Expr]:
    leaf = st.sampled_from([var("H"), var("W"), const(1), const(3), const(-2)])

    def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        sums = st.builds(binary, st.sampled_from(["add", "sub", "mul", "max"]), inner, inner)
        divisor = st.integers(1, 5).map(const)
        return sums | st.builds(binary, st.sampled_from(["floordiv", "mod"]), inner, divisor)

    return st.recursive(leaf, extend, max_leaves=8)


@given(_size(), st.integers(0, 30), st.integers(0, 30))
def test_values_stay(e: Expr, h: int, w: int) -> None:
    here = {"H": const(h), "W": const(w)}
    assert substitute(simplify(e), here) is substitute(e, here)
