"""Which rows are asked for while others are computed, and does that change nothing?"""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_rows_ahead import LINUX, Program, logsumexp, softmax

import tensorscript as ts

F = ts.nn.functional


def layer_norm(x: ts.Tensor) -> ts.Tensor:
    return F.layer_norm(x, (x.size(-1),))


def variance(x: ts.Tensor) -> ts.Tensor:
    return x.var(-1)


def total(x: ts.Tensor) -> ts.Tensor:
    return x.sum(-1)


def greatest(x: ts.Tensor) -> ts.Tensor:
    return x.amax(-1)


def deviation(x: ts.Tensor) -> ts.Tensor:
    return (x - x.amax(-1, True)).abs().sum(-1)


def of_the_sum(x: ts.Tensor) -> ts.Tensor:
    return F.layer_norm(x + x.flip(0), (x.size(-1),))


@pytest.mark.parametrize(
    ("program", "shape", "dtype", "distance"),
    [
        (layer_norm, (8192, 512), ts.float32, 2048),  # four rows
        (layer_norm, (128, 512), ts.float32, 2048),
        (layer_norm, (200, 384), ts.float32, 2304),  # whole rows
        (layer_norm, (40, 512), ts.float32, None),  # lies in the first cache
        (layer_norm, (4096, 64), ts.float32, None),  # short
        (variance, (512, 512), ts.float64, 1024),
        (variance, (64, 3000), ts.float32, 2048),  # within the row
        (variance, (16, 20000), ts.float32, None),  # by parts, each of which is read on and on
        (logsumexp, (1024, 1024), ts.float32, 2048),
        (softmax, (1024, 1024), ts.float32, None),  # its maxima are looked for ahead
        (total, (1024, 1024), ts.float32, 512),  # reads all the time, from beyond the second cache
        (total, (1024, 1024), ts.float64, 256),
        (total, (256, 1024), ts.float32, None),  # lies in the second cache
        (total, (1 << 20,), ts.float32, 512),
        (greatest, (1024, 1024), ts.float32, 512),
        (deviation, (1024, 1024), ts.float32, 2048),  # the second pass asks for the next row
    ],
)
def test_what_is_asked_for(
    program: Program, shape: tuple[int, ...], dtype: ts.dtype, distance: int | None
) -> None:
    compiled = ts.compile(
        program, (ts.TensorSpec(shape, dtype),), target=LINUX, cpu="x86-64-v4", fallback="error"
    )
    steps = json.loads(compiled.ir("schedule"))["kernels"]["k0"]
    found = [step[2:] for step in steps if step[0] == "prefetch"]
    assert found == ([] if distance is None else [["p0", distance]])


@pytest.mark.parametrize("program", [layer_norm, logsumexp, variance, of_the_sum, total, greatest])
@pytest.mark.parametrize("shape", [(97, 513), (256, 300), (3, 20000), (700, 1001)])
def test_results_are_the_same(program: Program, shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    made = ts.compile(program, (x,), fallback="error")(x)
    np.testing.assert_allclose(made, np.asarray(program(ts.from_numpy(x))), rtol=2e-5, atol=2e-5)
