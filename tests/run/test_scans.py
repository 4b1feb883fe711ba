"""Do recurrences that run as scans of vectors give what iteration after iteration gives?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emit_harness import parse_te, run_te
from xdsl.utils.exceptions import VerifyException

import tensorscript as ts
from tensorscript import Tensor
from tensorscript.dialects.te.ops import functions
from tensorscript.lowering.te.evaluate import evaluate
from tensorscript.lowering.te.verify import verify_function

SIZES = (0, 1, 7, 8, 17, 65)
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


def least_so_far(x: Tensor, t: Tensor, k: int) -> int:
    c = 7
    for j in range(x.size(0)):
        c = min(int(x[j]), c + k)
        t[j] = c
    return c


def greatest_from_behind(x: Tensor, t: Tensor, k: int) -> int:
    c = -3
    for j in range(x.size(0) - 1, -1, -1):
        c = max(c - k, int(x[j]))
        t[j] = c
    return c


def sums(x: Tensor, t: Tensor, k: int) -> int:
    c = k
    for j in range(x.size(0)):
        c += int(x[j])
        t[j] = c
    return c


def sums_before(x: Tensor, t: Tensor, k: int) -> int:
    c = k
    for j in range(x.size(0)):
        t[j] = c
        c += int(x[j]) * 2
    return c


def in_place(x: Tensor, t: Tensor, k: int) -> int:
    for j in range(x.size(0)):
        t[j] = x[j]
    for j in range(1, x.size(0)):
        t[j] = min(int(t[j]), int(t[j - 1]) + k)
    for j in range(x.size(0) - 2, -1, -1):
        t[j] = min(int(t[j]), int(t[j + 1]) + 1)
    return 0


def two_rows(x: Tensor, t: Tensor, k: int) -> int:
    n = x.size(0)
    rows = ts.zeros([2, n + 1], dtype=ts.int64)
    for i in range(1, 5 + k % 2):
        now = i % 2
        old = 1 - now
        rows[now, 0] = i
        for j in range(n):
            best = min(int(rows[old, j + 1]) + 1, int(rows[now, j]) + 1)
            rows[now, j + 1] = min(best, int(rows[old, j]) + int(x[j]))
    for j in range(n):
        t[j] = rows[0, j + 1]
    return int(rows[1, n])


def chosen(x: Tensor, t: Tensor, k: int) -> int:
    c = k
    for j in range(x.size(0)):
        v = int(x[j])
        if v < c + 1:
            c = v
        else:
            c = c + 1
        t[j] = c
    return c


def two_iterations_back(x: Tensor, t: Tensor, k: int) -> int:
    for j in range(2, x.size(0)):
        t[j] = min(int(t[j - 1]) + 1, int(t[j - 2]) + int(x[j]))
    return 0


def of_the_row_written(x: Tensor, t: Tensor, k: int) -> int:
    """The rows are two or one, as only the call says."""
    n = x.size(0)
    rows = ts.zeros([2, n + 3], dtype=ts.int64)
    now = k % 2
    for j in range(n):
        rows[1, j + 3] = min(int(rows[1, j + 2]) + 1, int(rows[now, j]) + int(x[j]))
    for j in range(n):
        t[j] = rows[1, j + 3]
    return 0


def halved_sums(x: Tensor, t: Tensor, k: int) -> int:
    c = k
    for j in range(x.size(0)):
        c = (c + int(x[j])) // 2
        t[j] = c
    return c


PROGRAMS = (
    (least_so_far, 1), (greatest_from_behind, 1), (sums, 1), (sums_before, 1), (in_place, 2),
    (two_rows, 1), (chosen, 1), (two_iterations_back, 0), (of_the_row_written, 1), (halved_sums, 0),
)  # fmt: skip


@pytest.mark.parametrize(("program", "scans"), PROGRAMS)
def test_equals_the_interpreter(program: Callable[..., int], scans: int) -> None:
    row = ts.TensorSpec(("N",), ts.int64)
    compiled = ts.compile(program, (row, row, 1), fallback="error", cache=False)
    assert compiled.ir("scheduled").count("te.scan") == scans
    random = np.random.default_rng(3)
    ranges = ((-20, 20), (LOWEST, HIGHEST), (HIGHEST - 12, HIGHEST), (LOWEST, LOWEST + 12))
    for size in SIZES:
        for low, high in ranges:
            x = random.integers(low, high, size, endpoint=True)
            for k in (1, -3, 3 << 61):
                mine, other = np.zeros_like(x), np.zeros_like(x)
                given = [ts.from_numpy(x), ts.from_numpy(other), k]
                assert compiled(x, mine, k) == compiled.program.interpret(given)
                np.testing.assert_array_equal(mine, other)


def edits(a: list[int], b: list[int]) -> int:
    before = [j for j in range(len(b) + 1)]
    for i in range(len(a)):
        now = [i + 1]
        for j in range(len(b)):
            changed = before[j] + (0 if a[i] == b[j] else 1)
            now.append(min(min(now[j] + 1, before[j + 1] + 1), changed))
        before = now
    return before[-1]


def edits_of_the_first(a: list[int], b: list[int]) -> int:
    """Rows as long as `a`, whatever `b` has."""
    before = [j for j in range(len(b) + 1)]
    now = [0]
    for i in range(len(a)):
        now = [i]
        for j in range(len(a)):
            now.append(min(now[j] + 1, before[j] + b[j]))
        before = now
    return now[-1]


@pytest.mark.parametrize("program", [edits, edits_of_the_first])
def test_lists(program: Callable[..., int]) -> None:
    compiled = ts.compile(program, fallback="error", cache=False)
    random = np.random.default_rng(5)
    for rows, columns in ((0, 0), (0, 9), (9, 0), (3, 8), (8, 3), (17, 33), (33, 17)):
        a, b = (random.integers(0, 4, n).tolist() for n in (rows, columns))
        if program is edits or columns >= rows:
            assert compiled(a, b) == program(a, b)
        else:
            with pytest.raises(IndexError, match="list index out of range"):
                compiled(a, b)
    assert "te.scan" in compiled.ir("scheduled")


def least_of_two(x: Tensor, y: Tensor, t: Tensor) -> int:
    c = 100
    for j in range(x.size(0)):
        c = min(c + 1, int(x[j]) + int(y[j]))
        t[j] = c
    return c


@pytest.mark.parametrize("there", [0, 3, 8, 11, 19])
def test_an_error_comes_after_what_went_before(there: int) -> None:
    x, y = np.arange(20) % 7, np.arange(there)
    mine, other = np.zeros(20, "i8"), np.zeros(20, "i8")
    compiled = ts.compile(least_of_two, fallback="error", cache=False)
    with pytest.raises(RuntimeError, match="out of range") as mine_said:
        compiled(x, y, mine)
    with pytest.raises(RuntimeError) as said:
        compiled.program.interpret([ts.from_numpy(a) for a in (x, y, other)])
    assert "out of range" in str(said.value) and "out of range" in str(mine_said.value)
    np.testing.assert_array_equal(mine, other)
    assert "te.scan" in compiled.ir("scheduled")


HEAD = "x: i64[2, {lanes}], out y: i64[2, {lanes}], inout z: i64[], s: i64"
SCAN = (
    f"te.func @k kernel scheduled ({HEAD})"
    + """ {{
  te.var c: i64 = z.i64[()]
  te.for o in 0 .. 2 serial {{
    te.for v in 0 .. {lanes} {kind} {{
      te.scan m: i64 of c {combiner}= x.i64[o, v], step {step}
      te.store y[o, v] = m
    }}
  }}
  te.store z[] = c
}}"""
)


@pytest.mark.parametrize("kind", ["vector", "serial", "unroll"])
@pytest.mark.parametrize("lanes", [1, 4, 8, 11])
@pytest.mark.parametrize(
    ("combiner", "step"),
    [("add", "0"), ("min", "1"), ("min", "s"), ("max", "-2"), ("max", "0"), ("max", "s * 3")],
)
def test_lanes_see_the_lanes_before(combiner: str, step: str, lanes: int, kind: str) -> None:
    text = SCAN.format(lanes=lanes, kind=kind, combiner=combiner, step=step)
    x = np.random.default_rng(lanes).integers(-20, 20, (2, lanes))
    s = np.int64(-3)
    c, expected = 5, []
    for value in x.ravel().tolist():
        ahead = c + eval(step, {"s": -3})
        c = {"add": value + ahead, "min": min(value, ahead), "max": max(value, ahead)}[combiner]
        expected.append(c)
    (func,) = functions(parse_te(text))
    verify_function(func)
    made = [np.zeros_like(x), np.array(5)], [np.zeros_like(x), np.array(5)]
    assert run_te(text, x, *made[0], s) == 0
    evaluate(func, {"x": x, "y": made[1][0], "z": made[1][1], "s": -3})
    for y, z in made:
        assert y.ravel().tolist() == expected and z == c


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("te.scan m: i64 of c mul= 3", "no scan of"),
        ("te.scan m: b1 of c min= True", "no scan of"),
        ("te.scan m: f64 of c min= (1.0).f64, step (2.0).f64", "extremes of integers have a step"),
        ("te.scan m: i64 of c add= 3, step 1", "extremes of integers have a step"),
        ("te.scan m: i64 of d add= 3", "d is not defined"),
    ],
)
def test_what_is_no_scan(line: str, why: str) -> None:
    text = f"te.func @k kernel scheduled (out y: i64[]) {{\nte.var c: i64 = 1\n{line}\n}}"
    with pytest.raises(VerifyException, match=why):
        verify_function(next(functions(parse_te(text))))


def of_squares(x: Tensor) -> Tensor:
    return (x * x).cumsum(1)


def of_a_mask(x: Tensor) -> Tensor:
    return (x > 0).cumsum(0)


def behind(x: Tensor) -> Tensor:
    return (x.flip(1) + x[:, :1]).cummax(1)[0]


def of_columns(x: Tensor) -> Tensor:
    return (x[:, ::2] - 1).cumprod(0)


def read_twice(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 2
    return y.cumsum(1), y


MAPS: dict[Callable[..., object], Callable[[np.ndarray], Any]] = {
    of_squares: lambda x: np.cumsum((x * x).astype("f8"), 1),
    of_a_mask: lambda x: np.cumsum(x > 0, 0),
    behind: lambda x: np.maximum.accumulate(x[:, ::-1] + x[:, :1], 1),
    of_columns: lambda x: np.cumprod((x[:, ::2] - 1).astype("f8"), 0),
    read_twice: lambda x: (np.cumsum((x * 2).astype("f8"), 1), x * 2),
}


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 70), (70, 9), (40, 129), (0, 4)])
@pytest.mark.parametrize("program", MAPS, ids=lambda f: f.__name__)
def test_what_runs_along_is_computed_on_the_way(
    program: Callable[..., object], shape: tuple[int, int]
) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    wanted, specs = MAPS[program](x), (ts.TensorSpec(("N", "M"), ts.float32),)
    for example in ((x,), specs):
        found = ts.compile(program, example, fallback="error")(x)
        for one, other in zip(_parts(found), _parts(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
