"""Loops that change the shapes of tensors in lists, dicts and attributes, as decoders do with what
they keep of each layer: one native loop for every number of steps."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.function import CompiledFunction


def in_lists(x: ts.Tensor, n: int):
    kept = [(ts.zeros(0, 4), ts.zeros(4, 0)), (ts.ones(1, 4), ts.ones(4, 1))]
    for _ in range(n):
        for layer in range(2):
            keys, values = kept[layer]
            keys = ts.cat([keys, x * 0.5])
            values = ts.cat([values, x.t()], 1)
            kept[layer] = (keys, values)
            x = x * 0.5 + keys.mean(0) - values.mean(1)
        if bool(x.sum() > 1e6):
            break
    return x, kept[0][0], kept[1][1]


def in_dicts(x: ts.Tensor, n: int):
    kept = {"even": ts.zeros(0, 4), "odd": ts.ones(1)}
    i = 0
    while i < n:
        if i % 2 == 0:
            kept["even"] = ts.cat([kept["even"], x])
        else:
            kept["odd"] = ts.cat([x.sum(1), kept["odd"]])
        x = x - kept["odd"].mean() * 0.1
        i += 1
    return x, kept["even"], kept["odd"]


def written_in_place(x: ts.Tensor, n: int):
    """What the list holds is written through, and so is what it held before."""
    kept = [x]
    same = kept
    before = x
    for i in range(n):
        before = kept[0]
        kept[0] = ts.cat([kept[0], x])
        if i > 2:
            kept[0].mul_(0.5)
        x = x + same[0].mean(0) + before.sum() * 0.01
    return x, same[0], before


class Growing(ts.nn.Module):
    kept: ts.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.kept = ts.zeros(0, 4)

    def forward(self, x: ts.Tensor, n: int):
        self.kept = ts.zeros(0, 4)
        for _ in range(n):
            self.kept = ts.cat([self.kept, x])
            x = x * 0.5 + self.kept.mean(0)
            if bool(x.sum() < -1e6):
                break
        return x, self.kept


def same(found: Any, wanted: Any) -> None:
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("program", [in_lists, in_dicts, written_in_place, Growing])
def test_one_loop_for_every_number_of_steps(program: Callable[..., Any]) -> None:
    scripted = ts.jit.script(program() if program is Growing else program)
    other = copy.deepcopy(scripted) if program is Growing else scripted
    compiled = ts.compile(other, fallback="error", cache=False)
    assert isinstance(compiled, CompiledFunction)
    x = ts.arange(4.0).reshape(1, 4) * 0.25
    for n in (0, 1, 4, 40):
        same(compiled(x, n), scripted(x, n))
    kinds = set(compiled.stats.native)
    assert kinds == {"(1x4:f32, scalar)"}
