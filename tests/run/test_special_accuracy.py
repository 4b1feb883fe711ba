"""Special functions of float64 against the C library's, in units in the last place."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts

RNG = np.random.default_rng(0)
GAMMA = np.concatenate([10.0 ** RNG.uniform(-3, -0.2, 300), 10.0 ** RNG.uniform(0.5, 3, 600)])
NEAR_ZEROS = (
    (0.75, 0.20328095143129538), (0.9, 0.06637623973474295), (0.999, 0.0005780385328913802),
    (1.0000000009313226, -5.375739784311044e-10), (1.001, -0.0005763935982833062), (1.25,
    -0.09827183642181316), (1.5, -0.12078223763524522), (1.75, -0.08440112102048555), (1.999,
    -0.0004224618006921073), (2.0000000000009095, 3.8452011276491285e-13), (2.001,
    0.000423106734800117), (2.5, 0.2846828704729192), (-0.5, 1.2655121234846454), (-2.25,
    0.5555015450206475),
)  # fmt: skip
"""x to log |gamma(x)| to 200 bits, rounded: the C library's and Python's lose digits here."""
AREA = np.concatenate([RNG.uniform(-6, 6, 600), 10.0 ** RNG.uniform(-8, 0, 200)])


def erf(x):  # type: ignore[no-untyped-def]
    return ts.erf(x)


def erfc(x):  # type: ignore[no-untyped-def]
    return ts.erfc(x)


def lgamma(x):  # type: ignore[no-untyped-def]
    return ts.lgamma(x)


def atanh(x):  # type: ignore[no-untyped-def]
    return ts.atanh(x)


def erfinv(x):  # type: ignore[no-untyped-def]
    return ts.erfinv(x)


def ulps(found: np.ndarray, wanted: np.ndarray) -> float:
    return float((np.abs(found - wanted) / np.spacing(np.abs(wanted))).max())


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "native"])
@pytest.mark.parametrize(
    ("function", "reference", "x", "most"),
    [
        (erf, math.erf, AREA, 4),
        (erfc, math.erfc, np.concatenate([AREA, RNG.uniform(6, 26, 300)]), 4),
        (lgamma, math.lgamma, GAMMA, 12),
        (atanh, math.atanh, RNG.uniform(-1, 1, 800), 3),
    ],
)
def test_units_in_the_last_place(
    function: Callable[..., object],
    reference: Callable[[float], float],
    x: np.ndarray,
    most: float,
    compiled: bool,
) -> None:
    wanted = np.array([reference(v) for v in x])
    found = ts.compile(function)(x) if compiled else function(ts.from_numpy(x))
    assert ulps(np.asarray(found), wanted) <= most


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "native"])
def test_log_gamma_near_its_zeros(compiled: bool) -> None:
    x, wanted = np.array(NEAR_ZEROS).T
    found = ts.compile(lgamma)(x) if compiled else lgamma(ts.from_numpy(x))
    assert ulps(np.asarray(found), wanted) <= 6


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "native"])
def test_erfinv_is_the_inverse(compiled: bool) -> None:
    y = np.concatenate([RNG.uniform(-2, 2, 600), 10.0 ** RNG.uniform(-8, 0, 200)])
    x = np.array([math.erf(v) for v in y])
    # Half a step of x is this much of y; erfinv may add its own error.
    step = np.spacing(np.abs(x)) / (2 / math.sqrt(math.pi) * np.exp(-y * y))
    found = ts.compile(erfinv)(x) if compiled else erfinv(ts.from_numpy(x))
    assert (np.abs(np.asarray(found) - y) <= step + 4 * np.spacing(np.abs(y))).all()


def test_log_gamma_of_float32_is_rounded_once() -> None:
    """Short polynomials in float64 leave what is rounded to float32 as it is, zeros included."""
    near = [2 + t for t in np.linspace(-0.01, 0.01, 101)] + [
        1 + t for t in np.linspace(-0.01, 0.01, 101)
    ]
    x = np.concatenate([GAMMA, RNG.uniform(0, 9, 600), RNG.uniform(-9, 0, 600), near]).astype("f4")
    wanted = np.array([math.lgamma(float(v)) for v in x])
    found = np.asarray(ts.compile(lgamma)(x), "f8")
    unit = np.spacing(np.maximum(np.abs(wanted), 1e-3).astype("f4")).astype("f8")
    assert (np.abs(found - wanted) / unit).max() <= 2
