"""Dicts with keys that only the running program knows, natively: of tensors, in errors, in text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.base.errors import UserError
from tensorscript.compiler.entry_results import parse_results, results_text


def native(program: Any) -> Any:
    return ts.compile(program, fallback="error", cache=False)


def grouped(x: ts.Tensor, groups: ts.Tensor) -> tuple[dict[int, ts.Tensor], list[ts.Tensor]]:
    sums: dict[int, ts.Tensor] = {}
    rows: dict[int, list[ts.Tensor]] = {}
    for i in range(x.size(0)):
        k = int(groups[i])
        if k in sums:
            sums[k] = sums[k] + x[i]
            rows[k].append(x[i])
        else:
            sums[k] = x[i]
            rows[k] = [x[i]]
    means: list[ts.Tensor] = []
    for k in sorted(rows.keys()):
        means.append(ts.stack(rows[k]).mean(0))
    return sums, means


def test_tensors_under_keys_that_are_found() -> None:
    compiled = native(grouped)
    for groups in ([2, 0, 2, 1, 0], [1, 1, 1, 1, 1]):
        x = ts.from_numpy(np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32))
        k = ts.tensor(groups)
        found, wanted = compiled(x, k), ts.jit.script(grouped)(x, k)
        assert list(found[0]) == list(wanted[0])
        for key, value in wanted[0].items():
            np.testing.assert_allclose(found[0][key].numpy(), value.numpy(), rtol=1e-6)
        for mine, other in zip(found[1], wanted[1], strict=True):
            np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-6)
    assert compiled.stats.is_native


def read(xs: list[int], key: int) -> int:
    held: dict[int, int] = {}
    for x in xs:
        held[x] = 1
    return held[key]


def removed(xs: list[int], key: int) -> int:
    held: dict[int, int] = {}
    for x in xs:
        held[x] = 1
    del held[key]
    return len(held)


@pytest.mark.parametrize("program", [read, removed])
def test_a_missing_key_shows_the_line(program: Any) -> None:
    compiled = native(program)
    compiled([1, 2], 2)
    with pytest.raises(UserError, match="KeyError: 3") as caught:
        compiled([1, 2], 3)
    assert "<--- HERE" in str(caught.value)


def results(xs: list[int]) -> tuple[dict[int, int], list[dict[int, float]]]:
    one: dict[int, int] = {}
    many: list[dict[int, float]] = []
    for x in xs:
        one[x] = x
        inner: dict[int, float] = {}
        inner[x] = 0.5
        many.append(inner)
    return one, many


def test_results_are_written_and_read_as_text() -> None:
    compiled = native(results)
    assert compiled([3, 4]) == ({3: 3, 4: 4}, [{3: 0.5}, {4: 0.5}])
    tree = compiled.lower(compiled.latest_specs).plan.output
    assert parse_results(results_text(tree)) == tree
    assert "map(" in results_text(tree)


def test_a_table_of_many_keys_is_looked_up() -> None:
    table = {7 * k: k / 4 for k in range(200)}

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table: dict[int, float] = table

        def forward(self, x: ts.Tensor) -> tuple[float, float]:
            return self.table[int(x[0])], self.table.get(int(x[1]), -1.0)

    compiled = native(ts.jit.script(Table()))
    assert compiled(ts.tensor([7 * 199, 0])) == (199 / 4, 0.0)
    assert compiled(ts.tensor([0, 8])) == (0.0, -1.0)


def first_items(xs: list[int]) -> tuple[tuple[int, int], tuple[str, int], int]:
    held: dict[int, int] = {}
    for x in xs:
        held[x] = x + 1
    known = {"a": 1, "b": 2}
    return held.popitem(), known.popitem(), len(held) + len(known)


def test_the_first_item_is_taken_out() -> None:
    """Unlike in Python, where it is the last one."""
    native, scripted = ts.compile(first_items, fallback="error"), ts.jit.script(first_items)
    assert native([7, 1, 7]) == scripted([7, 1, 7]) == ((7, 8), ("a", 1), 2)
    with pytest.raises(UserError, match="dictionary is empty"):
        native([])
