"""Where results and temporaries lie: at whole cache lines, in memory that earlier results have
left, and nowhere where there is no room for them."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.cpu.runtime.arrays import LEAST_BYTES
from tensorscript.base.errors import OperatorError

ALIGNMENT = 64
LARGE = LEAST_BYTES // 4


def plus_one(x):
    return x + 1


def both(x):
    return x + 1, x.sum(0)


def repeated(x, n: int):
    return x.reshape(1, 1).expand(n, n).contiguous()


@pytest.mark.parametrize("size", [LARGE - 1, LARGE, LARGE + 1, 3 * LARGE])
@pytest.mark.parametrize("known", [True, False])
def test_results_of_any_size(size: int, known: bool) -> None:
    f = ts.compile(plus_one, [ts.TensorSpec((size if known else "N",), ts.float32)])
    x = np.arange(size, dtype=np.float32)
    for _ in range(3):
        y = f(x)
        np.testing.assert_array_equal(y, x + 1)
        assert y.base is None and y.flags.owndata and y.flags.writeable
        assert size < LARGE or y.ctypes.data % ALIGNMENT == 0


def test_a_result_in_use_is_not_given_out_again() -> None:
    f = ts.compile(plus_one)
    x = np.zeros(LARGE, np.float32)
    kept = [f(np.full_like(x, k)) for k in range(8)]
    assert [float(y[-1]) for y in kept] == [k + 1.0 for k in range(8)]
    assert len({y.ctypes.data for y in kept}) == 8


def test_memory_comes_back() -> None:
    f = ts.compile(plus_one)
    x = np.zeros(5 * LARGE, np.float32)
    places = {f(x).ctypes.data for _ in range(20)}
    assert len(places) < 5  # of memory that others left, malloc may take another piece at first


def test_a_large_result_beside_a_small_one() -> None:
    x = np.random.default_rng(0).standard_normal((LARGE, 2)).astype(np.float32)
    y, s = ts.compile(both)(x)
    np.testing.assert_array_equal(y, x + 1)
    assert s.shape == (2,)


def test_a_result_can_be_resized_and_outlives_the_program() -> None:
    f = ts.compile(plus_one)
    y = f(np.arange(LARGE, dtype=np.float32))
    del f
    y.resize(4 * LARGE, refcheck=False)
    np.testing.assert_array_equal(y[:LARGE], np.arange(LARGE) + 1)
    assert not y[LARGE:].any()
    y.resize(8, refcheck=False)
    np.testing.assert_array_equal(y, np.arange(8) + 1)


def test_numpys_own_arrays_stay_numpys() -> None:
    handler = np._core.multiarray.get_handler_name
    y = ts.compile(plus_one)(np.zeros(LARGE, np.float32))
    assert handler(y) == "tensorscript"
    assert handler(np.empty(LARGE, np.float32)) == handler() != "tensorscript"


def test_no_memory_is_an_error_not_a_crash() -> None:
    f = ts.compile(repeated)
    one = np.ones(1, np.float32)
    assert f(one, 3).shape == (3, 3)
    with pytest.raises(OperatorError, match="can't allocate memory"):
        f(one, 1 << 27)
    assert f(one, 3).shape == (3, 3)


def sorted_product(x: ts.Tensor, y: ts.Tensor):
    return (x @ y).sort(1)[0].cumsum(0).sum()


def test_temporaries_whose_bytes_64_bits_do_not_count_are_refused() -> None:
    """The product of two sizes wraps around to a small block, which would be written past."""
    specs = [ts.TensorSpec(("N", "K"), ts.float32), ts.TensorSpec(("K", "M"), ts.float32)]
    run = ts.compile(sorted_product, specs, fallback="error", cache=False)
    assert run(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)) == 18
    none = np.empty((1 << 31, 0), np.float32)
    with pytest.raises(OperatorError, match="array is too big"):
        run(none, none.T.copy())


def picked(x: ts.Tensor, keep: ts.Tensor):
    return keep.nonzero(), x[keep].long(), keep.nonzero() + 1


def test_results_that_numpy_has_no_room_for_are_refused() -> None:
    """NumPy counts the bytes of empty arrays, too, and makes no array; the others are given up."""
    run = ts.compile(picked, fallback="error", cache=False)
    keep = np.array([True, False])
    assert run(np.ones((2, 3, 0), np.int8), keep)[1].shape == (1, 3, 0)
    with pytest.raises(ValueError, match="array is too big"):
        run(np.empty((2, 1 << 61, 0), np.int8), keep)
