"""Elements at tested places, whose tests and reads go block by block (tg/fuse_places.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tensorscript as ts

SIZE, COUNT = 300, 20011
"""Elements that are read from; places, which fill no whole number of blocks and vectors."""


def taken(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.take(x, i)


def gathered(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.gather(x, 0, i)


def indexed(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return x[i]


def selected(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.index_select(x, 0, i).relu()


def embedded(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.embedding(i, x.unsqueeze(1))


def copied(x: ts.Tensor, i: ts.Tensor, y: ts.Tensor) -> None:
    y.copy_(ts.take(x, i))


def first_refused(x: ts.Tensor, y: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    ts.take(y, i)
    return ts.take(x, i)


def added(x: ts.Tensor, y: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.take(x, i) + ts.take(y, i)


def turned(x: ts.Tensor, i: ts.Tensor) -> ts.Tensor:
    return ts.take(x, i) + ts.take(x, i.flip(0))


@pytest.fixture(params=[1, 2])
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = ts.get_num_threads()
    ts.set_num_threads(request.param)
    yield
    ts.set_num_threads(before)


def _arguments(count: int = COUNT, least: int = 0, kind: str = "i8") -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(SIZE).astype("f4")
    return x, rng.integers(least, SIZE, count).astype(kind)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("count", [8192, 8193, COUNT])
def test_blocks_of_all_sizes(count: int) -> None:
    x, i = _arguments(count, -SIZE)
    compiled = ts.compile(taken, (x, i))
    assert compiled.ir("te").count("te.assert") == 1
    assert "i0 * 2048" in compiled.ir("te")
    np.testing.assert_array_equal(compiled(x, i), x[i])


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("where", [0, 2047, 2048, COUNT // 2, COUNT - 1])
@pytest.mark.parametrize("wrong", [SIZE, -SIZE - 1, 2**63 - 1, -(2**63)])
def test_wrong_places_anywhere(where: int, wrong: int) -> None:
    x, i = _arguments()
    compiled = ts.compile(taken, (x, i))
    i[where] = wrong
    with pytest.raises(IndexError, match=rf"index {wrong} on a tensor of {SIZE} elements"):
        compiled(x, i)
    i[where] = -SIZE
    np.testing.assert_array_equal(compiled(x, i), x[i])


@pytest.mark.parametrize("program", [gathered, indexed, selected])
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_other_readers(program: Callable[..., ts.Tensor], kind: str) -> None:
    x, i = _arguments(kind="i8" if program is gathered else kind)
    compiled = ts.compile(program, (x, i))
    want = np.maximum(x[i], 0) if program is selected else x[i]
    np.testing.assert_array_equal(compiled(x, i), want)
    i[-1] = SIZE
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        compiled(x, i)


def test_rows_keep_their_error() -> None:
    x, i = _arguments()
    compiled = ts.compile(embedded, (x, i))
    np.testing.assert_array_equal(compiled(x, i), x[i][:, None])
    i[5] = -1
    with pytest.raises(IndexError, match="index out of range in self"):
        compiled(x, i)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("shape", [(0,), (3, 5), (0, 7), (7, 0), (91, 103), (COUNT, 1)])
def test_named_sizes_of_two_dimensions(shape: tuple[int, ...]) -> None:
    x, i = _arguments(int(np.prod(shape)), -SIZE)
    i = i.reshape(shape)
    places = ts.TensorSpec(("M", "K")[: len(shape)], ts.int64)
    compiled = ts.compile(taken, (ts.TensorSpec(("N",), ts.float32), places))
    assert ("i0 * 2048" in compiled.ir("te")) == (len(shape) == 1)  # rows of a known size
    np.testing.assert_array_equal(compiled(x, i), x[i])
    if i.size:
        i[-1] = SIZE
        with pytest.raises(IndexError, match="out of range"):
            compiled(x, i)


def test_what_fails_writes_to_no_argument() -> None:
    x, i = _arguments()
    y = np.zeros(COUNT, "f4")
    compiled = ts.compile(copied, (x, i, y))
    i[-1] = SIZE
    with pytest.raises(IndexError, match="out of range"):
        compiled(x, i, y)
    assert not y.any()
    i[-1] = 0
    compiled(x, i, y)
    np.testing.assert_array_equal(y, x[i])


def test_known_rows_are_walked_at_once() -> None:
    x, i = _arguments(91 * 103, -SIZE)
    i = i.reshape(91, 103)
    compiled = ts.compile(taken, (x, i))
    assert "i0 * 2048" in compiled.ir("te")
    np.testing.assert_array_equal(compiled(x, i), x[i])
    i[90, 102] = -SIZE - 1
    with pytest.raises(IndexError, match="out of range"):
        compiled(x, i)


@pytest.mark.parametrize("program", [first_refused, added])
def test_two_tests_of_the_same_places(program: Callable[..., ts.Tensor]) -> None:
    """No read moves before a test that is about it."""
    x, i = _arguments()
    y = np.arange(SIZE + 10, dtype="f4")
    compiled = ts.compile(program, (x, y, i))
    np.testing.assert_array_equal(compiled(x, y, i), x[i] + y[i] if program is added else x[i])
    i[7] = SIZE + 5
    with pytest.raises(IndexError, match="tensor of 300 elements"):
        compiled(x, y, i)
    i[7] = SIZE + 10
    with pytest.raises(IndexError, match=r"tensor of (300|310) elements"):
        compiled(x, y, i)


def test_places_of_other_blocks() -> None:
    x, i = _arguments()
    compiled = ts.compile(turned, (x, i))
    np.testing.assert_array_equal(compiled(x, i), x[i] + x[i[::-1]])
    i[-1] = 10**9
    with pytest.raises(IndexError, match="out of range"):
        compiled(x, i)
