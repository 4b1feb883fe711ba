"""int() and float() of what tensors hold: C's conversions, which refuse what does not fit."""

from __future__ import annotations

import math

import pytest

import tensorscript as ts
from tensorscript import Tensor
from tensorscript.base.errors import OperatorError


def whole_tensor(x: Tensor) -> int:
    return int(x)


def whole_number(x: Tensor) -> int:
    return int(x.item())


def fraction(x: Tensor) -> float:
    return float(x)


LEAST, PAST = -(2**63), 2.0**63


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreter", "native"])
@pytest.mark.parametrize(
    ("program", "number", "expected"),
    [
        (whole_tensor, -3.7, -3),
        (whole_tensor, -PAST, LEAST),
        (whole_tensor, PAST, LEAST),  # which is compared as a float
        (whole_tensor, 1e30, "int64_t"),
        (whole_tensor, math.nan, "int64_t"),
        (whole_tensor, -math.inf, "int64_t"),
        (whole_tensor, 3 + 0j, 3),
        (whole_tensor, 3 + 1j, "int64_t"),
        (whole_number, 3.7, 3),
        (whole_number, -(2.0**31), -(2**31)),
        (whole_number, 2.0**31 - 1, 2**31 - 1),
        (whole_number, 2.0**31 - 0.5, "int"),
        (whole_number, PAST, "int"),
        (whole_number, math.nan, "int"),
        (whole_number, 3 + 1j, "int"),
        (fraction, 1e30, 1e30),
        (fraction, 2 + 0j, 2.0),
        (fraction, 2 + 1j, "double"),
    ],
)  # fmt: skip
def test_numbers_of_tensors(
    program: object, number: complex, expected: object, compiled: bool
) -> None:
    kind = ts.complex128 if isinstance(number, complex) else ts.float64
    x = ts.tensor(number, dtype=kind)
    call = ts.compile(program, cache=False) if compiled else ts.jit.script(program)
    if isinstance(expected, str):
        with pytest.raises(OperatorError, match=f"to type {expected} without overflow"):
            call(x)
    else:
        assert call(x) == expected
