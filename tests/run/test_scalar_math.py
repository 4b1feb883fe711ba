"""Functions of numbers outside of tensors, natively."""

from __future__ import annotations

import math
import struct

import tensorscript as ts


def nearest_remainder(x: float, y: float) -> float:
    return math.remainder(x, y)


def test_remainder_of_the_nearest_multiple() -> None:
    f = ts.compile(nearest_remainder, fallback="error", cache=False)
    numbers = [0.0, -0.0, 1.0, -1.5, 2.5, 3.0, 7.5, 1e300, 5e-324, 1e17, -0.1]
    for x in numbers:
        for y in numbers:
            expected = math.remainder(x, y) if y else math.nan
            assert struct.pack("d", abs(f(x, y))) == struct.pack("d", abs(expected))
            if y:
                assert math.copysign(1, f(x, y)) == math.copysign(1, expected)
    assert math.isnan(f(math.inf, 2.0)) and f(2.0, math.inf) == 2.0
