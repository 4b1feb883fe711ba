"""What the script frontend refuses, and the first line of what it says."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

import tensorscript as ts
from tensorscript.base.errors import UserError
from tensorscript.frontends.script.api import compile_function

torch = pytest.importorskip("torch")
REFUSED = pytest.importorskip("script_refusals").REFUSED


def first_line(error: BaseException) -> str:
    return str(error).lstrip("\n").split("\n")[0].strip()


@pytest.mark.parametrize("fn", REFUSED, ids=lambda f: f.__name__)
def test_first_line_equals_torch(fn: Callable[..., object]) -> None:
    with warnings.catch_warnings(), pytest.raises(Exception) as wanted:
        warnings.simplefilter("ignore")
        torch.jit.script(fn)
    with pytest.raises(UserError) as found:
        compile_function(fn)
    assert first_line(found.value) == first_line(wanted.value)


def test_limits_of_dtypes_are_no_operators() -> None:
    def masked(x):  # type: ignore[no-untyped-def]
        return x.masked_fill(x > 0, ts.finfo(x.dtype).min)

    with pytest.raises(UserError, match="Unknown builtin op: aten::finfo"):
        ts.jit.script(masked)
