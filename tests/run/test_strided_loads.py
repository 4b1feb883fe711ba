"""Are lanes at fixed distances read from contiguous vectors, and the right elements?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts


def every_third(x: ts.Tensor) -> ts.Tensor:
    return x[:, 1::3] + 1


def every_eighth(x: ts.Tensor) -> ts.Tensor:
    return x[:, 7::8] + 1


def backwards(x: ts.Tensor) -> ts.Tensor:
    return x[:, ::3].flip(1) + 1


def twice(x: ts.Tensor) -> ts.Tensor:
    return x.repeat_interleave(2, 1) + 1


def turned(x: ts.Tensor) -> ts.Tensor:
    return x[:, :5].t().contiguous()


def of_short_rows(x: ts.Tensor) -> ts.Tensor:
    return x[:, :3].contiguous().amax(1)


PROGRAMS: dict[Callable[[ts.Tensor], ts.Tensor], Callable[[np.ndarray], np.ndarray]] = {
    every_third: lambda x: x[:, 1::3] + 1,
    every_eighth: lambda x: x[:, 7::8] + 1,
    backwards: lambda x: x[:, ::3][:, ::-1] + 1,
    twice: lambda x: x.repeat(2, 1) + 1,
    turned: lambda x: np.ascontiguousarray(x[:, :5].T),
    of_short_rows: lambda x: x[:, :3].max(1),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_lanes_at_fixed_distances(program: Callable[[ts.Tensor], ts.Tensor], dtype: str) -> None:
    for shape in ((66, 200), (131, 9), (3, 1003)):
        x = (20 * np.random.default_rng(0).standard_normal(shape)).astype(dtype)
        found = np.asarray(ts.compile(program, (x,), fallback="error")(x))
        np.testing.assert_array_equal(found, PROGRAMS[program](x))


def short_rows(x: ts.Tensor) -> ts.Tensor:
    return x.amax(1) - x.amin(1)


def test_short_rows_are_not_gathered() -> None:
    x = np.random.default_rng(0).standard_normal((640, 5)).astype("f4")
    compiled = ts.compile(short_rows, (x,), fallback="error")
    assert "masked.gather" not in compiled.ir("ll")
    np.testing.assert_array_equal(compiled(x), x.max(1) - x.min(1))


def test_columns_of_many_rows_are_not_gathered() -> None:
    x = np.random.default_rng(0).standard_normal((640, 5)).astype("f4")
    compiled = ts.compile(turned, (x,), fallback="error")
    assert "masked.gather" not in compiled.ir("ll")


@pytest.mark.parametrize("size", [77, 777])
@pytest.mark.parametrize("dtype", [ts.bfloat16, ts.float16])
def test_near_lanes_of_several_registers_of_halves(size: int, dtype: ts.dtype) -> None:
    x = ts.randn(1, 4, 64).to(dtype)

    def sums(x: ts.Tensor) -> ts.Tensor:
        return ts.nn.functional.interpolate(x, size).float().sum(2)

    traced = ts.jit.trace(sums, (x,), check_trace=False)
    compiled = ts.compile(traced, fallback="error", cache=False)
    np.testing.assert_allclose(compiled(x).numpy(), sums(x).numpy(), rtol=1e-5, atol=1e-4)
