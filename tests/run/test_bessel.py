"""Bessel functions J and Y of orders 0 and 1: PyTorch's rationals, eager and native."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts

NAMES = ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")
EDGES = (0.0, -0.0, 1e-7, -1e-7, -2.0, 5.0, np.inf, -np.inf, np.nan, 1e200, 1e-300)
RNG = np.random.default_rng(0)
SAMPLES = np.concatenate([EDGES, RNG.uniform(0, 6, 500), RNG.uniform(0, 60, 500)])
# What PyTorch 2.13 answers in float64; the series of J0(3) begins -0.26005195490193345.
ANSWERS = dict(zip(NAMES, (
    (-0.2600519549074645, -0.006844032739174986, 0.007366890584236952),
    (0.3390589585282922, -0.3414382146061456, 0.126038318037585),
    (0.3768500100184375, -0.3394805932433183, 0.12593641705826097),
    (0.32467442479622594, -0.023758610827091027, -0.005793505821549509),
), strict=True))  # fmt: skip


def near(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal at edges, else to some steps of float64 at 1."""
    np.testing.assert_allclose(found, wanted, rtol=2e-15, atol=2e-15)


@pytest.mark.parametrize("name", NAMES)
def test_answers_of_pytorch(name: str) -> None:
    found = getattr(ts.special, name)(ts.tensor([3.0, 5.5, 40.0], dtype=ts.float64))
    near(found.numpy(), np.array(ANSWERS[name]))


@pytest.mark.parametrize("name", NAMES)
def test_native_code_computes_the_same(name: str) -> None:
    f = getattr(ts.special, name)
    x = ts.tensor(SAMPLES)
    traced = ts.jit.trace(f, (x,))
    near(ts.compile(traced)(x).numpy(), f(x).numpy())


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_pytorch_computes_the_same(name: str) -> None:
    torch = pytest.importorskip("torch")
    wanted = getattr(torch.special, name)(torch.from_numpy(SAMPLES)).numpy()
    near(getattr(ts.special, name)(ts.tensor(SAMPLES)).numpy(), wanted)


def modified(x: np.ndarray, order: int) -> np.ndarray:
    """exp(-|x|) I, as the mean of so many angles that no rounding of float64 is left out."""
    cosines = np.cos(2 * np.pi * np.arange(400) / 400, dtype=np.longdouble)
    size = np.abs(x).astype(np.longdouble)[:, None]
    found = (np.exp(size * (cosines - 1)) * cosines**order).mean(1)
    return np.asarray(found * np.sign(x) ** order, np.float64)


@pytest.mark.parametrize(("name", "order"), [("i0e", 0), ("i1e", 1)])
def test_modified_ones_are_means_over_angles(name: str, order: int) -> None:
    x = np.concatenate([[0.5, -3.0, 29.99, 30.01], RNG.uniform(-60, 60, 500)])
    f = getattr(ts.special, name)
    traced = ts.jit.trace(f, (ts.tensor(x),))
    native = ts.compile(traced, fallback="error")(ts.tensor(x))
    for found in (native, f(ts.tensor(x))):  # near 0 what is added up cancels
        np.testing.assert_allclose(found.numpy(), modified(x, order), rtol=5e-15, atol=2e-16)
