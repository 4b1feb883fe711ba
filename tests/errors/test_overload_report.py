"""What a call that no overload takes is told: every variant, and the one that came nearest."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as torch


def _text(fn: Any) -> str:
    with pytest.raises(RuntimeError) as found:
        torch.jit.script(fn)
    return str(found.value)


def wrong_operand(x: int):
    return x + "a"


def unknown_keyword(x):
    return torch.sum(x, dims=0)


def test_the_nearest_variant_stands_behind_the_place() -> None:
    text = _text(wrong_operand)
    report, _, advice = text.partition("<--- HERE\n")
    assert report.startswith("\nArguments for call are not valid.\n")
    assert "  aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor:\n" in report
    assert advice == (
        "It was called with (int, str). The nearest variant is\n"
        "  aten::add.int(int a, int b) -> int\n"
        "which does not fit: Expected a value of type 'int' for argument 'b' but instead found "
        "type 'str'."
    )


def test_keywords_are_named() -> None:
    assert "It was called with (Tensor (inferred), dims=int)." in _text(unknown_keyword)
