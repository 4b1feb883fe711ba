"""Loops whose body computes points of what they carry: is each iterated by itself, and right?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor


def logistic(x: Tensor) -> Tensor:
    for _ in range(50):
        x = x * 1.5 - x * x * 0.5
    return x


def mandelbrot(cr: Tensor, ci: Tensor) -> Tensor:
    zr, zi, count = ts.zeros_like(cr), ts.zeros_like(ci), ts.zeros_like(cr)
    for _ in range(60):
        t = zr * zr - zi * zi + cr
        zi = 2 * zr * zi + ci
        zr = t
        count = count + (zr * zr + zi * zi < 4).to(ts.float32)
    return count


def series(x: Tensor, n: int) -> Tensor:
    total, power = ts.zeros_like(x), ts.ones_like(x)
    for k in range(n):
        total = total + power / (k + 1)
        power = power * x
    return total


def fibonacci(a: Tensor, b: Tensor, n: int) -> tuple[Tensor, Tensor]:
    for _ in range(n):
        a, b = b, a + b
    return a, b


def with_row(x: Tensor, row: Tensor, n: int) -> Tensor:
    for k in range(n):
        x = x * 0.5 + row * k
    return x


def with_last(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
    last = ts.zeros_like(x)
    for _ in range(n):
        last = x
        x = x * 0.5 + 1
    return x, last


def in_place(x: Tensor, n: int) -> Tensor:
    y = x.clone()
    for _ in range(n):
        y.mul_(0.5).add_(1)
    return y


def nested(x: Tensor, n: int) -> Tensor:
    for k in range(n):
        for _ in range(40):
            x = x * 0.9 + 0.1
        x = x - k
    return x


Program = Callable[..., Any]


def numbers(*shape: int, kind: str = "f4", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(kind)


def compare(program: Program, arguments: Sequence[Any], rtol: float = 1e-5) -> Any:
    """With eager mode's results; the compiled program."""
    tensors = [ts.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    wanted = program(*tensors)
    compiled = ts.compile(program, tuple(arguments), fallback="error")
    found = compiled(*arguments)
    if not isinstance(wanted, tuple):
        wanted, found = (wanted,), (found,)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol, 1e-6)
    return compiled


def is_iterated(compiled: Any) -> bool:
    return "kernel logical iterated" in compiled.ir("te") and "te.while" not in compiled.ir("te")


@pytest.mark.parametrize("shape", [(2,), (7,), (64,), (33, 5), (3, 1, 65), (0, 4)])
def test_shapes(shape: tuple[int, ...]) -> None:
    assert is_iterated(compare(logistic, [numbers(*shape)]))
    compiled = compare(mandelbrot, [2 * numbers(*shape), 2 * numbers(*shape, seed=1)])
    assert is_iterated(compiled)


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 33, 64])
def test_trips(n: int) -> None:
    x = numbers(20, 7)
    for program, arguments in (
        (series, [x, n]),
        (fibonacci, [x, numbers(20, 7, seed=2), n]),
        (with_last, [x, n]),
        (in_place, [x, n]),
        (nested, [x, n]),
    ):
        compare(program, arguments)


def test_the_number_of_trips_may_be_any() -> None:
    kinds = (ts.TensorSpec(("N", 7), ts.float32), 3)
    compiled = ts.compile(series, kinds, fallback="error")
    assert is_iterated(compiled)
    for rows, n in ((1, 0), (20, 5), (3, -1), (50, 100)):
        x = numbers(rows, 7)
        power = np.stack([np.zeros_like(x), *(x**k / (k + 1) for k in range(n))])
        np.testing.assert_allclose(compiled(x, n), power.sum(0), 1e-4, 1e-6)


@pytest.mark.parametrize("kind", ["f8", "f4", "f2", "i8", "i4", "u1"])
def test_what_is_carried_is_rounded_in_each_turn(kind: str) -> None:
    a, b = (numbers(50, kind="f8", seed=s) * 5 for s in (0, 1))
    compiled = compare(fibonacci, [abs(a).astype(kind), abs(b).astype(kind), 12], rtol=0)
    assert is_iterated(compiled)


def test_bfloat16() -> None:
    x = ts.from_numpy(numbers(100)).to(ts.bfloat16)
    compiled = ts.compile(logistic, (x,), fallback="error")
    assert is_iterated(compiled)
    np.testing.assert_array_equal(
        compiled(x).float().numpy(), logistic(x).float().numpy()
    )  # rounded twice a turn, at the same places


