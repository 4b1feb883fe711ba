"""Ranges whose step leads away from their end, whether or not elements would be left."""

from __future__ import annotations

import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

RANGES = ["5, 3, 1", "5, 3, 99", "5.0, 3.0, 1.0", "3.0, 2.5, 1.0", "3, 5, -9", "0, n, 7",
          "0.0, f, 7.0", "n, 0, -7"]  # fmt: skip


@pytest.mark.parametrize("ends", RANGES)
def test_a_step_of_the_wrong_sign(ends: str) -> None:
    text = f"def program(n: int, f: float):\n    return torch.arange({ends})\n"
    interpreted = ts.jit.CompilationUnit(text).program
    for run in (interpreted, ts.compile(interpreted, fallback="error", cache=False)):
        with pytest.raises(OperatorError, match="inconsistent with step sign"):
            run(-3, -3.0)


def test_a_layout_of_another_rank() -> None:
    text = "def program():\n    return torch.empty_permuted((2,), (0, 1))\n"
    program = ts.compile(ts.jit.CompilationUnit(text).program, fallback="error", cache=False)
    with pytest.raises(OperatorError, match=r"len\(size\) = 1 is not equal"):
        program()
