"""Calls that PyTorch refuses are refused by the same kind of error in the same words."""

from __future__ import annotations

import math
import types
from pathlib import Path

import pytest

import tensorscript as ts

CALLS = (Path(__file__).parent / "refused_calls.txt").read_text().splitlines()
KINDS = (
    NotImplementedError, IndexError, TypeError, ValueError, RuntimeError, AssertionError,
)  # fmt: skip


def refusal(call: str, package: types.ModuleType) -> tuple[str, str]:
    """The kind of error and its words when `torch` is that package."""
    try:
        eval(call, {"torch": package, "inf": math.inf, "nan": math.nan})
    except KINDS as error:
        return next(k.__name__ for k in KINDS if isinstance(error, k)), str(error)
    return "none", ""


@pytest.mark.filterwarnings("ignore")
def test_every_call_is_refused() -> None:
    taken = [call for call in CALLS if refusal(call, ts)[0] == "none"]
    assert not taken


@pytest.mark.filterwarnings("ignore")
def test_kind_and_words_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    apart = {
        call: (ours, theirs)
        for call in CALLS
        if (ours := refusal(call, ts)) != (theirs := refusal(call, torch))
    }
    assert not apart
