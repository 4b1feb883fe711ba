"""Vectors of integers are divided as floats: exactly, at every edge."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts


def floor_quotient(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x // y


def remainder(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x % y


def quotient(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.div(x, y, rounding_mode="trunc")


def rest(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.fmod(x, y)


def edges(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Dividends next to multiples of divisors of all sizes; what is next to the ends of the range
    wraps around and is next to the other one."""
    info = np.iinfo(kind)
    powers = [1 << k for k in range(info.bits - (info.min < 0))]
    small = [1, 3, 5, 7, 10, 11, 100, 127]
    divisors = {n + d for n in (*powers, *small, info.max) for d in (-1, 0, 1)}
    divisors |= {-n for n in divisors} | {info.min}
    divisors = {n for n in divisors if n and info.min <= n <= info.max}
    random = np.random.default_rng(0)
    pairs = []
    for b in sorted(divisors):
        most = info.max // abs(b)
        for q in {0, 1, 2, most, most // 2, *random.integers(0, most, 8, endpoint=True).tolist()}:
            pairs += [(sign * q * b + d, b) for d in (-1, 0, 1) for sign in (-1, 1)]
    x, y = (np.array(part).astype(kind) for part in zip(*pairs, strict=True))
    return x, y


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "i4"])
def test_quotients_and_remainders_are_exact(kind: str) -> None:
    if kind[1] == "1":
        every = np.arange(np.iinfo(kind).min, np.iinfo(kind).max + 1)
        x, y = (a.ravel() for a in np.meshgrid(every, every[every != 0]))
        x, y = x.astype(kind), y.astype(kind)
    else:
        x, y = edges(kind)
    a, b = x.astype("i8"), y.astype("i8")
    floor = a // b
    whole = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    for function, expected in (
        (floor_quotient, floor), (remainder, a - floor * b),
        (quotient, whole), (rest, a - whole * b),
    ):  # fmt: skip
        compiled = ts.compile(function, (x, y), fallback="error")
        assert not re.search(r"[su](div|rem) <", compiled.ir("ll"))
        np.testing.assert_array_equal(compiled(x, y), expected.astype(kind))
