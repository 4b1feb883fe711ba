"""Lists and dicts that grow, natively: the same as Python, at every stage, without leaks."""

from __future__ import annotations

import copy
import resource
from typing import Any

import pytest
from evaluated_stages import evaluated_te, evaluated_tg
from growing_dict_programs import DICT_CASES
from growing_programs import CASES, Case, beams, levenshtein, push

import tensorscript as ts
from tensorscript.backends.cpu.runtime import runtime_symbols
from tensorscript.base.errors import UserError
from tensorscript.compiler.arguments import bind
from tensorscript.compiler.function import CompiledFunction


def native(program: Any) -> CompiledFunction:
    made = ts.compile(program, fallback="error", cache=False)
    assert isinstance(made, CompiledFunction)
    return made


@pytest.mark.parametrize("case", CASES + DICT_CASES, ids=lambda case: case.program.__name__)
def test_equals_python_at_every_stage(case: Case) -> None:
    compiled = native(case.program)
    for call in case.calls:
        expected = case.program(*copy.deepcopy(call))
        mine = copy.deepcopy(call)
        assert compiled(*mine) == expected
        assert mine == call  # a list argument is the program's own copy
        bound = bind(compiled._names, call, compiled._taking)
        lowered = compiled.lower(bound.specs, keep=True)
        assert evaluated_tg(lowered, bound.leaves) == expected
        assert evaluated_te(lowered, bound.leaves) == expected
    assert compiled.stats.is_native


def test_one_specialisation_takes_lists_of_every_length() -> None:
    compiled = native(levenshtein)
    for n in range(5):
        compiled(list(range(n)), [0, 2])
    assert len(compiled.stats.native) == 1


def out_of_range(xs: list[int], i: int):
    kept = [0] * 3
    for x in xs:
        kept.append(x)
    return kept[i]


def popped(xs: list[int]):
    return xs.pop()


def looked_up(xs: list[int], x: int):
    return xs.index(x)


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        (out_of_range, ([1], 4), "list index out of range"),
        (out_of_range, ([1], -5), "list index out of range"),
        (popped, ([],), "pop from empty list"),
        (looked_up, ([1], 4), "is not in list"),
    ],
)
def test_errors_show_the_line(program: Any, arguments: tuple[Any, ...], message: str) -> None:
    compiled = native(program)
    with pytest.raises(UserError, match=message) as caught:
        compiled(*arguments)
    assert "<--- HERE" in str(caught.value)
    assert __file__ in str(caught.value)


def test_wrong_elements_are_refused() -> None:
    compiled = native(push)
    assert compiled([1], 2) == 2
    with pytest.raises(RuntimeError, match="push"):
        compiled([1.5], 2)


def fails_late(n: int):
    rows: list[list[int]] = []
    for i in range(n):
        rows.append([i] * 100)
    return rows[n + 1][0]


def test_nothing_leaks() -> None:
    good, bad = native(beams), native(fails_late)

    def run(times: int) -> None:
        for _ in range(times):
            good(2, 2)
            with pytest.raises(UserError):
                bad(3)

    run(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(4000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048


def rebound(n: int):
    current = [0]
    for i in range(n):
        current = [i] * 1000
    return len(current)


def test_a_loop_that_rebinds_a_list_holds_one_at_a_time() -> None:
    compiled = native(rebound)
    compiled(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert compiled(100_000) == 1000  # 800 MB if nothing were given back
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096


def test_the_support_is_there() -> None:
    assert "ts_list_new" not in runtime_symbols()
    assert runtime_symbols(user=b"ts_list_new")["ts_list_new"]


class Composed(ts.nn.Module):
    """Sizes from a table of places, as a library of named axes finds them."""

    parts: list[tuple[list[int], list[int]]]

    def __init__(self) -> None:
        super().__init__()
        self.parts = [([], [0]), ([], [1]), ([0, 1], [2]), ([2, 2], [])]

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        sizes = [1, 1, 1]
        for k, (known, unknown) in enumerate(self.parts):
            if len(known) == 0 and len(unknown) == 1:
                sizes[unknown[0]] = x.shape[k]
                continue
            product = 1
            for place in known:
                product *= sizes[place]
            if len(unknown) == 0:
                if product != 144:
                    raise ValueError(f"{product}")
            else:
                sizes[unknown[0]] = product
        return x.reshape(sizes[2])


def test_a_loop_that_goes_on_early_over_a_known_table() -> None:
    """`continue` makes it a loop that only its condition ends; the table is no run-time list."""
    assert native(ts.jit.script(Composed()))(ts.ones(3, 4)).shape == (12,)


def table(n: int, width: int, longer: int) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    rows: list[list[int]] = []
    for i in range(n):
        row: list[int] = []
        for j in range(width + (1 if i == longer else 0)):
            row.append(i + j)
        rows.append(row)
    x = ts.tensor(rows)
    return x, ts.tensor(rows, dtype=ts.float64) * 0.5, x.sum()


def test_a_tensor_of_lists_of_one_length() -> None:
    """Without any list there is no second dimension."""
    f, scripted = native(table), ts.jit.script(table)
    for n, width in ((2, 3), (1, 1), (3, 0), (0, 3)):
        for mine, theirs in zip(f(n, width, -1), scripted(n, width, -1), strict=True):
            assert (mine.shape, mine.dtype, mine.tolist()) == (
                (theirs.shape, theirs.dtype, theirs.tolist())
            )
    with pytest.raises(UserError, match="Expected sequence of length 3 at dim 1"):
        f(4, 3, 2)


def padded(words: list[str], width: int):
    rows: list[list[int]] = []
    for word in words:
        row = [0]
        for part in word.split():
            row.append(len(part))
        if width > 0:
            row = row[:width]
            row = row + [-1] * (width - len(row))
        rows.append(row)
    return ts.tensor(rows), ts.tensor(rows, dtype=ts.float32), len(rows)


def test_a_tensor_of_a_known_list_of_growing_lists() -> None:
    f, scripted = native(padded), ts.jit.script(padded)
    for words, width in ((["a bc def", "x"], 3), (["a", "bc"], 0), (["a"], 5), ([], 2)):
        expected = scripted(words, width)
        assert [v.tolist() for v in f(words, width)[:2]] == [v.tolist() for v in expected[:2]]
    with pytest.raises(UserError, match="Expected sequence of length 3 at dim 1 \\(got 2\\)"):
        f(["a b", "c"], 0)
