"""What half types round: operands of binary operators, but for the second of products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorscript as ts

ROUNDED = ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "remainder", "fmod", "pow", "rsub")
AS_GIVEN = ("mul", "div", "floor_divide")
NUMBER = 0.3


def samples(library: Any, dtype: str) -> Any:
    """Numbers around `NUMBER`, itself in the dtype among them."""
    near = np.linspace(0.98, 1.02, 21) * NUMBER
    values = [NUMBER, -NUMBER, 0.25, 1.28125, 3.375, 2.40625, -1.0703125, *near]
    return library.tensor(values).to(getattr(library, dtype))


@pytest.mark.parametrize(("dtype", "held"), [("bfloat16", 0.30078125), ("float16", 0.300048828125)])
def test_numbers_are_compared_as_the_dtype_holds_them(dtype: str, held: float) -> None:
    def equals(x: ts.Tensor, number: float) -> ts.Tensor:
        return x == number

    def equals_itself(x: ts.Tensor) -> ts.Tensor:
        return x == 0.3

    x = samples(ts, dtype)
    expected = [v == held for v in x.tolist()]
    assert sum(expected) > 1
    assert equals_itself(x).tolist() == expected
    assert ts.compile(equals_itself, fallback="error")(x).tolist() == expected
    assert ts.compile(equals, fallback="error")(x, NUMBER).tolist() == expected


def product(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x * y


def total(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x + y


def test_second_factors_without_dimensions_stay_as_they_are() -> None:
    x, y = ts.tensor([-1.0703125, 257.0]).to(ts.bfloat16), ts.tensor(NUMBER)
    for run in (product, ts.compile(product, fallback="error")):
        assert run(x, y).tolist() == [-0.3203125, 76.5 + 0.5]
        assert run(y, x).tolist() == [-0.322265625, 77.0]
    whole = ts.tensor([257, 259])
    for run in (total, ts.compile(total, fallback="error")):
        assert run(x, whole).tolist() == [255.0, 516.0]


def widened(x: ts.Tensor) -> ts.Tensor:
    return ts.full((2,), 0.1).to(ts.float64) + ts.full((2,), 0.1, dtype=ts.bfloat16) * x


def test_constants_are_those_of_their_dtype() -> None:
    x = ts.ones(2, dtype=ts.float64)
    expected = float(np.float32(0.1)) + 0.10009765625
    for run in (widened, ts.compile(widened, fallback="error")):
        assert run(x).tolist() == [expected] * 2


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", [*ROUNDED, *AS_GIVEN])
def test_as_pytorch_rounds(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")

    def by_number(library: Any, x: Any) -> Any:
        return getattr(library, name)(x, NUMBER)

    def by_tensor(library: Any, x: Any) -> Any:
        return getattr(library, name)(x, library.tensor(NUMBER, dtype=library.float64))

    def from_tensor(library: Any, x: Any) -> Any:
        return getattr(library, name)(library.tensor(NUMBER), x)

    for call in (by_number, by_tensor, from_tensor):
        wanted = call(torch, samples(torch, dtype)).double().numpy()
        found = np.asarray(call(ts, samples(ts, dtype)).to(ts.float64).numpy())
        np.testing.assert_array_equal(found, wanted, call.__name__)
