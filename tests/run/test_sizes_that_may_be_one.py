"""Slices of a named size, such as the min(1, N) rows of `x[:1]`, broadcast if they turn out 1."""

from collections.abc import Callable

import numpy
import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable

ROWS = ts.TensorSpec(("N", 3), ts.float32)


def first(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x[:1] + y


def last(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x[-1:] * y + 1.0


def inner(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return y - x[1:2]


def two_slices(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x[::3] + y[1:3]


def narrowed(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.narrow(0, 0, 1) + y


def summed(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return (x[:2] * y[:1]).sum(0)


def chosen(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.where(x[:1] > 0, y, x[-1:])


def expanded(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x[:1].expand_as(y) * x[::3].expand(y.size(0), 3)


def copied(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    z = y.clone()
    z.copy_(x[-1:])
    return z


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "f",
    [first, last, inner, two_slices, narrowed, summed, chosen, expanded, copied],
    ids=lambda f: f.__name__,
)
def test_is_what_eager_computes(f: Callable[..., ts.Tensor], n: int) -> None:
    run = ts.compile(f, (ROWS, ROWS), fallback="error")
    numbers = numpy.random.default_rng(n)
    x, y = (ts.tensor(numbers.standard_normal((n, 3)).astype("float32")) for _ in range(2))
    try:
        expected = f(x, y)
    except (RuntimeError, IndexError):
        with pytest.raises((RuntimeError, IndexError)):
            run(x, y)
        return
    result = run(x, y)
    assert result.shape == expected.shape
    assert numpy.allclose(result.numpy(), expected.numpy())


def test_other_sizes_are_refused_when_called() -> None:
    """Neither 2 nor 5 rows broadcast to the other."""

    def f(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
        return x[:2] + y

    run = ts.compile(f, (ROWS, ROWS), fallback="error")
    assert run(ts.ones(2, 3), ts.ones(2, 3)).shape == (2, 3)
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        run(ts.ones(5, 3), ts.ones(5, 3))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_squeezing_them_is_left_to_the_interpreter(n: int) -> None:
    def f(x: ts.Tensor) -> ts.Tensor:
        return x[:1].squeeze(0)

    with pytest.raises(NotCompilable, match="squeezing a size that may be 1"):
        ts.compile(f, (ROWS,), fallback="error")
    x = ts.ones(n, 3)
    assert ts.compile(f, (ROWS,))(x).shape == f(x).shape
