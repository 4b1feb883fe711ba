"""Programs along a dimension in the middle: one kernel across the last ones, the same results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from thread_count import threads_of

import tensorscript as ts

F = ts.nn.functional
Program = Callable[[ts.Tensor], ts.Tensor]


def softmax(x: ts.Tensor) -> ts.Tensor:
    return x.softmax(-3)


def log_softmax(x: ts.Tensor) -> ts.Tensor:
    return x.log_softmax(-3)


def centered(x: ts.Tensor) -> ts.Tensor:
    return x - x.mean(-3, keepdim=True)


def normalized(x: ts.Tensor) -> ts.Tensor:
    return F.normalize(x, dim=-3)


def channel_norm(x: ts.Tensor) -> ts.Tensor:
    mean = x.mean(-3, keepdim=True)
    square = (x - mean).pow(2).mean(-3, keepdim=True)
    return (x - mean) / ts.sqrt(square + 1e-6)


def with_lower_rank(x: ts.Tensor) -> ts.Tensor:
    return x - x.sum(-3).unsqueeze(-3)


def moved(x: ts.Tensor) -> ts.Tensor:
    """What reads another place of the last dimensions cannot share them."""
    return x / x.exp().sum(-3, keepdim=True).flip(-1)


def parts(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    """What stages hand over leaves the kernel, too."""
    top = x.amax(-3, keepdim=True)
    powers = (x - top).exp()
    return powers / powers.sum(-3, keepdim=True), top


PROGRAMS = [softmax, log_softmax, centered, normalized, channel_norm, with_lower_rank, moved, parts]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "shape",
    [(2, 21, 64, 64), (1, 5, 257, 259), (3, 200, 411, 1), (17, 60, 67), (2, 3, 4, 150, 151)],
)
def test_along_a_dimension_in_the_middle(
    program: Callable[..., ts.Tensor], shape: tuple[int, ...], threads: int
) -> None:
    x = np.random.default_rng(0).standard_normal(shape, "f4")
    x.flat[7], x.flat[-5] = np.inf, np.nan
    with threads_of(threads):
        found = ts.compile(program, (x,), fallback="error")(x)
    wanted = program(ts.from_numpy(x))
    for made, want in zip(*map(_as_tuple, (found, wanted)), strict=True):
        np.testing.assert_allclose(made, np.asarray(want), rtol=2e-5, atol=2e-5)


def _as_tuple(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(
    ("program", "shape", "kernels"),
    [
        (softmax, (8, 21, 64, 64), 1),
        (softmax, (1, 5, 512, 512), 1),
        (softmax, (21, 300, 300), 1),  # nothing before it
        (softmax, (2, 512, 300, 300), 4),  # lines that are too long
        (channel_norm, (1, 96, 56, 56), 1),
        (moved, (8, 21, 64, 64), 2),
    ],
)
def test_how_many_kernels(program: Program, shape: tuple[int, ...], kernels: int) -> None:
    made = ts.compile(program, (ts.TensorSpec(shape, ts.float32),), fallback="error")
    assert made.ir("kernels").count("tg.kernel") == kernels


@pytest.mark.parametrize("shape", [(64, 64, 64), (128, 32, 16), (64, 64, 8), (16, 100, 16)])
def test_lanes_go_along_what_lies_side_by_side(shape: tuple[int, ...]) -> None:
    """Not along the images, of which there are as many."""

    def along(x: ts.Tensor) -> ts.Tensor:
        return x.softmax(1)

    spec = ts.TensorSpec(shape, ts.float32)
    made = ts.compile(along, (spec,), target="x86_64-unknown-linux-gnu", cpu="x86-64-v4")
    text = made.ir("scheduled")
    assert "te.for i0 in" in text  # whole, not by lanes
    assert "i0_v" not in text


def test_schedules_of_a_gpu_know_no_last_dimensions() -> None:
    spec = ts.TensorSpec((8, 21, 64, 64), ts.float32)
    for target, count in (("ptx-emulate", 0), ("cpu", 1)):
        made = ts.compile(softmax, (spec,), target=target, fallback="error")
        assert made.ir("kernels").count("shared_last") == count
