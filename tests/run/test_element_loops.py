"""Loops over single elements: which functions get LLVM's scalar passes, and what they gain."""

from __future__ import annotations

import math
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor
from tensorscript.backends.llvm.emit_text import SIMPLIFY
from tensorscript.backends.llvm.optimize import VECTOR_CODE, optimize
from tensorscript.backends.target import host, initialize, new_machine

PREFIX = """
define void @prefix(ptr noalias %a, ptr noalias %b, i64 %n) nounwind {MARK} {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %j = add i64 %i, 1
  %here = getelementptr inbounds i64, ptr %a, i64 %i
  %there = getelementptr inbounds i64, ptr %a, i64 %j
  %other = getelementptr inbounds i64, ptr %b, i64 %i
  %x = load i64, ptr %here
  %y = load i64, ptr %other
  %z = add i64 %x, %y
  store i64 %z, ptr %there
  br label %loop
done:
  ret void
}
"""


def _optimized(text: str) -> llvm.ModuleRef:
    initialize()
    module = llvm.parse_assembly(text)
    optimize(module, new_machine(host(), True, 2), VECTOR_CODE)
    return module


def _loop(module: llvm.ModuleRef) -> str:
    """The text of the block that stores."""
    blocks = module.get_function("prefix").blocks
    (found,) = [str(b) for b in blocks if "store i64" in str(b)]
    return found


def test_an_element_that_the_next_turn_reads_stays_in_a_register() -> None:
    assert _loop(_optimized(PREFIX.replace("{MARK}", ""))).count("load i64") == 2
    assert _loop(_optimized(PREFIX.replace("{MARK}", SIMPLIFY))).count("load i64") == 1


def small_steps(x: Tensor, y: Tensor):
    """Whose elements read each other, so that each does not iterate by itself."""
    for _ in range(100):
        x = x.flip(0) * 0.5 + y
    return x


def wide_steps(x: Tensor, y: Tensor):
    for _ in range(3):
        x = (x * 0.5 + y).cumsum(0)
    return x


def repeated(a: Tensor, order: Tensor) -> int:
    total = 0
    for k in range(order.size(0)):
        j = int(order[k])
        total += int(a[j])
        if total > 5:
            total += int(a[j]) * 2
    return total


def smallest(a: Tensor, bound: float) -> float:
    """A minimum of numbers that were float32, then one with a double that was not."""
    best = 0.0
    for k in range(1, a.size(0)):
        best = min(float(a[k]), float(a[k - 1]))
    return min(best, bound)


def _lesser(a: float, b: float) -> float:
    """`min` as TorchScript has it, whose NaN is another one than Python's."""
    return float(a if a < b else b)


def _head(text: str, name: str) -> str:
    found = re.search(rf"^define [^\n]*@{name}\(.*$", text, re.M)
    assert found is not None
    return found[0]


def _calls(assembly: str) -> list[str]:
    return re.findall(r"\b(?:callq|bl)\s+(\w+)", assembly)


def test_short_kernels_are_part_of_their_loop() -> None:
    x, y = np.arange(4, dtype="f4"), np.ones(4, "f4")
    compiled = ts.compile(small_steps, (x, y), fallback="error")
    text = compiled.ir("ll")
    assert "alwaysinline" in _head(text, "k0")
    assert SIMPLIFY in _head(text, "small_steps")
    assert not {"k0", "copy"} & set(_calls(compiled.ir("s")))
    np.testing.assert_allclose(compiled(x, y), 2 * y, rtol=1e-6)


def test_loops_of_longer_kernels_are_left_as_they_are() -> None:
    x = np.ones(1000, "f4")
    compiled = ts.compile(wide_steps, (x, x), fallback="error")
    assert SIMPLIFY not in compiled.ir("ll")
    np.testing.assert_allclose(compiled(x, x), wide_steps(ts.tensor(x), ts.tensor(x)), rtol=1e-5)


@pytest.mark.parametrize("outside", [3, -4, 1 << 40])
def test_a_place_outside_is_still_found(outside: int) -> None:
    a, order = np.array([1, 2, 3]), np.array([0, -1, 1, 2])
    compiled = ts.compile(repeated, (a, order), fallback="error")
    assert compiled(a, order) == repeated(ts.tensor(a), ts.tensor(order)) == 19
    order[3] = outside
    with pytest.raises((IndexError, RuntimeError), match="out of range"):
        compiled(a, order)


@pytest.mark.parametrize("bound", [0.1, 7.0, math.nan])
def test_a_choice_of_widened_numbers_is_made_before(bound: float) -> None:
    a = np.array([3, 0.3, np.nan, 0.2, 0.7], "f4")
    for last in (0.7, np.nan):
        a[-1] = last
        compiled = ts.compile(smallest, (a, bound), fallback="error")
        np.testing.assert_equal(compiled(a, bound), _lesser(_lesser(a[-1], a[-2]), bound))
    assert re.search(r"= select i1 \S+ float ", compiled.ir("ll"))
