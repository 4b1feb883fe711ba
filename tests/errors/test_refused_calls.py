"""Calls that PyTorch refuses are refused by the same kind of error in the same words."""

from __future__ import annotations

import math
import types
from pathlib import Path

import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable

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


NATIVE = (
    "index_fill(x, 0, x[:1].long()[None], 1.)", "index_fill(x, 0, x, 1.)",
    "index_put(x, [x], x)", "masked_fill(x, x > 0, x)", "kthvalue(x, 9)", "outer(x, x[None])",
    "cross(x[:3], x[:3].long())", "addbmm(x, x.long()[None, None], x[None, :, None])",
    "linalg.pinv(x[None], hermitian=True)", "triplet_margin_loss(x[None], x, x)",
    "cosine_embedding_loss(x, x[None], x)",
    "narrow(x, 0, -9, 0)", "tril(x)", "renorm(x, 1., 0, 1.)",
    "segment_reduce(x, 'max', lengths=x.long()[None], axis=0)",
)  # fmt: skip


@pytest.mark.parametrize("call", NATIVE)
def test_compiled_calls_are_refused(call: str) -> None:
    """By the same demands, before anything is compiled."""
    text = f"def f(x: Tensor):\n    return torch.{call}\n"
    run = ts.compile(ts.jit.CompilationUnit(text).f, fallback="error", cache=False)
    with pytest.raises((RuntimeError, IndexError)) as refusal:
        run(ts.ones(4))
    assert not isinstance(refusal.value, NotCompilable)
