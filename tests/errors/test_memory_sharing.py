"""Writes to memory that is also read: refused alike in eager mode, scripts and machine code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

REPEATED = "more than one element of the written-to tensor refers to a single memory location"
SHARED = "some elements of the input tensor and the written-to tensor refer to a single memory"

REFUSED = [
    ("x[1:] = x[:-1]", SHARED),
    ("x[1:] -= x[:-1]", SHARED),
    ("x /= x[0]", SHARED),
    ("x.add_(x.t())", SHARED),
    ("x[n:].add_(x[:3 - n])", SHARED),
    ("x[0].expand(3, 3).copy_(x)", REPEATED),
    ("x[0].expand(3, 3).mul_(2.0)", REPEATED),
    ("x[0].expand(3, 3).fill_(x[0, 0])", REPEATED),
]
TAKEN: list[tuple[str, list[list[float]]]] = [
    ("x.add_(x)", [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0], [14.0, 16.0, 18.0]]),
    ("x.sub_(x.view(3, 3))", [[0.0] * 3] * 3),
    ("x[1:].add_(x[0])", [[1.0, 2.0, 3.0], [5.0, 7.0, 9.0], [8.0, 10.0, 12.0]]),
    (
        "for i in range(n + 1): x[i + 1] += x[i]",
        [[1.0, 2.0, 3.0], [5.0, 7.0, 9.0], [12.0, 15.0, 18.0]],
    ),
    ("x[n] = x[n - 1]", [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [7.0, 8.0, 9.0]]),
    ("x[0].expand(3, 3).fill_(1.0)", [[1.0, 1.0, 1.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    ("x[1:] = x[:-1].clone()", [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
]

Program = Callable[..., Any]


def _scripted(statement: str) -> Any:
    text = f"def program(x, n: int):\n    {statement}\n    return x\n"
    return ts.jit.CompilationUnit(text).program


def _eager(statement: str) -> Program:
    names: dict[str, Any] = {}
    exec(f"def program(x, n):\n    {statement}\n    return x\n", names)
    return names["program"]  # type: ignore[no-any-return]


def _native(statement: str) -> Program:
    return ts.compile(_scripted(statement), fallback="error", cache=False)


WAYS = pytest.mark.parametrize("way", [_eager, _scripted, _native], ids=["eager", "ts", "native"])


def _matrix() -> ts.Tensor:
    return ts.arange(1.0, 10.0).view(3, 3)


@WAYS
@pytest.mark.parametrize("statement, words", REFUSED, ids=[s for s, _ in REFUSED])
def test_refused(way: Callable[[str], Program], statement: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        way(statement)(_matrix(), 1)


@WAYS
@pytest.mark.parametrize("statement, rows", TAKEN, ids=[s for s, _ in TAKEN])
def test_taken(way: Callable[[str], Program], statement: str, rows: list[list[float]]) -> None:
    assert way(statement)(_matrix(), 1).tolist() == rows


def test_random_numbers_are_not_drawn_into_repeated_memory() -> None:
    with pytest.raises(RuntimeError, match=REPEATED):
        ts.zeros(1).expand(3).normal_()


def test_out_may_not_be_a_part_of_an_operand() -> None:
    x = ts.arange(6.0)
    with pytest.raises(RuntimeError, match=SHARED):
        ts.add(x[:-1], 1, out=x[1:])
    assert ts.sum(x[:-1], 0, out=x[0]).item() == 10.0


ONE, ROW = ts.tensor([0]), ts.ones(3)
DEPRECATED: list[tuple[str, Program, list[float]]] = [
    ("masked_fill_", lambda x: x.masked_fill_(ts.tensor([[True], [False]]), 5.0), [5.0] * 3),
    ("index_fill_", lambda x: x.index_fill_(0, ONE, 5.0), [5.0] * 3),
    ("index_put_", lambda x: x.index_put_((ONE,), ROW), [1.0] * 3),
    ("index_put_", lambda x: x.index_put_((ts.tensor([0, 1]),), ROW, accumulate=True), [2.0] * 3),
    ("index_put_", lambda x: x.__setitem__(ONE, ROW), [1.0] * 3),
]


def test_triangles_of_repeated_rows_are_what_all_rows_keep() -> None:
    x = ts.ones(1, 3)
    x.expand(3, 3).tril_()
    assert x.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("name, write, row", DEPRECATED)
def test_deprecated_writes_to_expanded_memory_warn(
    name: str, write: Program, row: list[float]
) -> None:
    """What one element is given stays when the others, of the same memory, are left alone."""
    x = ts.zeros(1, 3)
    with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors is deprecated"):
        write(x.expand(2, 3))
    assert x.tolist() == [row]
    write(ts.zeros(2, 3))  # warnings are errors


ONE_MASK = ts.tensor([True, False, True])
MASKED: list[tuple[Program, list[str]]] = [
    (lambda x: x.__setitem__((slice(None), ONE_MASK), 1.0), ["index_put_", "masked_fill_"]),
    (lambda x: x.__setitem__((slice(None), ONE_MASK), ts.ones(2)), ["index_put_"]),
    (lambda x: x.__setitem__((ONE, ONE), 1.0), ["index_put_"]),
    (lambda x: x.__setitem__(ts.ones(2, 3, dtype=ts.bool), 1.0), ["index_put_", "masked_fill_"]),
]


@pytest.mark.parametrize("write, names", MASKED)
def test_one_number_behind_one_mask_warns_of_both_operators(
    write: Program, names: list[str]
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        write(ts.zeros(1, 3).expand(2, 3))
    assert [str(w.message).split()[2] for w in caught] == names
