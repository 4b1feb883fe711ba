"""Do pools whose windows are combined by rows first give what eager mode gives?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
import tensorscript.nn.functional as F


def greatest(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(F.relu(x), 3, 2, 1)


def greatest_of_tall(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(x, (5, 3), 1, (2, 1), 1, True)


def greatest_of_distant(x: ts.Tensor) -> ts.Tensor:
    return F.max_pool2d(x, 3, 2, 0, 2, True)


def means(x: ts.Tensor) -> ts.Tensor:
    return F.avg_pool2d(x, 3, 1, 1, False, False)


@pytest.mark.parametrize("width", [9, 16, 31, 64, 70, 129, 300])
@pytest.mark.parametrize("program", [greatest, greatest_of_tall, greatest_of_distant, means])
def test_pools(program: Any, width: int) -> None:
    x = np.random.default_rng(width).standard_normal((2, 12, width)).astype("f4")
    if program is not means:
        x.flat[5] = np.nan
        x[:, :, :4] -= 10
    compiled = ts.compile(program, (x,), fallback="error")
    wanted = program(ts.from_numpy(x)).numpy()
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-5, atol=1e-6)


def test_short_rows_stay_in_registers() -> None:
    compiled = ts.compile(greatest, (np.zeros((2, 12, 112), "f4"),), fallback="error")
    assert compiled.ir("kernels").count("tg.reduce") == 2
    assert compiled.ir("te").count("te.func") == 2  # one kernel, and the host's
