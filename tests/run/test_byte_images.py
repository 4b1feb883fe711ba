"""Images of bytes are resampled in fixed point: eager mode, machine code, next to PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts

BYTES = np.random.default_rng(3).integers(0, 256, (2, 3, 9, 13), np.uint8)
OPTIONS: list[dict[str, Any]] = [
    {"size": [5, 20], "mode": "bilinear"},
    {"size": [5, 20], "mode": "bilinear", "align_corners": True},
    {"scale_factor": [1.7, 0.6], "mode": "bicubic"},
    {"size": [4, 6], "mode": "bilinear", "antialias": True},
    {"size": [20, 5], "mode": "bicubic", "antialias": True},
    {"size": [7, 30], "mode": "lanczos", "antialias": True},
]
ALL = pytest.mark.parametrize("options", OPTIONS, ids=[str(sorted(o)) for o in OPTIONS])


def _eager(options: dict[str, Any]) -> np.ndarray:
    found: np.ndarray = ts.nn.functional.interpolate(ts.tensor(BYTES), **options).numpy()
    return found


@ALL
def test_eager_is_native(options: dict[str, Any]) -> None:
    x = ts.tensor(BYTES)
    traced = ts.jit.trace(lambda x: ts.nn.functional.interpolate(x, **options), (x,))
    native = ts.compile(traced, fallback="error", cache=False)
    np.testing.assert_array_equal(native(x).numpy(), _eager(options))


@pytest.mark.torch
@ALL
def test_eager_is_pytorch(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    expected = torch.nn.functional.interpolate(torch.from_numpy(BYTES.copy()), **options)
    np.testing.assert_array_equal(_eager(options), expected.numpy())


def test_a_cubic_overshoots_to_the_ends_of_the_range() -> None:
    step = ts.tensor([[[[0, 0, 255, 255]]]], dtype=ts.uint8)
    found = ts.nn.functional.interpolate(step, size=[1, 8], mode="bicubic")
    assert found.tolist() == [[[[0, 0, 0, 58, 197, 255, 255, 255]]]]
