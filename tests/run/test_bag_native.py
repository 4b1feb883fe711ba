"""Embedding bags in machine code, of bags of several sizes, next to the eager kernel."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_several_sizes(mode: str) -> None:
    bags = ts.nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2)
    indices = ts.tensor([1, 2, 5, 0, 0, 2, 4])
    run = ts.compile(bags, fallback="error")
    for offsets in ([0, 2, 2, 5], [0, 7], [0]):
        want = bags(indices, ts.tensor(offsets))
        got = run(indices, ts.tensor(offsets))
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-6)
