"""Tensors that a loop carries change places between two iterations instead of being copied."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts


def powers(x, w, n: int):
    """Two states, of which one is read by the product that makes the other."""
    h, c = x, x * 0.5
    for i in range(n):
        c = c * 0.9 + ts.tanh(h @ w) * float(i + 1)
        h = ts.tanh(c)
    return h, c


def until(x, w, limit: float):
    """A loop that stops by what it computes."""
    h = x
    count = 0
    while bool(h.abs().max() < limit):
        h = h @ w + h
        count += 1
    return h, count


def exchanged(x, w, n: int):
    """The states change places by themselves: they are copied."""
    a, b = x, x + 1.0
    for _ in range(n):
        a, b = b, a @ w
    return a, b


def outputs(x, w, n: int):
    """Rows of a result are written in place on the way."""
    out = ts.zeros(n, 8, 16)
    h = x
    for i in range(n):
        h = ts.relu(h @ w)
        out[i] = h
    return out, h


RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((8, 16)).astype("f4")
W = RANDOM.standard_normal((16, 16)).astype("f4") * np.float32(0.3)


def agree(program, *rest: float) -> str:
    """Compare compiled code with eager mode; gives its `te`."""
    compiled = ts.compile(program, (X, W, *rest), fallback="error")
    found = compiled(X, W, *rest)
    expected = program(ts.from_numpy(X), ts.from_numpy(W), *rest)
    for one, other in zip(found, expected, strict=True):
        wide = other.numpy() if isinstance(other, ts.Tensor) else other
        np.testing.assert_allclose(one, wide, rtol=2e-5, atol=2e-6)
    return str(compiled.ir("te"))


def copies(te: str) -> list[str]:
    """What each `te.while` copies between its iterations, without conditions inside."""
    loops = re.findall(r"te\.while.*?\n    }\n", te, re.S)
    return [re.sub(r"te\.if.*?\n      }\n", "", loop, flags=re.S) for loop in loops]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("program", [powers, outputs])
def test_iterations_come_in_pairs(program, n: int) -> None:
    te = agree(program, n)
    assert not any("@copy" in loop for loop in copies(te))
    if n > 2:
        assert te.count("te.while") == 1
        assert (
            len(re.findall(r"te\.if .*\n(.*\n)*?      } else {\n        te\.call @copy", te)) == 1
        )


@pytest.mark.parametrize("limit", [0.0, 3.0, 40.0, 900.0])
def test_a_loop_that_stops_by_what_it_computes(limit: float) -> None:
    agree(until, limit)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_an_exchange_is_copied(n: int) -> None:
    te = agree(exchanged, n)
    if n > 2:
        assert "@copy" in copies(te)[0]
