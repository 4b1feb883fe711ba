"""Random numbers in machine code: those of eager mode for one seed, and the stream goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable


def both(fn: Callable[..., Any], *arguments: Any, calls: int = 2) -> ts.CompiledFunction:
    """Run eagerly and natively from one seed; results and what is drawn next must agree."""
    run = ts.compile(fn, fallback="error")
    ends = []
    results = []
    for target in (fn, run):
        ts.manual_seed(5)
        results.append([target(*arguments) for _ in range(calls)])
        ends.append(ts.rand(2))
    for want, got in zip(*results, strict=True):
        for x, y in zip(_parts(want), _parts(got), strict=True):
            assert x.dtype is y.dtype
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)
    assert bool((ends[0] == ends[1]).all())
    return run


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def matrix(*shape: int) -> ts.Tensor:
    return ts.from_numpy(np.random.default_rng(0).standard_normal(shape).astype("f4"))


def test_draws_follow_each_other() -> None:
    def f(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor, ts.Tensor, ts.Tensor]:
        a = ts.randn(3)  # leaves one number over for the next call
        b = ts.randperm(11)
        c = ts.rand_like(x)
        d = ts.randn(700)
        e = ts.multinomial(ts.sigmoid(x), 3)
        return a, b, c, d, e

    both(f, matrix(3, 4))


def test_branches_and_loops_draw_as_they_run() -> None:
    def f(x: ts.Tensor, n: int) -> ts.Tensor:
        for _ in range(n):
            if bool(ts.rand(1)[0] > 0.5):
                x = x + ts.randn_like(x)
            else:
                x = x * ts.rand(1)
        return x

    both(f, matrix(3, 7), 20)


def test_named_sizes_draw_as_many_as_there_are() -> None:
    def f(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        return ts.randn_like(x), x * ts.rand(x.size(0), 1)

    run = ts.compile(f, (ts.TensorSpec(("N", 3), ts.float32),), fallback="error")
    for n in (2, 5, 6, 400):  # 6 numbers are few, 15 are drawn one by one, 18 are many
        ts.manual_seed(1)
        want = f(matrix(n, 3))
        ts.manual_seed(1)
        for x, y in zip(want, run(matrix(n, 3)), strict=True):
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)
    assert len(run.stats.native) == 1


def test_training_networks_drop_out() -> None:
    lstm = ts.nn.LSTM(3, 4, num_layers=2, dropout=0.4)
    layer = ts.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.3, batch_first=True)
    for module, x in ((lstm, matrix(5, 2, 3)), (layer, matrix(2, 3, 4))):
        module.train()
        results = []
        for run in (module, ts.compile(module, fallback="error")):
            ts.manual_seed(3)
            found = run(x)
            results.append(found[0] if isinstance(found, tuple) else found)
        want, got = (r.detach().numpy() for r in results)
        np.testing.assert_allclose(want, got, rtol=1e-5, atol=1e-5)


def test_slopes_are_drawn_for_what_is_not_positive() -> None:
    def f(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        return ts.nn.functional.rrelu(x, 0.1, 0.4, training=True), ts.rand(2)

    both(f, matrix(4, 5))
    both(f, matrix(4, 5).double().t())


def test_a_seed_in_the_program() -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        ts.manual_seed(17)
        return x + ts.randn_like(x)

    run = both(f, matrix(4, 5))
    assert bool((run(matrix(4, 5)) == run(matrix(4, 5))).all())


def test_an_object_has_no_generator(tmp_path: Path) -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        return x + ts.rand_like(x)

    run = ts.compile(f, (ts.TensorSpec((3,), ts.float32),), fallback="error")
    with pytest.raises(NotCompilable, match="draws random numbers"):
        run.export_object(tmp_path / "f.o")


def spread_by(x: ts.Tensor, std: float) -> ts.Tensor:
    return ts.normal(x, x * 0 + std) + ts.normal(0.0, std, (2,))


@pytest.mark.parametrize("std", [-1.0, float("nan")])
def test_deviations_below_nought_are_refused(std: float) -> None:
    for run in (spread_by, ts.compile(spread_by, fallback="error", cache=False)):
        with pytest.raises(RuntimeError, match="normal expects all elements of std"):
            run(ts.zeros(2), std)
