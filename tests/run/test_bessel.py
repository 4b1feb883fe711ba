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
    """exp(-|x|) I, as the mean of so many angles that no rounding of float64 is left out; of small
    numbers, where what is added up cancels, by the series."""
    cosines = np.cos(8 * np.arctan(np.longdouble(1)) * np.arange(400) / 400)
    size = np.abs(x).astype(np.longdouble)
    mean = (np.exp(size[:, None] * (cosines - 1)) * cosines**order).mean(1)
    term = series = (size / 2) ** order
    for k in range(1, 30):
        term = term * (size / 2) ** 2 / (k * (k + order))
        series = series + term
    return np.where(size < 3, series * np.exp(-size), mean) * np.sign(x) ** order


def ulps(found: np.ndarray, wanted: np.ndarray) -> float:
    unit = np.spacing(np.abs(wanted).astype(found.dtype)).astype(np.longdouble)
    return float((np.abs(found - wanted) / unit).max())


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "native"])
@pytest.mark.parametrize(("kind", "most"), [(np.float32, 0.51), (np.float64, 5.5)])
@pytest.mark.parametrize("name", ["i0", "i1", "i0e", "i1e"])
def test_units_in_the_last_place_of_modified_ones(
    name: str, kind: type[np.floating], most: float, compiled: bool
) -> None:
    edges = [0.0, 1e-3, -3.0, 9.999, 10.0, 10.001, 1e-30]
    x = np.concatenate([edges, RNG.uniform(-80, 80, 500), RNG.uniform(0, 10, 500)]).astype(kind)
    order = int(name[1])
    wanted = modified(x, order)
    wanted = wanted if name.endswith("e") else wanted * np.exp(np.abs(x).astype(np.longdouble))
    f = getattr(ts.special, name)
    if compiled:
        found = ts.compile(ts.jit.trace(f, (ts.tensor(x),)), fallback="error")(ts.tensor(x))
    else:
        found = f(ts.tensor(x))
    assert ulps(found.numpy(), wanted) <= most


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "native"])
def test_modified_ones_at_their_edges(compiled: bool) -> None:
    x = ts.tensor([np.inf, -np.inf, np.nan, 0.0, 1e300], dtype=ts.float64)
    for name, wanted in (
        ("i0", (np.nan, np.nan, np.nan, 1, np.inf)), ("i1", (np.nan, np.nan, np.nan, 0, np.inf)),
        ("i0e", (0, 0, np.nan, 1, 0)), ("i1e", (0, 0, np.nan, 0, 0)),
    ):  # fmt: skip
        f = getattr(ts.special, name)
        found = ts.compile(ts.jit.trace(f, (x,)))(x) if compiled else f(x)
        np.testing.assert_allclose(found.numpy(), wanted, atol=1e-150)
