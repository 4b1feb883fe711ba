"""grid_sample far outside of an image, and at places that are no numbers, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts

PLACES = (1e30, float("nan"), -1e30, float("inf"), 5e7, -3.3, 2.7)
WAYS = [(n, mode, padding, align)
        for n, modes in ((2, ("bilinear", "nearest", "bicubic")), (3, ("bilinear", "nearest")))
        for mode in modes for padding in ("zeros", "border", "reflection")
        for align in (False, True)]  # fmt: skip
FAR = {(3, mode, "reflection", False) for mode in ("bilinear", "nearest")}
"""Natively a volume is mirrored by whole turns, which far away rounds in another way."""


@pytest.mark.parametrize(("n", "mode", "padding", "align"), WAYS)
def test_far_places(n: int, mode: str, padding: str, align: bool) -> None:
    torch = pytest.importorskip("torch")
    image = np.arange(3.0**n, dtype=np.float32).reshape(1, 1, *[3] * n)
    grid = np.array([[p, *[0.3] * (n - 1)] for p in PLACES], np.float32)
    grid = grid.reshape(1, *[1] * (n - 1), len(PLACES), n)

    def sampled(x: Any, g: Any) -> Any:
        return ts.nn.functional.grid_sample(x, g, mode, padding, align)

    wanted = torch.nn.functional.grid_sample(
        torch.from_numpy(image), torch.from_numpy(grid), mode, padding, align
    )
    given = ts.from_numpy(image), ts.from_numpy(grid)
    traced = ts.jit.trace(sampled, given, check_trace=False)
    native = ts.compile(traced, fallback="error", cache=False)
    near = slice(5 if (n, mode, padding, align) in FAR else 0, None)
    for found, part in ((sampled(*given), slice(None)), (native(*given), near)):
        np.testing.assert_allclose(
            found.numpy()[..., part], wanted.numpy()[..., part], rtol=1e-5, atol=1e-5
        )
