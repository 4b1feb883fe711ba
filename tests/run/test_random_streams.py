"""What is drawn after a seed: the numbers that PyTorch's CPU generator gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

Draw = Callable[[Any], Any]

DRAWS: dict[str, Draw] = {
    "bernoulli of floats": lambda t: t.bernoulli(t.full((20,), 0.4)),
    "bernoulli of doubles": lambda t: t.bernoulli(t.full((5,), 0.4, dtype=t.float64)),
    "bernoulli by a tensor": lambda t: t.zeros(5).bernoulli_(t.full((5,), 0.4)),
    "bernoulli by a number": lambda t: t.zeros(5).bernoulli_(0.4),
    "dropout": lambda t: t.nn.functional.dropout(t.ones(9), 0.3),
    "alpha dropout": lambda t: t.nn.functional.alpha_dropout(t.ones(9), 0.3, training=True),
    "slopes": lambda t: t.nn.functional.rrelu(t.arange(-4.0, 5), training=True),
    "geometric": lambda t: t.zeros(9).geometric_(0.3),
    "exponential": lambda t: t.zeros(5).exponential_(),
    "cauchy": lambda t: t.zeros(5).cauchy_(),
    "complex normal": lambda t: t.view_as_real(t.randn(20, dtype=t.complex64)),
    "complex uniform": lambda t: t.view_as_real(t.rand(5, dtype=t.complex128)),
    "multinomial": lambda t: t.multinomial(t.arange(1.0, 9), 5, True),
    "permutation": lambda t: t.randperm(10),
    "a generator": lambda t: t.randn(20, generator=t.Generator().manual_seed(7)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", DRAWS)
def test_streams_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for library in (ts, torch):
        library.manual_seed(4)
        drawn = DRAWS[name](library).flatten().tolist()
        found.append([*drawn, library.rand(1).item()])  # the state afterwards, too
    assert found[0] == pytest.approx(found[1], rel=1e-5, abs=1e-6)


def test_complex_normal_numbers_share_the_variance() -> None:
    ts.manual_seed(0)
    x = ts.randn(4000, dtype=ts.complex64)
    assert x.real.var().item() == pytest.approx(0.5, abs=0.05)
    assert x.imag.var().item() == pytest.approx(0.5, abs=0.05)
