"""Are the second factors of a batch of products packed once, where they are constants?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn


class Products(nn.Module):
    """A product for each of eight matrices of weights, which lie either way."""

    def __init__(self, rows: int, columns: int, turned: bool) -> None:
        super().__init__()
        shape = (8, columns, rows) if turned else (8, rows, columns)
        self.weight = nn.Parameter(ts.randn(shape))
        self.turned = turned

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        weight = self.weight.transpose(1, 2) if self.turned else self.weight
        return ts.relu(ts.bmm(x, weight))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("depth", "columns"), [(64, 96), (600, 70), (33, 41)])
@pytest.mark.parametrize("rows", [32, 40])
def test_products(rows: int, depth: int, columns: int, turned: bool) -> None:
    module = Products(depth, columns, turned)
    x = np.random.default_rng(rows).standard_normal((8, rows, depth)).astype("f4")
    compiled = ts.compile(module, (x,), fallback="error", cache=False)
    wanted = x.astype("f8") @ weights(module).astype("f8")
    np.testing.assert_allclose(compiled(x), np.maximum(wanted, 0), rtol=0, atol=3e-4)
    text = compiled.ir("scheduled")
    assert "_yp" in text and f"f32[8, {columns}, {depth}]" not in text


def weights(module: Any) -> np.ndarray:
    found: np.ndarray = module.weight.detach().numpy()
    return found.swapaxes(1, 2) if module.turned else found


def test_weights_that_change_are_packed_by_product() -> None:
    def program(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
        return ts.bmm(x, w)

    random = np.random.default_rng(0)
    x, w = (random.standard_normal(s).astype("f4") for s in ((6, 50, 80), (6, 80, 70)))
    compiled = ts.compile(program, (x, w), fallback="error", cache=False)
    np.testing.assert_allclose(compiled(x, w), x @ w, rtol=0, atol=1e-4)
    assert "yp" not in compiled.ir("scheduled").split("out o0")[0]
