"""Are the maxima of rows found beside the powers of the rows before, and is each row its own?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from thread_count import threads_of

import tensorscript as ts


def softmax(x: ts.Tensor) -> ts.Tensor:
    return x.softmax(-1)


def log_softmax(x: ts.Tensor) -> ts.Tensor:
    return x.log_softmax(-1)


def logsumexp(x: ts.Tensor) -> ts.Tensor:
    return x.logsumexp(-1)


def deviation(x: ts.Tensor) -> ts.Tensor:
    return x.std(-1)


LINUX = "x86_64-unknown-linux-gnu"
Program = Callable[[ts.Tensor], ts.Tensor]


def expected(program: Program, x: np.ndarray) -> np.ndarray:
    wide = x.astype("f8")
    with np.errstate(invalid="ignore", divide="ignore"):
        high = wide.max(-1, keepdims=True)
        total = np.log(np.exp(wide - high).sum(-1, keepdims=True)) + high
        if program is logsumexp:
            return np.asarray(np.where(np.isinf(high), high, total)[..., 0])
        return np.asarray(wide - total if program is log_softmax else np.exp(wide - total))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", [softmax, log_softmax, logsumexp])
@pytest.mark.parametrize("shape", [(32, 256), (3, 7, 300), (260, 1000), (13, 512)])
def test_each_row_is_its_own(program: Program, shape: tuple[int, ...], threads: int) -> None:
    x = np.random.default_rng(0).standard_normal(shape, "f4") * 9
    rows = x.reshape(-1, shape[-1])
    rows += 50 * (np.arange(len(rows)) % 3 - 1)[:, None].astype("f4")  # other maxima beside each
    rows[2, 5], rows[4, 7], rows[-1, 0], rows[5] = np.nan, np.inf, -np.inf, -np.inf
    with threads_of(threads):
        made = ts.compile(program, (x,), fallback="error")(x)
    np.testing.assert_allclose(made, expected(program, x), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("program", "shape", "block"),
    [
        (softmax, (64, 512), 8),  # twice as many are worth sharing
        (softmax, (3, 7, 300), 7),
        (logsumexp, (26, 256), 13),
        (softmax, (37, 512), None),  # no number of rows divides them
        (softmax, (64, 64), 16),
        (softmax, (64, 32), None),  # one or two vectors
        (softmax, (256, 1 << 14), 16),
        (softmax, (64, 1 << 14), 4),
        (softmax, (16, 1 << 14), None),  # threads share the rows
        (deviation, (64, 512), None),  # waits for memory in every pass
    ],
)
def test_blocks(program: Program, shape: tuple[int, ...], block: int | None) -> None:
    specs = (ts.TensorSpec(shape, ts.float32),)
    for cpu, rows in (("x86-64-v4", block), ("x86-64-v3", None)):  # 32 registers and 16
        compiled = ts.compile(program, specs, target=LINUX, cpu=cpu, fallback="error")
        steps = compiled.ir("schedule")
        assert ('"ahead"' in steps) == (rows is not None)
        assert rows is None or f'", {rows}, "exact"]' in steps
