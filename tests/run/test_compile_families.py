"""Native code of the smaller operator families, nothing interpreted, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorscript.base.errors import UserError
from tensorscript.compiler.api import compile as compile_

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(7)


def array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, dtype=np.float32)


def median(x):  # type: ignore[no-untyped-def]  # unannotated is Tensor in script
    return torch.median(x, 1)


def running_maximum(x):  # type: ignore[no-untyped-def]
    return torch.cummax(x, 1)


def third_smallest(x):  # type: ignore[no-untyped-def]
    return torch.kthvalue(x, 3, 1)


def distances(x, y):  # type: ignore[no-untyped-def]
    return torch.cdist(x, y)


def similarity(x, y):  # type: ignore[no-untyped-def]
    return torch.cosine_similarity(x, y)


def quarter_turn(x):  # type: ignore[no-untyped-def]
    return torch.rot90(x, 1, [0, 1])


def kronecker(x, y):  # type: ignore[no-untyped-def]
    return torch.kron(x, y)


def largest_in_bins(x):  # type: ignore[no-untyped-def]
    return torch.nn.functional.adaptive_max_pool2d(x, [2, 3])


def sampled(x, grid):  # type: ignore[no-untyped-def]
    return torch.grid_sampler(x, grid, 0, 1, False)


def larger(x, y):  # type: ignore[no-untyped-def]
    return torch.fmax(x, y)


def sliding(x):  # type: ignore[no-untyped-def]
    return torch.nn.functional.unfold(x, [2, 2])


def on_diagonals(x):  # type: ignore[no-untyped-def]
    return torch.diag_embed(x)


def scattered(x, index, source):  # type: ignore[no-untyped-def]
    return torch.scatter_reduce(x, 0, index, source, "amax")


def strided(x, w, c):  # type: ignore[no-untyped-def]
    return torch.conv2d(x, w, c, [2, 1], [1, 2], [1, 1], 2)


def spread_out(x, w):  # type: ignore[no-untyped-def]
    return torch.conv_transpose2d(x, w, None, [2, 2], [1, 1], [1, 1])


def taken(x, index):  # type: ignore[no-untyped-def]
    return torch.take(x, index)


def chosen(x):  # type: ignore[no-untyped-def]
    """Short rows of three dimensions with a check of the places behind them."""
    y = x.softmax(-1)
    place = y.max(-1, keepdim=True)[1]
    return torch.zeros_like(y).scatter_(-1, place, 1.0) - y


def turned(x):  # type: ignore[no-untyped-def]
    """Pairs of numbers as complex ones, seen through sizes of 1."""
    heads = x.view(x.size(0), x.size(1), 2, 4).transpose(1, 2)
    pairs = torch.view_as_complex(heads.reshape(x.size(0), 2, x.size(1), 2, 2))
    return torch.view_as_real(pairs * 1j).flatten(3)


CASES: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = [
    (median, (array(4, 7),)),
    (running_maximum, (array(4, 7),)),
    (third_smallest, (array(4, 7),)),
    (distances, (array(5, 8), array(6, 8))),
    (similarity, (array(4, 9), array(4, 9))),
    (quarter_turn, (array(3, 4),)),
    (kronecker, (array(3, 4), array(2, 3))),
    (largest_in_bins, (array(1, 3, 5, 7),)),
    (sampled, (array(1, 2, 5, 5), array(1, 4, 4, 2) / 2)),
    (larger, (array(9), array(9))),
    (sliding, (array(1, 2, 5, 5),)),
    (on_diagonals, (array(2, 3),)),
    (scattered, (array(4, 3), RANDOM.integers(0, 4, (4, 3)), array(4, 3))),
    (strided, (array(2, 4, 9, 8), array(6, 2, 3, 3), array(6))),
    (spread_out, (array(1, 4, 5, 6), array(4, 3, 3, 3))),
    (taken, (array(2, 3), np.array([0, -1, 4]))),
    (chosen, (array(2, 3, 8),)),
    (turned, (array(1, 3, 8),)),
    (turned, (array(2, 1, 8),)),
]


def leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, list | tuple):
        return [a for v in value for a in leaves(v)]
    return [np.asarray(value)]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_native(case: tuple[Callable[..., Any], tuple[np.ndarray, ...]]) -> None:
    fn, arguments = case
    got = leaves(compile_(fn, fallback="error", cache=False)(*arguments))
    expected = leaves(fn(*map(torch.from_numpy, arguments)))
    for left, right in zip(got, expected, strict=True):
        assert left.dtype == right.dtype
        # Each element is a short sum of products of numbers of size 1.
        size = max(a.size for a in arguments)
        np.testing.assert_allclose(left, right, rtol=size * 2.0**-22, atol=size * 2.0**-22)


def test_a_position_out_of_range_stops_the_program() -> None:
    with pytest.raises(UserError, match="out of range"):
        compile_(taken, fallback="error", cache=False)(array(2, 3), np.array([6]))
