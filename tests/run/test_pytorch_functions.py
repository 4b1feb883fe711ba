"""Functions that PyTorch writes in Python, in programs that import PyTorch: what its compiler takes
for operators, for overloads and for pairs chosen by a flag gives the same when we compile it, also
after PyTorch has compiled it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

torch = pytest.importorskip("torch")
F = torch.nn.functional


def norm_of_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.norm(x, dim=1)


def norm_of_all(x: torch.Tensor) -> torch.Tensor:
    return torch.norm(x)


def contracted(x: torch.Tensor) -> torch.Tensor:
    return torch.tensordot(x, x.t(), dims=([1], [0]))


def contracted_once(x: torch.Tensor) -> torch.Tensor:
    return torch.tensordot(x, x.t(), dims=1)


def distances(x: torch.Tensor) -> torch.Tensor:
    return torch.cdist(x, x)


def spectrum(x: torch.Tensor) -> torch.Tensor:
    return torch.stft(x, 4, return_complex=True).abs()


def signal(x: torch.Tensor) -> torch.Tensor:
    return torch.istft(torch.stft(x, 4, return_complex=True), 4)


def values(x: torch.Tensor) -> torch.Tensor:
    return torch.unique(x)


def values_and_places(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    found, places = torch.unique(x, return_inverse=True)
    return found, places


def runs(x: torch.Tensor) -> torch.Tensor:
    return torch.unique_consecutive(x)


def twice(x: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x[None], scale_factor=2.0)


def smooth(x: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x[None, None], size=[8, 8], mode="bilinear", align_corners=False)


def of_size(x: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x[None], size=8)


def pooled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    found, places = F.max_pool1d(x[None], 2, return_indices=True)
    return found, places


PROGRAMS = (
    norm_of_rows, norm_of_all, contracted, contracted_once, distances, spectrum, signal, values,
    values_and_places, runs, twice, smooth, of_size, pooled,
)  # fmt: skip


def _arrays(value: Any) -> list[np.ndarray]:
    return [np.asarray(part) for part in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore")
def test_equals_pytorch_after_it_has_compiled(program: Callable[..., Any]) -> None:
    x = np.random.default_rng(3).normal(size=(4, 16)).astype("f4")
    for _ in range(2):
        theirs = _arrays(torch.jit.script(program)(torch.from_numpy(x)))
        for ours in (ts.jit.script(program), ts.compile(program, [x], fallback="error")):
            found = _arrays(ours(ts.from_numpy(x)))
            for a, b in zip(found, theirs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
