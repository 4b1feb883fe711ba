"""Strings count bytes, as TorchScript's do (checked against PyTorch 2.13)."""

from __future__ import annotations

from typing import Any

import pytest

from tensorscript.base.errors import OperatorError
from tensorscript.eager.dispatch import call_overload

WORD = "h\u00e9llo"
CASES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("len.str", (WORD,), 6), ("__getitem__.str", (WORD, 0), "h"),
    ("__getitem__.str", (WORD, 3), "l"), ("__getitem__.str", (WORD, -1), "o"),
    ("slice.str", (WORD, 0, 3, 1), "h\u00e9"), ("find", (WORD, "l", 0, -1), 3),
    ("rfind", (WORD, "o", 0, -1), 5), ("upper", (WORD,), "H\u00e9LLO"),
    ("slice.str", ("hello", 1, None, 2), "el"), ("ljust", (WORD, 8, "x"), WORD + "xx"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "wanted"), CASES)
def test_bytes(name: str, args: tuple[Any, ...], wanted: Any) -> None:
    assert call_overload(f"aten::{name}", args) == wanted


def test_pieces_of_a_character_join_again() -> None:
    halves = [call_overload("aten::__getitem__.str", (WORD, k)) for k in (1, 2)]
    assert call_overload("aten::add.str", tuple(halves)) == "\u00e9"
    assert [call_overload("aten::ord", (h,)) for h in halves] == [0xC3, 0xA9]


def test_refusals() -> None:
    with pytest.raises(OperatorError, match="string index out of range"):
        call_overload("aten::__getitem__.str", (WORD, 6))
    with pytest.raises(OperatorError, match="must be 1 character"):
        call_overload("aten::ord", ("\u00e9",))
