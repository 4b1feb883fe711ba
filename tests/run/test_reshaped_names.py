"""Tensors that change their shape in place, natively: what the program calls them follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable


def follows(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor, list[int]]:
    y = x + 1
    z = y.unsqueeze_(0)
    y.mul_(2)
    return y, z, y.size()


def shares_memory(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    y = x.clone()
    first = y[0]
    y.t_()
    y[0] += 1
    return y, first


def resized(x: ts.Tensor) -> tuple[ts.Tensor, list[int], ts.Tensor]:
    y = x.clone()
    y.resize_(2, 2)
    return y, x.clone().resize_as_(ts.ones(5)).size(), x.clone().squeeze_(0).transpose_(0, 1)


def in_a_loop(x: ts.Tensor, n: int) -> ts.Tensor:
    for i in range(n):
        y = x * i
        y.t_().mul_(2)
        x = x + y.t()
    return x


def of_another(x: ts.Tensor) -> ts.Tensor:
    y = ts.zeros(2, dtype=ts.float64)
    y.set_(x)
    return y * 2


def an_argument(x: ts.Tensor) -> ts.Tensor:
    return x.t_()


def an_element(x: ts.Tensor) -> ts.Tensor:
    y = x.clone()
    listed = [y]
    y.t_()
    return listed[0]


def in_a_branch(x: ts.Tensor) -> ts.Tensor:
    y = x.clone()
    if bool(x.sum() > 0):
        y.t_()
    return y


def kept_by_a_branch(x: ts.Tensor) -> ts.Tensor:
    y, z = x.clone(), x + 1
    kept = z
    if bool(x.sum() > 0):
        kept = y
    y.t_()
    return kept


def before_a_branch(x: ts.Tensor) -> tuple[ts.Tensor, list[int]]:
    y = (x + 1).unsqueeze(0)
    y.squeeze_(0)
    y.t_()
    if bool(x.sum() > 0):
        y = y * 2
    for _ in range(2):
        y = y + 1
    return y, y.shape


def same(got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            same(g, w)
    else:
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


@pytest.mark.parametrize("fn", [follows, shares_memory, resized, of_another, before_a_branch])
def test_names_follow(fn: Callable[..., Any]) -> None:
    x = ts.from_numpy(np.arange(6.0).reshape(2, 3))
    same(ts.compile(fn, fallback="error")(x), fn(x))


def test_each_iteration_has_names_of_its_own() -> None:
    x = ts.from_numpy(np.arange(6.0).reshape(2, 3))
    same(ts.compile(in_a_loop, fallback="error")(x, 4), in_a_loop(x, 4))


@pytest.mark.parametrize("fn", [an_argument, an_element, in_a_branch, kept_by_a_branch])
def test_other_names_are_refused(fn: Callable[..., Any]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(NotCompilable, match="may have other names"):
        ts.compile(fn, fallback="error")(x)
    same(ts.compile(fn)(ts.from_numpy(x.copy())), fn(ts.from_numpy(x.copy())))
