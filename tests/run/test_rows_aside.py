"""Are rows that are read several times out of memory copied, and only those?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.nn import functional as F


def layer_norm(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.layer_norm(x, (x.shape[-1],), w, w)


def rms_norm(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.rms_norm(x, (x.shape[-1],), w)


def softmax(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x.softmax(-1) * w


def total(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x.sum(-1) * w[0]


def arrays(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A tensor that begins between two cache lines, and weights."""
    random = np.random.default_rng(0)
    room = random.standard_normal(int(np.prod(shape)) + 32, "f4")
    start = -room.ctypes.data % 64 // 4 + 4
    x = room[start : start + int(np.prod(shape))].reshape(shape)
    return x, random.standard_normal(shape[-1], "f4")


def copied(program: Callable[..., ts.Tensor], shape: tuple[int, ...]) -> list[str]:
    """The buffers that the schedule copies."""
    steps = ts.compile(program, arrays(shape), fallback="error").ir("schedule").splitlines()
    return [line.split('"')[3] for line in steps if '["cache"' in line]


@pytest.mark.parametrize("shape", [(2560, 512), (5, 512, 512), (2561, 520)])
def test_norms_of_large_tensors(shape: tuple[int, ...]) -> None:
    x, w = arrays(shape)
    wide = x.astype("f8")
    centred = wide - wide.mean(-1, keepdims=True)
    squares = (wide * wide).mean(-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    for program, expected in (
        (layer_norm, centred / deviation * w + w),
        (rms_norm, wide / np.sqrt(squares + np.finfo("f4").eps) * w),
    ):
        compiled = ts.compile(program, (x, w), fallback="error")
        assert '["cache", "p0"' in compiled.ir("schedule")
        np.testing.assert_allclose(compiled(x, w), expected, rtol=1e-5, atol=1e-5)


def test_weights_are_copied_for_blocks_of_rows() -> None:
    assert copied(rms_norm, (2560, 512)) == ["p1", "p0"]
    assert copied(rms_norm, (2561, 520)) == ["p0"]


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (layer_norm, (512, 512)),  # lies in the second cache
        (layer_norm, (512, 4096)),  # a row fills the first one
        (softmax, (2560, 512)),  # is computed, not loaded
        (total, (2560, 512)),  # is read once
    ],
)
def test_others_are_read_where_they_lie(
    program: Callable[..., ts.Tensor], shape: tuple[int, ...]
) -> None:
    assert copied(program, shape) == []
