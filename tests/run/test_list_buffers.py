"""Lists that become buffers: elements, lengths and errors are Python's, at every stage."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from evaluated_stages import evaluated_te, evaluated_tg

import tensorscript as ts
from tensorscript.base.errors import UserError
from tensorscript.compiler.arguments import bind
from tensorscript.compiler.function import CompiledFunction


def native(program: Callable[..., Any]) -> CompiledFunction:
    made = ts.compile(program, fallback="error", cache=False)
    assert isinstance(made, CompiledFunction)
    return made


def running_sums(xs: list[int]) -> list[int]:
    sums = [0]
    for i in range(len(xs)):
        sums.append(sums[i] + xs[i])
    return sums


def from_the_end(n: int) -> list[float]:
    xs = [1.0, 1.0]
    for i in range(n):
        xs.append(0.5 * xs[-1] + xs[-2])
        xs[i] = xs[i] + float(len(xs))
    return xs


def two_at_once(n: int) -> tuple[list[int], list[bool]]:
    places: list[int] = []
    odd: list[bool] = []
    for i in range(n):
        places.append(len(odd) + 10 * len(places))
        odd.append(places[i] % 2 == 1)
    places.append(-1)
    return places, odd


def kept_rows(n: int, m: int) -> list[list[int]]:
    rows: list[list[int]] = []
    for i in range(n):
        row = [i]
        for j in range(m):
            row.append(row[j] + j)
        rows.append(row)
        row.append(100)
    return rows


def counts(xs: list[int], n: int) -> list[int]:
    found = [0] * n
    for x in xs:
        found[x] += 1
    return found


def before_and_after(n: int) -> int:
    first = [3]
    second = first
    for i in range(n):
        first.append(i)
    return len(second) * 100 + second[-1]


def loop_after_loop(xs: list[int], n: int) -> list[int]:
    kept = [2 * x for x in xs]
    for i in range(n):
        kept.append(len(kept) + i)
    for i in range(len(kept)):
        kept.append(kept[i] + kept[-1])
    return kept


def beyond(xs: list[int], shift: int) -> int:
    kept = [0]
    for i in range(len(xs)):
        kept.append(xs[i])
        kept[i + shift] = 7
    return kept[-1]


def without_end(xs: list[int]) -> int:
    kept: list[int] = []
    for i in range(1 << 60):
        kept.append(xs[i])
    return len(kept)


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        (running_sums, [([],), ([5],), ([1, -2, 3, 4],)]),
        (from_the_end, [(0,), (1,), (9,), (-3,)]),
        (two_at_once, [(0,), (7,)]),
        (kept_rows, [(0, 3), (3, 0), (3, 12), (2, -1)]),
        (counts, [([0, 2, -1, 2], 4), ([], 0), ([], -2)]),
        (before_and_after, [(0,), (20,)]),
        (loop_after_loop, [([], 0), ([], 3), ([5, 6], 0), ([5, 6, 7], 9)]),
        (beyond, [([1, 2, 3], 0), ([1, 2, 3], 1), ([1, 2, 3], -2), ([], 5)]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_equals_python_at_every_stage(
    program: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    compiled = native(program)
    for call in calls:
        expected = program(*copy.deepcopy(call))
        assert compiled(*call) == expected
        bound = bind(compiled._names, call, compiled._taking)
        lowered = compiled.lower(bound.specs, keep=True)
        assert evaluated_tg(lowered, bound.leaves) == expected
        assert evaluated_te(lowered, bound.leaves) == expected
    assert compiled.stats.is_native


@pytest.mark.parametrize(
    ("program", "call", "line"),
    [
        (counts, ([0, 4], 4), "found[x] += 1"),
        (counts, ([-5], 4), "found[x] += 1"),
        (counts, ([0], 0), "found[x] += 1"),
        (counts, ([0], -3), "found[x] += 1"),
        (beyond, ([1, 2], 2), "kept[i + shift] = 7"),
        (beyond, ([1, 2], -3), "kept[i + shift] = 7"),
        (without_end, ([1, 2],), "kept.append(xs[i])"),
    ],
)
def test_places_out_of_range(program: Callable[..., Any], call: Any, line: str) -> None:
    with pytest.raises(UserError, match="list index out of range") as caught:
        native(program)(*call)
    text = str(caught.value)
    marked = text[: text.index("<--- HERE")].split("\n")
    assert line in marked[-2]