@pytest.mark.parametrize("row", [(65,), (1,), (4, 1), ()])
def test_what_stays_may_be_smaller(row: tuple[int, ...]) -> None:
    assert is_iterated(compare(with_row, [numbers(4, 65), numbers(*row, seed=3), 40]))


def test_arguments_may_lie_in_any_order() -> None:
    x = numbers(40, 30).T
    assert is_iterated(compare(logistic, [x]))
    assert is_iterated(compare(logistic, [numbers(64, 40)[::2, 1:39]]))
    assert is_iterated(compare(with_row, [numbers(65, 4).T, numbers(65, seed=3), 9]))


def with_numbers(x: Tensor, a: float, n: int) -> Tensor:
    for k in range(n):
        x = x * (a * 0.5 - 1) + (k * k) / 7
    return x


def test_numbers_of_the_turn_and_of_all_turns() -> None:
    for a, n in ((0.7, 36), (1.5, 5), (0.0, 0)):
        compiled = compare(with_numbers, [numbers(9, 5), a, n])
        assert is_iterated(compiled)


def by_size(x: Tensor, n: int) -> Tensor:
    for k in range(n):
        x = x * 0.5 + (k + 1) * x.size(0)
    return x


def test_a_size_may_be_called_as_the_turn() -> None:
    for name in ("turn", "turns", "s0", "n0"):
        kinds = (ts.TensorSpec((name, 3), ts.float32), 3)
        compiled = ts.compile(by_size, kinds, fallback="error")
        x = numbers(4, 3)
        np.testing.assert_allclose(compiled(x, 6), by_size(ts.from_numpy(x), 6).numpy(), 1e-6)


def moved(x: Tensor) -> Tensor:
    for _ in range(40):
        x = x * 0.5 + x.flip(0) * 0.25
    return x


def summed(x: Tensor) -> Tensor:
    for _ in range(40):
        x = x * 0.5 + x.sum() * 0.01
    return x


def until_small(x: Tensor) -> Tensor:
    n = 0
    while n < 100 and bool(x.abs().max() > 0.1):
        x = x * 0.9
        n += 1
    return x


def checked(x: Tensor, n: int) -> Tensor:
    for k in range(n):
        assert k < 35, "too far"
        x = x * 0.9
    return x


def with_number(x: Tensor, n: int) -> Tensor:
    factor = 1.0
    for _ in range(n):
        x = x * factor
        factor = factor * 0.99
    return x


@pytest.mark.parametrize("program", [moved, summed, until_small])
def test_other_loops_stay(program: Program) -> None:
    assert not is_iterated(compare(program, [numbers(30, 4)]))


@pytest.mark.parametrize("program", [checked, with_number])
def test_other_counting_loops_stay(program: Program) -> None:
    assert not is_iterated(compare(program, [numbers(30, 4), 34]))


def test_a_check_of_each_turn_still_fails() -> None:
    with pytest.raises(Exception, match="too far"):
        ts.compile(checked)(numbers(3), 40)


def test_points_are_vectors_and_threads_share_them() -> None:
    compiled = ts.compile(mandelbrot, (numbers(512, 64), numbers(512, 64)), fallback="error")
    text = compiled.ir("scheduled")
    kernel = text[text.index("iterated") :]
    assert "parallel grain" in kernel
    assert "in 0 .. turns serial {" in kernel
    assert "te.alloc reg s0" in kernel


@pytest.mark.parametrize("program", [logistic, series])
def test_the_emulator_agrees(program: Program) -> None:
    x = numbers(3, 9)
    arguments = [x] if program is logistic else [x, 7]
    compiled = ts.compile(program, tuple(arguments), target="ptx-emulate", fallback="error")
    wanted = program(ts.from_numpy(x), *arguments[1:])
    np.testing.assert_allclose(np.asarray(compiled(*arguments)), wanted.numpy(), 1e-5, 1e-6)


def slowly(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = x * 0.99 + 1
    return x


@pytest.mark.parametrize("size", [5, 63, 1000])
def test_threads_share_points_and_not_their_iterations(size: int) -> None:
    """Where all of the points are the rest of a vector nothing else is left to share."""
    x, n = np.linspace(-1, 1, size, dtype="f4"), 20000
    compiled = ts.compile(slowly, (x, n), fallback="error")
    before = ts.get_num_threads()
    ts.set_num_threads(2)
    try:
        found = [np.asarray(compiled(x, n)) for _ in range(20)]
    finally:
        ts.set_num_threads(before)
    for one in found:
        np.testing.assert_allclose(one, 100.0, rtol=1e-5)
    steps = ts.compile(slowly, (x, n), fallback="error", cache=False)
    assert "turn_w in 0 .. turns parallel" not in steps.ir("scheduled")
