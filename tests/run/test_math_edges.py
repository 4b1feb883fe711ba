"""Zeros, infinities, NaN, subnormals and large arguments of the math library."""

from __future__ import annotations

import numpy as np
import pytest
from math_measure import evaluate
from numpy.typing import NDArray

import tensorscript as ts
from tensorscript.backends.target import Target, host

UNARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint, "sqrt": np.sqrt,
}  # fmt: skip
ERFC = (
    (0.0, 1.0), (-0.0, 1.0), (np.inf, 0.0), (-np.inf, 2.0), (np.nan, np.nan), (1e-45, 1.0),
    (-1e-45, 1.0), (3e38, 0.0), (-3e38, 2.0), (1.0, 0.15729920705028513), (-6.0, 2.0),
    (10.05, 1.4e-45), (10.0625, 0.0), (9.3125, 1.3083347896252231e-39),
)  # fmt: skip
ERFINV = (
    (0.0, 0.0), (-0.0, -0.0), (1.0, np.inf), (-1.0, -np.inf), (1.5, np.nan), (-np.inf, np.nan),
    (np.inf, np.nan), (np.nan, np.nan), (1e-38, 8.862269254527581e-39), (0.5, 0.4769362762044699),
    (-0.5, -0.4769362762044699),
)  # fmt: skip
GELU = (
    (0.0, 0.0), (-0.0, -0.0), (np.inf, np.inf), (-np.inf, np.nan), (np.nan, np.nan), (3e38, 3e38),
    (-3e38, -0.0), (1e-45, 0.0), (-1e-45, -0.0), (1.0, 0.8413447460685429),
    (-1.0, -0.15865525393145707), (100.0, 100.0), (-100.0, -0.0), (5.75, 5.749999974),
)  # fmt: skip
BINARY = {"pow": np.power, "atan2": np.arctan2, "fmod": np.fmod}
SPECIAL = (
    0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, -1e-45, 3e38, -3e38, 0.5, -2.0, 1e10,
    -1e22, 1e30,
)  # fmt: skip
PAIRS = (
    0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, 1e20, -7.0,
)  # fmt: skip
BY_TABLES = (
    "exp", "exp2", "sigmoid", "tanh", "gelu", "erf", "erfc", "erfinv", "log", "log2", "log10",
    "asin", "acos", "rsqrt",
)  # fmt: skip
KINDS = {"f32": np.float32, "f64": np.float64}


def agree(got: NDArray[np.floating], wanted: NDArray[np.floating], absolutely: float = 0.0) -> None:
    with np.errstate(all="ignore"):
        rounded = wanted.astype(got.dtype)
    tolerance = 8 * np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, rounded, rtol=float(tolerance), atol=absolutely)
    number = ~np.isnan(rounded)
    assert (np.signbit(got) == np.signbit(rounded))[number].all()


@pytest.mark.parametrize("target", [None, host()], ids=["plain", "host"])
@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("fn", sorted(UNARY))
def test_special_values(fn: str, dtype: str, lanes: int, target: Target | None) -> None:
    x = np.array(SPECIAL, KINDS[dtype])
    # The references of large sin, cos and tan are exact in float64 only.
    wide = np.float64 if fn in ("sin", "cos", "tan") else np.longdouble
    with np.errstate(all="ignore"):
        wanted = UNARY[fn](x.astype(wide))
    agree(evaluate(fn, dtype, x, lanes=lanes, target=target), wanted)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_gelu_at_its_edges(dtype: str, lanes: int) -> None:
    """An infinite argument times the weight 0 is NaN, and a finite one a zero of its sign."""
    x, wanted = np.array(GELU, np.float32).T
    got = evaluate("gelu", dtype, x.astype(KINDS[dtype]), lanes=lanes).astype(np.float32)
    agree(got, wanted)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("target", [None, host()], ids=["plain", "host"])
