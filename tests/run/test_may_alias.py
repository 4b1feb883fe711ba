"""Tensors that may be one after a branch or a loop: what a write to one shows in the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor


def swapped_with_a_view(x: Tensor, y: Tensor, n: int):
    y = y.clone()
    m = y.t()
    x = x.clone()
    for _ in range(n):
        m, x = x, m
    m.mul_(0.5)
    return x, y, m


def one_in_a_branch(x: Tensor, y: Tensor, n: int):
    if n > 1:
        a = x * 2
        b = a
    else:
        a = x * 3
        b = x * 4
    a.add_(1)
    return a, b


def view_in_a_branch(x: Tensor, y: Tensor, n: int):
    if n > 1:
        a = x * 2
        b = a[0]
    else:
        a = x * 3
        b = y[0] * 4
    b.add_(1)
    return a, b


def named_in_the_loop(x: Tensor, y: Tensor, n: int):
    m = x * 2
    b = m
    for _ in range(n):
        m = m + 1
        b = m
    m.mul_(3)
    return m, b


def taken_from_a_list(x: Tensor, y: Tensor, n: int):
    a = x * 2
    held = [a]
    q = y * 1
    for _ in range(n):
        q = held[0]
        held[0] = x * 3
    q.add_(1)
    return a, q


def put_into_a_list(x: Tensor, y: Tensor, n: int):
    held = [x]
    m = x * 2
    for _ in range(n):
        m = m + 1
        held.append(m)
    m.add_(1)
    return ts.stack(held).sum(0), m


def read_before_the_write(x: Tensor, y: Tensor, n: int):
    s = y * 2
    m = s
    for _ in range(n):
        m = m + 1
    r = x * 0
    for _ in range(3):
        r = r + s
        m.add_(1)
    return m, r


def an_argument_in_a_branch(x: Tensor, y: Tensor, n: int):
    m = x * 2
    for i in range(n):
        if i % 2 == 1:
            m = y
    m.add_(1)
    return m, x


def nothing_shared(x: Tensor, y: Tensor, n: int):
    m = x * 2
    for i in range(n):
        if i % 2 == 1:
            m = m + y
    m.add_(1)
    for _ in range(n):
        m = m.t()
    return m, m + x


def one_of_two_arguments(x: Tensor, y: Tensor, n: int):
    m = x if n > 1 else y
    m.add_(1)
    return x * 2, y * 1


def a_view_in_a_branch(x: Tensor, y: Tensor, n: int):
    a = x * 2
    if n > 2:
        a = x[0]
    elif n > 1:
        a = y.t()
    elif n > 0:
        a = x[:, 1]
    a += 1
    return x * 1, a * 1


def an_argument_that_the_loop_may_leave(x: Tensor, y: Tensor, n: int):
    m = x
    for _ in range(n):
        m = m * 2
    m.add_(1)
    return x * 2, m


def several_in_a_loop(x: Tensor, y: Tensor, n: int):
    m = x
    for i in range(n):
        if i % 2 == 1:
            m = m * 2
        elif i % 3 == 0:
            m = y
        if i == 2:
            m = x.t()
    m.mul_(3)
    return x * 2, y + 0


def swapped_arguments(x: Tensor, y: Tensor, n: int):
    for _ in range(n):
        x, y = y, x
    x.add_(1)
    y.mul_(2)
    return x * 1, y * 1


def several_that_an_iteration_makes(x: Tensor, y: Tensor, n: int):
    m = x
    for i in range(n):
        a = m * 2
        b = m + y
        m = a if i % 2 == 1 else b
        if i > 0:
            m.add_(1)
    m.add_(x)
    return x * 1, m


NATIVE = (
    one_of_two_arguments, a_view_in_a_branch, an_argument_that_the_loop_may_leave,
    several_in_a_loop, swapped_arguments, several_that_an_iteration_makes,
)  # fmt: skip
"""What is never left to the interpreter."""
PROGRAMS = (
    *NATIVE,
    swapped_with_a_view, one_in_a_branch, view_in_a_branch, named_in_the_loop, taken_from_a_list,
    put_into_a_list, read_before_the_write, an_argument_in_a_branch, nothing_shared,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_writes_show_where_they_do_in_eager_mode(program: Callable[..., Any]) -> None:
    compiled, scripted = ts.compile(program), ts.jit.script(program)
    for n in range(4):
        sides = []
        for run, wrap in ((program, ts.from_numpy), (scripted, ts.from_numpy), (compiled, None)):
            x = np.arange(4.0).reshape(2, 2) + 1
            y = -10 * x
            given = (x, y) if wrap is None else (wrap(x), wrap(y))
            sides.append([*map(np.asarray, run(*given, n)), x, y])
        for other in sides[1:]:
            for wanted, found in zip(sides[0], other, strict=True):
                np.testing.assert_allclose(found, wanted)
    if program in NATIVE:
        assert compiled.stats.is_native, compiled.stats.fallbacks


def test_what_shares_nothing_is_written_whatever_the_trips() -> None:
    compiled = ts.compile(nothing_shared, fallback="error")
    x = np.ones((2, 2))
    for n in range(4):
        compiled(x, x, n)
    assert len(compiled.stats.native) == 1


def element_replaced_by_its_view(x: Tensor):
    held = [x.clone(), x]
    held[0] = held[0].t()
    held.insert(0, held[1])
    return held


def test_an_element_is_replaced_by_a_view_of_itself() -> None:
    x = ts.arange(4.0).reshape(2, 2)
    found = ts.jit.script(element_replaced_by_its_view)(x)
    assert [t.tolist() for t in found] == [x.tolist(), x.t().tolist(), x.tolist()]
