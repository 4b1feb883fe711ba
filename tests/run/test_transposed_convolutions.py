"""Are transposed convolutions right, whether their phases lie in one grid or each in its own?"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import tensorscript as ts

LAYERS = {2: ts.nn.ConvTranspose1d, 3: ts.nn.ConvTranspose2d, 4: ts.nn.ConvTranspose3d}


def reference(layer: ts.nn.Module, x: np.ndarray) -> np.ndarray:
    """Every element of the input, times the kernel, added where it is spread to; in float64."""
    w, b = (p.detach().numpy().astype("f8") for p in (layer.weight, layer.bias))
    kernel, stride, pad, more = w.shape[2:], layer.stride, layer.padding, layer.output_padding
    sizes = [
        (n - 1) * s + k for n, s, k in zip(x.shape[2:], stride, kernel, strict=True)
    ]  # before the padding is cut off
    groups, per = layer.groups, w.shape[0] // layer.groups
    full = np.zeros((x.shape[0], b.size, *(n + m for n, m in zip(sizes, more, strict=True))))
    for g, tap in product(range(groups), product(*map(range, kernel))):
        part = np.einsum(
            "nc...,co->no...",
            x[:, g * per : (g + 1) * per].astype("f8"),
            w[(slice(g * per, (g + 1) * per), slice(None), *tap)],
        )
        places = tuple(
            slice(t, t + s * (n - 1) + 1, s)
            for t, s, n in zip(tap, stride, x.shape[2:], strict=True)
        )
        full[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1]), *places)] += part
    cut = tuple(slice(p, n - p) for p, n in zip(pad, full.shape[2:], strict=True))
    return full[(slice(None), slice(None), *cut)] + b.reshape(-1, *[1] * len(kernel))


CASES = [
    # (shape, results, kernel, stride, padding, more of the output, groups)
    ((1, 24, 4, 4), 32, 4, 2, 1, 0, 1),
    ((2, 17, 5, 3), 20, 3, 2, 1, 1, 1),
    ((1, 16, 4, 5), 48, 5, 3, 2, 0, 1),
    ((1, 16, 4, 4), 64, 4, 2, 1, 0, 2),
    ((1, 12, 6, 6), 32, 2, 2, 0, 0, 1),
    ((1, 8, 7, 7), 3, 4, 2, 1, 0, 1),
    ((2, 32, 9), 24, 16, 8, 4, 0, 1),
    ((1, 20, 6), 16, 2, 3, 1, 2, 1),
    ((1, 16, 3, 2, 4), 16, 4, 2, 1, 1, 1),
    ((1, 48, 30, 30), 16, 4, 2, 1, 0, 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layers(case: tuple[tuple[int, ...], int, int, int, int, int, int]) -> None:
    shape, results, kernel, stride, padding, more, groups = case
    layer = LAYERS[len(shape) - 1](shape[1], results, kernel, stride, padding, more, groups).eval()
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    wanted = reference(layer, x)
    found = ts.compile(layer, (x,), fallback="error")(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_phases_of_small_images_have_grids_of_their_own() -> None:
    """Sixteen places each, not the twenty-five that hold all of them; weights packed before."""
    layer = ts.nn.ConvTranspose2d(64, 32, 4, 2, 1).eval()
    compiled = ts.compile(layer, (np.zeros((1, 64, 4, 4), "f4"),), fallback="error")
    text = compiled.ir("scheduled")
    assert "f32[1, 32, 2, 2, 4, 4]" in text
    assert "te.alloc stack weights" not in text


def test_weights_of_groups_are_packed_before() -> None:
    layer = ts.nn.Conv2d(96, 96, 5, padding=2, groups=2).eval()
    text = ts.compile(layer, (np.zeros((1, 96, 13, 13), "f4"),), fallback="error").ir("scheduled")
    assert "te.alloc stack weights" not in text
