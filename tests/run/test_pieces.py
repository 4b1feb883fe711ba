"""Are maps cut where what they read goes on elsewhere, and do they compute the same?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts


def joined(x: ts.Tensor) -> ts.Tensor:
    return ts.cat([x, x * 2, x], 1)


def stacked(x: ts.Tensor) -> ts.Tensor:
    return ts.cat([x, x * 2, x], 0)


def repeated(x: ts.Tensor) -> ts.Tensor:
    return x.repeat(2, 3)


def rolled(x: ts.Tensor) -> ts.Tensor:
    return x.roll((3, -5), (0, 1))


def turned(x: ts.Tensor) -> ts.Tensor:
    return x.roll(3, 0)


def mirrored(x: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.pad(x[None], (3, 2, 1, 2), "reflect")[0]


def edged(x: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.pad(x[None], (3, 2, 1, 2), "replicate")[0]


def wrapped(x: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.pad(x[None], (3, 2, 1, 2), "circular")[0]


def bordered(x: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.pad(x, (70, 2, 1, 2))


def product(x: ts.Tensor) -> ts.Tensor:
    return ts.kron(x[:3], x)


_WIDTHS = ((1, 2), (3, 2))
PROGRAMS: dict[Callable[[ts.Tensor], ts.Tensor], Callable[[np.ndarray], np.ndarray]] = {
    joined: lambda x: np.concatenate([x, x * 2, x], 1),
    stacked: lambda x: np.concatenate([x, x * 2, x]),
    repeated: lambda x: np.tile(x, (2, 3)),
    rolled: lambda x: np.roll(x, (3, -5), (0, 1)),
    turned: lambda x: np.roll(x, 3, 0),
    mirrored: lambda x: np.pad(x, _WIDTHS, "reflect"),
    edged: lambda x: np.pad(x, _WIDTHS, "edge"),
    wrapped: lambda x: np.pad(x, _WIDTHS, "wrap"),
    bordered: lambda x: np.pad(x, ((1, 2), (70, 2))),
    product: lambda x: np.kron(x[:3], x),
}


@pytest.mark.parametrize("shape", [(7, 200), (5, 64), (30, 30), (4, 9), (200, 4), (70, 7)], ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_pieces(program: Callable[[ts.Tensor], ts.Tensor], shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    found = np.asarray(ts.compile(program, (x,), fallback="error")(x))
    np.testing.assert_array_equal(found, PROGRAMS[program](x))


@pytest.mark.parametrize("program", [repeated, rolled, mirrored, edged, wrapped, product])
def test_stretches_are_not_gathered(program: Callable[[ts.Tensor], ts.Tensor]) -> None:
    x = np.zeros((7, 200), "f4")
    compiled = ts.compile(program, (x,), fallback="error")
    assert "masked.gather" not in compiled.ir("ll")


def test_stretches_are_loops() -> None:
    x = np.zeros((7, 200), "f4")
    compiled = ts.compile(joined, (x,), fallback="error")
    assert "select" not in compiled.ir("scheduled")


@pytest.mark.parametrize("program", [stacked, turned])
def test_short_rows_that_follow_others_are_one_loop(
    program: Callable[[ts.Tensor], ts.Tensor],
) -> None:
    x = np.zeros((4096, 3), "f4")
    loops = ts.compile(program, (x,), fallback="error").ir("scheduled")
    assert "select" not in loops and "< 3" not in loops


def with_a_computed_column(a: ts.Tensor, b: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.cat([a, b, y.argmax(1, keepdim=True)], 1)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_columns_of_one_element_are_joined(rows: int) -> None:
    a = np.arange(rows).reshape(rows, 1)
    y = np.random.default_rng(rows).standard_normal((rows, 7))
    compiled = ts.compile(with_a_computed_column, fallback="error")
    wanted = np.concatenate([a, -a, y.argmax(1)[:, None]], 1)
    np.testing.assert_array_equal(compiled(a, -a, y), wanted)
