"""Do iterations that run as lanes compute what the loop computes, and is the rest left alone?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorscript as ts


def escape_count(size: int, limit: int) -> int:
    inside = 0
    for column in range(size):
        c = 3.0 * float(column) / float(size) - 2.0
        z = 0.0
        n = 0
        while n < limit and z * z <= 4.0:
            z = z * z + c
            n += 1
        if n == limit:
            inside += 1
    return inside


def longest(size: int, limit: int) -> int:
    best = -5
    for start in range(size):
        n = start + 1
        steps = 0
        while n != 1 and steps < limit:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        if steps > best:
            best = steps
    return best


def least_and_sum(size: int, limit: int) -> int:
    least = 1000
    total = 0
    odd = 0
    for i in range(size):
        k = i
        s = 0
        while k > 0:
            s += k
            k -= limit
        least = min(least, s - i)
        if s % 2 == 1:
            odd -= 1
        else:
            total -= s
    return least * 1000003 + total * 7 + odd


def swapped(size: int, limit: int) -> int:
    total = 0
    for i in range(size):
        a = i
        b = limit
        n = 0
        while n < limit:
            if a > b:
                t = a
                a = b
                b = t - n
            else:
                b = b - a
            n += 1
        total += a * 31 + b
    return total


def nested(size: int, limit: int) -> int:
    total = 0
    for i in range(size):
        for j in range(limit):
            k = j
            while k < i:
                k += 3
            total += k
    return total


LANES = (escape_count, longest, least_and_sum, swapped, nested)


def float_sum(size: int, limit: int) -> float:
    total = 0.0
    for i in range(size):
        z = 1.0
        while z < float(limit):
            z = z * 1.5
        total += z / float(i + 1)
    return total


def last_of_the_best(size: int, limit: int) -> int:
    best = 0
    where = 0
    for i in range(size):
        n = i * 7 % 16
        s = 0
        while n > 0:
            s += n
            n = n // 2
        if s > best:
            best = s
            where = i
    return where


def reads_its_sum(size: int, limit: int) -> int:
    total = 0
    for i in range(size):
        n = 0
        while n < i + total % 4:
            n += 2
        total += n
    return total


def divides(size: int, limit: int) -> int:
    primes = 0
    for i in range(2, size):
        j = 2
        while j < i and i % j != 0:
            j += 1
        if j == i:
            primes += 1
    return primes


def what_is_added_changes(size: int, limit: int) -> int:
    total = 0
    for i in range(size):
        n = i
        total += n
        while n < limit:
            n += 3
    return total


SERIAL = (float_sum, last_of_the_best, reads_its_sum, divides)


@pytest.mark.parametrize("program", LANES, ids=lambda p: p.__name__)
@settings(max_examples=40)
@given(st.integers(-3, 70), st.integers(1, 40))
def test_lanes_give_the_loops_result(program: Callable[..., int], size: int, limit: int) -> None:
    compiled = _compiled(program)
    assert " vector {" in compiled.ir("scheduled")
    assert compiled(size, limit) == program(size, limit)


@pytest.mark.parametrize("program", SERIAL, ids=lambda p: p.__name__)
@settings(max_examples=40)
@given(st.integers(-3, 70), st.integers(1, 40))
def test_iterations_that_meet_stay_in_order(
    program: Callable[..., int], size: int, limit: int
) -> None:
    compiled = _compiled(program)
    assert " vector {" not in compiled.ir("scheduled")
    assert compiled(size, limit) == program(size, limit)


@settings(max_examples=40)
@given(st.integers(-3, 70), st.integers(1, 40))
def test_what_is_added_is_read_where_it_stands(size: int, limit: int) -> None:
    assert _compiled(what_is_added_changes)(size, limit) == what_is_added_changes(size, limit)


@cache
def _compiled(program: Callable[..., int]) -> Any:
    return ts.compile(program, (8, 8), fallback="error")
