"""Sizes, points and modes that no tensor has, next to PyTorch: the kind of error, the words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

torch: Any = pytest.importorskip("torch")

REFUSED: list[Callable[[Any], Any]] = [
    lambda m: m.ones(3).repeat(-1, 1),
    lambda m: m.ones(3).tile((2, -1)),
    lambda m: m.randint(3, (2, -1)),
    lambda m: m.randperm(-1),
    lambda m: m.ones(3).view(2, -2),
    lambda m: m.ones(3).reshape(-3),
    lambda m: m.fft.fft(m.ones(2, 0)),
    lambda m: m.fft.irfft(m.ones(1)),
    lambda m: m.tensor([1, "a"]),
    lambda m: m.tensor([["a"], ["b"]]),
    lambda m: m.ones(3).index_add(0, m.tensor([5]), m.ones(1)),
    lambda m: m.ones(3, 2).index_add(0, m.tensor([5]), m.ones(1, 2)),
    lambda m: m.linalg.ldl_solve(m.eye(2), m.tensor([3, 1], dtype=m.int32), m.ones(2, 1)),
    *(
        lambda m, k=k: m.nn.functional.interpolate(m.ones(1, 1, 4, 4), size=3, **k)
        for k in (
            {"mode": "linear"}, {"mode": "trilinear"}, {"mode": "lanczos"}, {"mode": "cubic"},
            {"mode": "area", "antialias": True},
            {"mode": "lanczos", "antialias": True, "align_corners": True},
        )
    ),
    lambda m: m.nn.functional.interpolate(m.ones(2, 3), size=(3, 3)),
    lambda m: m.nn.functional.interpolate(m.ones(1, 1, 3), scale_factor=(2.0, 2.0)),
]  # fmt: skip


def _refusal(run: Callable[[Any], Any], library: Any) -> tuple[str, str]:
    kinds = NotImplementedError, IndexError, TypeError, ValueError, RuntimeError
    with pytest.raises(kinds) as caught:
        run(library)
    kind = next(k for k in kinds if isinstance(caught.value, k))
    return kind.__name__, str(caught.value).partition("\n")[0]


@pytest.mark.torch
@pytest.mark.parametrize("run", REFUSED)
def test_refused_as_pytorch_refuses(run: Callable[[Any], Any]) -> None:
    assert _refusal(run, ts) == _refusal(run, torch)
