"""Eager convolutions lay out their windows by parts where all together need much room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.eager.kernels import convolution

F = ts.nn.functional
CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "lines": (lambda x, w: F.conv1d(x, w, stride=2, padding=1), (2, 4, 9), (6, 4, 3)),
    "groups": (lambda x, w: F.conv2d(x, w, groups=2, dilation=2), (2, 4, 9, 7), (6, 2, 3, 2)),
    "volumes": (lambda x, w: F.conv3d(x, w), (1, 2, 4, 5, 3), (3, 2, 2, 2, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_by_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *shapes = CASES[name]
    ts.manual_seed(3)
    x, w = (ts.randn(shape) for shape in shapes)
    whole = program(x, w).numpy()
    products: list[int] = []
    product = convolution._product

    def counted(*arguments: Any) -> Any:
        products.append(1)
        return product(*arguments)

    monkeypatch.setattr(convolution, "_product", counted)
    monkeypatch.setattr(convolution, "_ROOM", 256)
    np.testing.assert_allclose(program(x, w).numpy(), whole, rtol=1e-5, atol=1e-6)
    assert len(products) > 1
