"""Loops that are tried in one way and compiled in another: nothing is left of the first."""

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor
from tensorscript.lowering.ts_to_tg import loops


def grows_a_dict(x: Tensor):
    y = x * 2
    d: dict[str, Tensor] = {}
    for i in range(3):
        d["c"] = y * x
        if bool((y * y).sum() > i):
            y[0] += y.mean()
    return y + d["c"]


def test_what_a_left_loop_read_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if the body were long: a loop is tried first, whose structure does not settle.
    monkeypatch.setattr(loops, "UNROLL_OPS", 0)
    compiled = ts.compile(grows_a_dict, cache=False)
    x = np.array([1, -2, 3], np.float32)
    np.testing.assert_allclose(compiled(x), grows_a_dict(ts.tensor(x)).numpy(), rtol=1e-6)
    assert compiled.stats.is_native
