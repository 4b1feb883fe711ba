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


def extended_until(x: ts.Tensor, n: int):
    """A list that is bound again, in a loop that is left from two branches."""
    frames: list[ts.Tensor] = []
    x = x * 0.5
    while True:
        x = x * 0.5 + 0.1
        frames += [x.sum(1)]
        if bool(x.sum() > 1e6):
            break
        elif len(frames) > n:
            x = x + 1
            break
    return x, ts.stack(frames)


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


@pytest.mark.parametrize("program", [in_lists, in_dicts, written_in_place, extended_until, Growing])
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


def taken_out(x: ts.Tensor, n: int):
    """Each tensor is read after the list that held it has let it go."""
    kept: list[ts.Tensor] = []
    for i in range(n):
        kept.append(x * i)
    out: list[ts.Tensor] = []
    total = kept.pop() + 1
    while len(out) < 2 and len(kept) > 0:
        out.append(kept.pop(0))
    if n > 3:
        first = kept[0]
        kept.clear()
        total = total + first
    return out[0], out[-1], total


def beams(x: ts.Tensor, n: int):
    held: list[tuple[list[int], ts.Tensor]] = [([0], x)]
    for i in range(n):
        found: list[tuple[list[int], ts.Tensor]] = []
        for path, state in held:
            longer = path + [i]  # noqa: RUF005 (no stars in scripts)
            found.append((longer, state * 0.5))
            found.append((path, state + i))
        held = []
        while len(held) < 3 and len(found) > 0:
            held.append(found.pop(0))
    return held[0][1], held[-1][1], ts.tensor(held[0][0])


@pytest.mark.parametrize("program", [taken_out, beams])
def test_tensors_outlive_the_lists_that_held_them(program: Callable[..., Any]) -> None:
    compiled = ts.compile(program, fallback="error", cache=False)
    x = ts.arange(600.0).reshape(2, 300)
    for n in (2, 3, 6):
        same(compiled(x, n), ts.jit.script(program)(x, n))
