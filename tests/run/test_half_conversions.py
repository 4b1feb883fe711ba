"""Halves on x86 processors that do not convert them: all of them, and what rounds to them."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.cpu import side_by_side
from tensorscript.backends.cpu.jit import compile_object, load_object
from tensorscript.backends.llvm.half_conversions import NAMES
from tensorscript.backends.llvm.optimize import VECTOR_CODE
from tensorscript.backends.target import parse

PLAIN = "x86-64"
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def widened(x: ts.Tensor) -> ts.Tensor:
    return x.float()


def rounded(x: ts.Tensor) -> ts.Tensor:
    return x.half()


def assert_same_bits(found: np.ndarray, wanted: np.ndarray) -> None:
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), ~numbers)
    bits = f"u{wanted.itemsize}"
    np.testing.assert_array_equal(found[numbers].view(bits), wanted[numbers].view(bits))


def test_every_half_as_a_float() -> None:
    run = ts.compile(widened, cpu=PLAIN, cache=False, fallback="error")
    assert_same_bits(run(HALVES), HALVES.astype(np.float32))


def test_floats_are_rounded_to_even() -> None:
    with np.errstate(all="ignore"):
        exact = HALVES.astype(np.float32)
        near = np.array([1, 1 + 2**-11, 1 - 2**-11, 1 + 3 * 2**-12], np.float32)
        between = np.outer(exact, near).ravel()
        drawn = np.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype=np.uint32)
        given = np.concatenate([between, drawn.view(np.float32)])
        wanted = given.astype(np.float16)
    run = ts.compile(rounded, cpu=PLAIN, cache=False, fallback="error")
    assert_same_bits(run(given), wanted)


def test_objects_bring_the_conversions_along(tmp_path: Path) -> None:
    text = """
define void @f(ptr %x) {
  %half = load half, ptr %x
  %wide = fpext half %half to float
  %sum = fadd float %wide, 1.0
  %made = fptrunc float %sum to half
  store half %made, ptr %x
  ret void
}
"""
    plain, fitted = (compile_object(text, parse("cpu", cpu)) for cpu in (PLAIN, "x86-64-v3"))
    assert all(name in plain and name not in fitted for name in NAMES)


def test_programs_in_pieces_bring_the_conversions_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "LEAST_TEXT", 100)
    monkeypatch.setattr(side_by_side, "_processors", lambda: 2)
    text = "".join(
        f"""
define void @add{number}(ptr %x) {{
  %half = load half, ptr %x
  %wide = fpext half %half to float
  %sum = fadd float %wide, {number}.0
  %made = fptrunc float %sum to half
  store half %made, ptr %x
  ret void
}}
"""
        for number in (2, 3)
    )
    made = side_by_side.compile_pieces(text, parse("cpu", PLAIN), VECTOR_CODE)
    names = ("add2", "add3")
    loaded, x = load_object(made, names), np.array([0.5], np.float16)
    for name in names:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(loaded.address(name))(x.ctypes.data)
    assert x[0] == 5.5
