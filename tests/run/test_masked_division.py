"""Lanes that are off divide nothing by nothing, and what is there instead is not NaN."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.nn import functional as F


def padded(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return F.pad(x / y, [1, 1])


def shifted(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return F.pad(x / y, [3, -3])


def joined(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.cat([x / y, ts.zeros_like(x)], -1)


def lower(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return (x / y).tril()


@pytest.mark.parametrize("run", [padded, shifted, joined, lower])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", [3, 7, 8, 15, 16, 17, 30, 33])
def test_what_is_beside_quotients(
    run: Callable[[ts.Tensor, ts.Tensor], ts.Tensor], dtype: str, length: int
) -> None:
    random = np.random.default_rng(length)
    x = random.standard_normal((4, 7, length)).astype(dtype)
    y = random.uniform(1, 2, (7, length)).astype(dtype)
    native = ts.compile(run, (x, y), fallback="error", cache=False)
    wanted = np.asarray(run(ts.from_numpy(x), ts.from_numpy(y)))
    np.testing.assert_allclose(native(x, y), wanted, 1e-6)