def test_erfc_at_its_edges(target: Target | None, lanes: int) -> None:
    """1 at a zero of either sign; what is less than a normal number is right to a last place."""
    x, wanted = np.array(ERFC, np.float32).T
    agree(evaluate("erfc", "f32", x, lanes=lanes, target=target), wanted, 1.5e-45)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("target", [None, host()], ids=["plain", "host"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_erfinv_at_its_edges(dtype: str, target: Target | None, lanes: int) -> None:
    x, wanted = np.array(ERFINV, KINDS[dtype]).T
    agree(evaluate("erfinv", dtype, x, lanes=lanes, target=target), wanted, 1.5e-45)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("fn", BY_TABLES)
def test_every_number_of_lanes_gives_the_same_bits(fn: str, dtype: str) -> None:
    """By the instructions of this machine; they are close to those of any other."""
    edges = np.linspace(-800, 800, 4001)
    x = np.concatenate([SPECIAL, edges, edges / 8, edges / 800]).astype(KINDS[dtype])
    one = evaluate(fn, dtype, x, lanes=1, target=host())
    for lanes in (2, 4, 8, 16, 40, 64):
        np.testing.assert_array_equal(evaluate(fn, dtype, x, lanes=lanes, target=host()), one)
    # The tail of gelu's distribution is precise by the measure of 1.
    absolutely = {("gelu", "f32"): 1e-7, ("gelu", "f64"): 2e-15, ("erfc", "f32"): 3e-45}.get(
        (fn, dtype), 0.0
    )
    agree(one, evaluate(fn, dtype, x, lanes=16), absolutely)


@pytest.mark.parametrize("lanes", [1, 8, 64])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_decay_is_exp_of_what_is_not_positive(dtype: str, lanes: int) -> None:
    edges = np.concatenate([SPECIAL, np.linspace(0, 800, 4001), [1e30]])
    x = -np.abs(edges).astype(KINDS[dtype])
    for target in (None, host()):
        got = evaluate("decay", dtype, x, lanes=lanes, target=target)
        np.testing.assert_array_equal(got, evaluate("exp", dtype, x, lanes=lanes, target=target))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_decay2_is_exp2_of_what_is_not_positive_or_0(dtype: str) -> None:
    least = {"f32": -126, "f64": -1022}[dtype]
    edges = np.concatenate([SPECIAL, np.linspace(0, 1200, 8001), np.arange(200) / 16, [1e30]])
    x = -np.abs(edges).astype(KINDS[dtype])
    for target in (None, host()):
        one = evaluate("decay2", dtype, x, lanes=1, target=target)
        agree(one, np.where(x < least, 0, np.exp2(x.astype(np.float64))))
        for lanes in (2, 8, 16, 64):
            got = evaluate("decay2", dtype, x, lanes=lanes, target=target)
            np.testing.assert_array_equal(got, one)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("fn", sorted(BINARY))
def test_pairs_of_special_values(fn: str, dtype: str, lanes: int) -> None:
    x, y = (grid.ravel().astype(KINDS[dtype]) for grid in np.meshgrid(PAIRS, PAIRS))
    with np.errstate(all="ignore"):
        wanted = BINARY[fn](x.astype(np.float64), y.astype(np.float64))
    agree(evaluate(fn, dtype, x, y, lanes=lanes), wanted)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_fmod_is_exact(dtype: str) -> None:
    rng = np.random.default_rng(1)
    reach = 120 if dtype == "f32" else 1000
    x, y = (
        (rng.uniform(1, 2, 2000) * np.exp2(rng.integers(-reach, reach, 2000))).astype(KINDS[dtype])
        for _ in range(2)
    )
    np.testing.assert_array_equal(evaluate("fmod", dtype, x, y), np.fmod(x, y))


def test_remainder_has_the_sign_of_the_divisor() -> None:
    x = np.array([5.5, -5.5, 5.5, -5.5, 4.0, -4.0], np.float32)
    y = np.array([2.0, 2.0, -2.0, -2.0, 2.0, 2.0], np.float32)
    np.testing.assert_array_equal(evaluate("remainder", "f32", x, y), np.mod(x, y))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_sine_of_large_arguments(dtype: str) -> None:
    rng = np.random.default_rng(2)
    reach = 127 if dtype == "f32" else 1023
    x = np.exp2(rng.uniform(10, reach, 4000)).astype(KINDS[dtype])
    for fn in ("sin", "cos"):
        agree(evaluate(fn, dtype, x), UNARY[fn](x.astype(np.float64)))


def hermite(x: ts.Tensor, n: ts.Tensor) -> ts.Tensor:
    return ts.special.hermite_polynomial_h(x, n)


def test_degrees_that_are_no_int64_give_zero() -> None:
    degree = ts.tensor([1e30, float("inf"), float("nan"), -(2.0**63), 2.0])
    x = ts.full((5,), 0.5)
    for run in (hermite, ts.compile(hermite, (x, degree), fallback="error")):
        assert run(x, degree).tolist() == [0, 0, 0, 0, -1]
