"""Is the first place of the extreme element found, whatever the elements?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts

WIDTHS = (7, 16, 65, 1000)
"""Less than a vector, one, a rest of one, several side by side."""


def greatest(x: ts.Tensor) -> ts.Tensor:
    return x.argmax(1)


def least(x: ts.Tensor) -> ts.Tensor:
    return x.argmin(1)


PROGRAMS: dict[Callable[[ts.Tensor], ts.Tensor], Callable[[np.ndarray], np.ndarray]] = {
    greatest: lambda x: x.argmax(1),
    least: lambda x: x.argmin(1),
}


def _lines(dtype: str, width: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    plain = (9 * random.standard_normal((11, width))).astype(dtype)
    if dtype[0] != "f":
        info = np.iinfo(dtype)
        return [plain, np.full_like(plain, info.min), np.full_like(plain, info.max)]
    some = np.where(random.random(plain.shape) < 0.02, np.nan, plain).astype(dtype)
    zeros = np.where(random.random(plain.shape) < 0.5, -0.0, 0.0).astype(dtype)
    same = [np.full_like(plain, value) for value in (np.nan, np.inf, -np.inf)]
    return [plain, some, zeros, *same]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "i1"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_first_places(program: Callable[[ts.Tensor], ts.Tensor], dtype: str) -> None:
    for width in WIDTHS:
        lines = _lines(dtype, width)
        compiled = ts.compile(program, (lines[0],), fallback="error")
        for x in lines:
            np.testing.assert_array_equal(compiled(x), PROGRAMS[program](x))


def of_all(x: ts.Tensor) -> ts.Tensor:
    return x.argmax()


LONG = 40003
"""Several chunks, and a rest of one."""


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i1"])
def test_places_in_long_lines(dtype: str) -> None:
    rows = _lines(dtype, LONG)[0][:2]
    for program, width in ((greatest, 1), (least, 1), (of_all, 2)):
        reference = PROGRAMS.get(program, lambda x: x.argmax())
        x = rows[:width]
        compiled = ts.compile(program, (x,), fallback="error")
        for place in (0, 4095, 4096, 39999, LONG - 1):
            some = x.copy()
            some[-1, place] = -100 if program is least else 100
            np.testing.assert_array_equal(compiled(some), reference(some))
            if dtype[0] == "f":
                some[-1, place // 2] = np.nan
                np.testing.assert_array_equal(compiled(some), reference(some))
        for fill in (7, -1):
            same = np.full_like(x, fill)
            np.testing.assert_array_equal(compiled(same), reference(same))


def test_a_long_line_is_one_kernel() -> None:
    x = np.zeros(100_000, "f4")
    assert "narrow" in ts.schedule(of_all, (x,), start="default").steps


def with_value(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return x.max(1)


def test_values_and_places() -> None:
    x = np.random.default_rng(0).standard_normal((9, 300)).astype("f4")
    values, places = ts.compile(with_value, (x,), fallback="error")(x)
    np.testing.assert_array_equal(values, x.max(1))
    np.testing.assert_array_equal(places, x.argmax(1))
