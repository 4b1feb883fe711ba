"""Scalars of GPU host code follow compiled code: wrap-around, rounding, floor division, NaN."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorscript.backends.ptx.scalars import Frame, compiled
from tensorscript.base.dtypes import float32, float64, int32, int64
from tensorscript.dialects.te.expr import binary, cast, select, var

WHOLE = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(width=64)


def frame(**values: float) -> Frame:
    return Frame(lambda name, indices: 0, dict(values))


@given(WHOLE, WHOLE)
def test_integers_wrap_around(a: int, b: int) -> None:
    f = frame(a=a, b=b)
    with np.errstate(all="ignore"):
        for op, reference in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
            expected = reference(np.int64(a), np.int64(b))
            assert compiled(binary(op, var("a"), var("b")))(f) == expected
        assert compiled(cast(var("a"), int32))(f) == np.int64(a).astype(np.int32)


@given(FLOATS, FLOATS)
def test_floats_are_those_of_numpy(x: float, y: float) -> None:
    f = frame(x=x, y=y)
    with np.errstate(all="ignore"):
        for op, reference in (
            ("add", np.add), ("div", np.divide), ("mod", np.remainder), ("min", np.minimum),
            ("max", np.maximum), ("floordiv", np.floor_divide),
        ):  # fmt: skip
            if op in ("mod", "floordiv") and (np.isinf(x) or np.isinf(y) or y == 0):
                continue  # PyTorch and NumPy differ there
            got = compiled(binary(op, var("x", float64), var("y", float64)))(f)
            expected = float(reference(x, y))
            assert got == expected or (got != got and expected != expected)  # zeros of any sign


@given(FLOATS)
def test_conversions(x: float) -> None:
    f = frame(x=x)
    with np.errstate(all="ignore"):
        rounded = float(np.float32(x))
    np.testing.assert_equal(compiled(cast(var("x", float64), float32))(f), rounded)
    whole = compiled(cast(var("x", float64), int64))(f)
    assert whole == (int(x) if np.isfinite(x) and abs(x) < 2**63 else -(2**63))


def test_the_side_not_taken_is_not_evaluated() -> None:
    guarded = select(var("n") > 0, binary("floordiv", 10, var("n")), -1)
    assert [compiled(guarded)(frame(n=n)) for n in (0, 3)] == [-1, 3]


@pytest.mark.parametrize(("count", "expected"), [(1, 2), (63, -(2**63)), (64, 0), (-1, 0)])
def test_shifts_by_more_than_the_width(count: int, expected: int) -> None:
    assert compiled(binary("shl", var("a"), var("n")))(frame(a=1, n=count)) == expected
