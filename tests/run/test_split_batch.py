"""Do models give the same numbers where their images go one by one through a loop?"""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn


class Forked(nn.Module):
    """A residual, two results, and one that mixes images."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, 2, 1)
        self.filter = nn.Conv2d(16, 16, 3, 1, 1, groups=16)
        self.last = nn.Conv2d(16, 4, 1)

    def forward(self, x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
        y = ts.relu(self.first(x))
        z = y + self.filter(y)
        w = self.last(z)
        return w, z.mean([2, 3]), w - w.mean(0)


def plain(x: ts.Tensor) -> ts.Tensor:
    for _ in range(3):
        x = ts.nn.functional.avg_pool2d(ts.nn.functional.pad(x, (1, 1, 1, 1)), 3, 1)
        x = x / x.abs().amax([1, 2, 3], keepdim=True)
    return x.sum(3)


@pytest.mark.parametrize("threads", [1, 2])
def test_images_go_one_by_one(threads: int) -> None:
    model = Forked().eval()
    x = np.random.default_rng(0).standard_normal((6, 3, 144, 144)).astype("f4")
    compiled = ts.compile(model, (x,), fallback="error")
    assert "tg.loop" in compiled.ir("kernels")
    before = ts.get_num_threads()
    ts.set_num_threads(threads)
    try:
        results = compiled(x)
    finally:
        ts.set_num_threads(before)
    for got, wanted in zip(results, model(ts.from_numpy(x)), strict=True):
        np.testing.assert_allclose(got, wanted.numpy(), rtol=2e-5, atol=2e-6)


def test_reductions_of_an_image_stay_in_its_turn() -> None:
    x = np.random.default_rng(1).standard_normal((4, 8, 200, 201)).astype("f4")
    compiled = ts.compile(plain, (x,), fallback="error")
    wanted = plain(ts.from_numpy(x)).numpy()
    np.testing.assert_allclose(compiled(x), wanted, rtol=2e-5, atol=1e-5)


def spans(x: ts.Tensor) -> ts.Tensor:
    return (x.amax(1) - x.amin(1)).sqrt()


def test_rows_are_no_images() -> None:
    """What a turn of the loop costs is more than it saves where an image is a few numbers."""
    x = np.random.default_rng(1).standard_normal((400_000, 3)).astype("f4")
    compiled = ts.compile(spans, (x,), fallback="error")
    assert "tg.loop" not in compiled.ir("kernels")
    np.testing.assert_allclose(compiled(x), np.sqrt(x.max(1) - x.min(1)), rtol=1e-6)
