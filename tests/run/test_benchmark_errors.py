"""Do the benchmarks measure errors against results that are more precise?"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from contender import expected
from harness import close, deviation, error
from pointwise import chain, chain_numpy
from products import product
from rows import Row, table
from workload import normal, workload

HALF_UNIT = float(np.finfo(np.float64).eps) / 2
needs_extended = pytest.mark.skipif(
    np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="no extended precision here"
)


@needs_extended
def test_products_of_float64_have_a_reference_of_more_digits() -> None:
    work = workload("", product, normal((3, 40), (40, 2), dtype="f8"), None, None, np.matmul)
    found, (x, y) = expected(work), work.arguments()
    for row, column in np.ndindex(found.shape):
        factors = zip(x[row], y[:, column], strict=True)
        whole = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in factors)
        rest = found[row, column] - np.longdouble(float(whole))
        missed = abs(float(Fraction(float(rest)) - (whole - Fraction(float(whole)))))
        assert missed < HALF_UNIT / 100 * float(np.abs(found).max())


@needs_extended
def test_a_result_of_float64_is_off_by_its_rounding() -> None:
    """One that is rounded once by half a unit in the last place; it was the reference itself."""
    work = workload("", chain, normal((64, 64), (64, 64), dtype="f8"), None, None, chain_numpy)
    reference = expected(work)
    rounded = reference.astype(np.float64)
    assert 0 < error(rounded, reference) <= HALF_UNIT
    assert close(rounded, reference, 0.0)


def test_programs_of_float32_have_one_of_float64() -> None:
    work = workload("", product, normal((3, 4), (4, 2)), None, None, np.matmul)
    x, y = (a.astype(np.float64) for a in work.arguments())
    assert expected(work).dtype == np.float64
    np.testing.assert_allclose(expected(work), x @ y, rtol=1e-15)


def test_errors_are_shares_of_the_largest_magnitude() -> None:
    reference = np.array([0.0, 4.0, -8.0, 2.0])
    got = reference + np.array([0.0, 0.0, 0.4, -0.3])
    assert error(got, reference) == pytest.approx(0.4 / 8)
    assert deviation(got, reference) == pytest.approx(0.25 / 8)
    nothing = np.array([True])
    assert error(nothing, nothing) == deviation(nothing, nothing) == 0.0


def test_each_error_of_more_than_twice_pytorchs_is_marked() -> None:
    row = Row("w", 1, errors={"tensorscript": 3e-7, "torch": 1e-7})
    row.deviations = {"tensorscript": 1e-8, "torch": 1e-8}
    assert "| **3.0e-07 / 1.0e-07** | 1.0e-08 / 1.0e-08 |" in table([row], {})
    assert "| **3.0e-07 / 1.0e-07** | - |" in table([Row("w", 1, errors=row.errors)], {})
