"""Counts of numbers, natively as eager mode has them."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
import pytest

import tensorscript as torch
from tensorscript import jit

PICKS = torch.tensor([1, 5, 5, 0, 2, 1])
WEIGHTS = torch.tensor([0.5, 1.0, 2.0, -1.0, 0.25, 4.0])


def counted(
    x: torch.Tensor,
    weights: Optional[torch.Tensor] = None,  # noqa: UP045 - as programs write
    least: int = 0,
) -> torch.Tensor:
    return torch.bincount(x, weights, least)


@pytest.mark.parametrize("least", [0, 4, 9])
@pytest.mark.parametrize("weights", [None, WEIGHTS, torch.tensor([1, 2, 3, 4, 5, 6])])
def test_bincount(least: int, weights: Any) -> None:
    compiled = torch.compile(jit.script(counted), fallback="error")
    for x in (PICKS, PICKS * 3):
        found, wanted = compiled(x, weights, least), counted(x, weights, least)
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)
        assert found.dtype is wanted.dtype and found.shape == wanted.shape
    if weights is None:
        assert compiled(PICKS[:0], None, least).tolist() == [0] * least
        with pytest.raises(torch.TensorScriptError, match="non-negative"):
            compiled(-PICKS, None, least)


def binned(x: torch.Tensor) -> torch.Tensor:
    return torch.histc(x, 4)


@pytest.mark.parametrize("end", ["inf", "-inf", "nan"])
def test_bins_need_finite_ends(end: str) -> None:
    for run in (binned, torch.compile(binned, fallback="error")):
        with pytest.raises(RuntimeError, match="is not finite"):
            run(torch.tensor([1.0, float(end), 2.0]))
