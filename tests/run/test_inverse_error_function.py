"""Is erfinv as precise as its dtype, up to the last number before 1?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from math_measure import evaluate

import tensorscript as ts
from tensorscript.base.inverse_error_function import erfinv as by_newton


def erfinv(x: ts.Tensor) -> ts.Tensor:
    return ts.erfinv(x)


def _points(dtype: str) -> np.ndarray:
    random = np.random.default_rng(0)
    digits = 7 if dtype == "f4" else 15.5
    near = 1 - 10.0 ** -random.uniform(0, digits, 400)
    x = np.concatenate([random.uniform(-1, 1, 400), near, 10.0 ** -random.uniform(0, 30, 200)])
    x = x.astype(dtype)
    return np.concatenate([x[np.abs(x) < 1], np.nextafter(np.array([1, -1], dtype), 0)])


def _off(x: float, y: float) -> float:
    """How far `y` is from erfinv(x), by the slope there."""
    gap = math.erf(y) - x if abs(x) < 0.5 else math.copysign((1 - abs(x)) - math.erfc(abs(y)), x)
    return gap * math.sqrt(math.pi) / 2 * math.exp(y * y)


def _units(x: np.ndarray, found: np.ndarray) -> float:
    return max(
        abs(_off(float(a), float(b))) / float(np.spacing(np.abs(b)))
        for a, b in zip(x, found, strict=True)
        if a
    )


@pytest.mark.parametrize(("dtype", "most"), [("f4", 0.8), ("f8", 3.0)])
def test_error_in_units_of_the_last_place(dtype: str, most: float) -> None:
    x = _points(dtype)
    assert _units(x, np.asarray(ts.compile(erfinv, (x,), fallback="error")(x))) < most


@pytest.mark.parametrize(("dtype", "most"), [("f4", 0.8), ("f8", 3.0)])
def test_error_without_tables_in_registers(dtype: str, most: float) -> None:
    x = _points(dtype)
    assert _units(x, evaluate("erfinv", f"f{8 * int(dtype[1])}", x)) < most


def test_error_of_the_reference() -> None:
    x = _points("f8")
    assert _units(x, np.array([by_newton(float(v)) for v in x])) < 4


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_edges(dtype: str) -> None:
    x = np.array([1, -1, 1.5, -2, np.nan, 0, np.inf], dtype)
    expected = np.array([np.inf, -np.inf, np.nan, np.nan, np.nan, 0, np.nan], dtype)
    np.testing.assert_array_equal(ts.compile(erfinv, (x,), fallback="error")(x), expected)
