"""Adaptive pooling of images of every size: one kernel, against eager mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn

F = nn.functional


def mean_of_all(x: ts.Tensor) -> ts.Tensor:
    return F.adaptive_avg_pool2d(x, 1)


def means(x: ts.Tensor) -> ts.Tensor:
    return F.adaptive_avg_pool2d(x, [3, 2])


def largest(x: ts.Tensor) -> ts.Tensor:
    return F.adaptive_max_pool2d(x, [3, 1])


PROGRAMS: tuple[Callable[[ts.Tensor], ts.Tensor], ...] = (mean_of_all, means, largest)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_one_kernel_for_every_size(program: Callable[[ts.Tensor], ts.Tensor]) -> None:
    spec = ts.TensorSpec(("B", 2, "H", "W"), ts.float32)
    compiled = ts.compile(program, (spec,), cache=False, fallback="error")
    for shape in ((2, 2, 6, 4), (3, 2, 7, 5), (2, 2, 2, 9), (2, 2, 16, 3)):
        x = np.random.default_rng(shape[2]).standard_normal(shape, np.float32)
        wanted = program(ts.from_numpy(x)).numpy()
        np.testing.assert_allclose(compiled(x), wanted, rtol=1e-5, atol=1e-6)
    assert compiled.stats.is_native and len(compiled.stats.native) == 1
