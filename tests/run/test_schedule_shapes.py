"""Do the CPU's schedules give the right numbers at every shape: whole blocks, rests, and edges?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorscript as ts


def transposed(x: ts.Tensor) -> ts.Tensor:
    return x.t().contiguous()


def transposed_sum(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.exp(x.t()) + y * 2


def symmetric(x: ts.Tensor) -> ts.Tensor:
    return x + x.t()


def swapped(x: ts.Tensor) -> ts.Tensor:
    return x.transpose(1, 2).contiguous()


def channels_last(x: ts.Tensor) -> ts.Tensor:
    return x.permute(0, 2, 3, 1).contiguous()


def row_times_matrix(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.relu(x @ w) + 1


def column_sums(x: ts.Tensor) -> ts.Tensor:
    return x.sum(0)


def column_maxima(x: ts.Tensor) -> ts.Tensor:
    return ts.amax(x, 0)


def linear(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.linear(x, w, b)


def scores(q: ts.Tensor, k: ts.Tensor) -> ts.Tensor:
    return ts.matmul(q, k.transpose(-2, -1))


def array(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def check(program: Callable[..., ts.Tensor], wanted: np.ndarray, *arrays: np.ndarray) -> str:
    """The scheduled text for one processor, after comparing the result here with `wanted`."""
    compiled = ts.compile(program, arrays, fallback="error")
    depth = arrays[0].shape[-1] if wanted.dtype == np.float32 else 1
    np.testing.assert_allclose(compiled(*arrays), wanted, rtol=1e-5, atol=1e-6 * max(depth, 16))
    text: str = ts.compile(program, arrays, fallback="error", cpu="x86-64-v4").ir("scheduled")
    return text


@pytest.mark.parametrize("shape", [(16, 16), (64, 48), (33, 50), (17, 16), (16, 31), (5, 40)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
def test_transposes(shape: tuple[int, int], dtype: str) -> None:
    x = (array(*shape) * 50).astype(dtype)
    text = check(transposed, np.ascontiguousarray(x.T), x)
    assert ("i0_u0" in text) == (min(shape) >= (8 if dtype == "f8" else 16))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
@pytest.mark.parametrize("rows", [64, 192, 100, 256])
def test_transposes_whose_rows_share_a_set_of_the_cache(rows: int, dtype: str) -> None:
    columns = 4096 // np.dtype(dtype).itemsize
    x, y = array(rows, columns, dtype=dtype), array(columns, rows, dtype=dtype)
    check(transposed, x.T, x)
    if dtype[0] == "f":
        check(transposed_sum, np.exp(x.T) + y * 2, x, y)


def test_a_matrix_and_its_transpose() -> None:
    x = array(1024, 1024)
    x[3, 5] = np.nan
    check(symmetric, x + x.T, x)


def test_transposes_of_a_batch_of_unknown_size() -> None:
    x = array(3, 128, 1024)
    compiled = ts.compile(swapped, [ts.TensorSpec(("B", 128, 1024), ts.float32)])
    np.testing.assert_array_equal(compiled(x), x.transpose(0, 2, 1))


@pytest.mark.parametrize("shape", [(32, 32), (40, 19), (3, 70)])
def test_a_transposed_operand_of_a_chain(shape: tuple[int, int]) -> None:
    x, y = array(*shape), array(*shape[::-1])
    check(transposed_sum, np.exp(x.T) + y * 2, x, y)


def test_a_permutation_inside_other_loops() -> None:
    x = array(2, 24, 5, 18)
    text = check(channels_last, np.ascontiguousarray(x.transpose(0, 2, 3, 1)), x)
    assert "_u0" in text


@pytest.mark.parametrize(("depth", "width"), [(256, 256), (300, 2049), (1001, 4096), (7, 500)])
def test_reductions_across_memory(depth: int, width: int) -> None:
    x, w = array(1, depth), array(depth, width)
    text = check(row_times_matrix, np.maximum(x @ w, 0) + 1, x, w)
    assert ("i1_s_o in" in text) == (depth >= 256)
    check(column_sums, w.sum(0, dtype=np.float64).astype("f4"), w)
    check(column_maxima, w.max(0), w)


@pytest.mark.parametrize(
    ("rows", "depth", "columns"), [(64, 512, 512), (20, 70, 100), (9, 16, 330), (33, 2050, 64)]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_with_a_factor_that_lies_across(
    rows: int, depth: int, columns: int, dtype: str
) -> None:
    x, w = array(rows, depth, dtype=dtype), array(columns, depth, dtype=dtype)
    b = array(columns, dtype=dtype)
    wanted = x.astype("f8") @ w.T.astype("f8") + b
    text = check(linear, wanted.astype(dtype), x, w, b)
    assert "te.for ku" in text


def test_a_batch_of_products_that_lie_across() -> None:
    q, k = array(3, 40, 64), array(3, 50, 64)
    check(scores, (q.astype("f8") @ k.transpose(0, 2, 1)).astype("f4"), q, k)


class Dense(ts.nn.Module):
    """A layer whose weights are constants of the compilation."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = ts.nn.Linear(inputs, outputs)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return self.linear(x)


@pytest.mark.parametrize("rows", [1, 2, 3, 17])
def test_constant_weights_are_packed_once(rows: int) -> None:
    layer = Dense(300, 210).eval()
    x = array(rows, 300)
    text = check(layer, np.asarray(layer(ts.from_numpy(x))), x)
    assert "te.constant @w0_yp" in text and "alloc stack yp" not in text


def two_stages(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    z = ts.tanh(x * y + x) - y * 0.5
    z = ts.exp(-z * z) + x
    return ts.sqrt(z * z + 1) * y


@pytest.mark.parametrize("shape", [(7,), (33, 40), (64, 64)])
def test_chains_of_two_stages_are_vectors(shape: tuple[int, ...]) -> None:
    x, y = array(*shape).astype("f8"), array(*shape).astype("f8") + 1
    z = np.exp(-((np.tanh(x * y + x) - y * 0.5) ** 2)) + x
    text = check(two_stages, np.sqrt(z * z + 1) * y, x, y)
    assert " vector {" in text and "te.let" in text


def product(a: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return a @ b


def chosen_depth(a: ts.Tensor, b: ts.Tensor, chosen: ts.Tensor) -> ts.Tensor:
    return a[:, chosen] @ b[chosen]


def chosen_rows(a: ts.Tensor, b: ts.Tensor, chosen: ts.Tensor) -> ts.Tensor:
    return a[chosen] @ b


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def test_products_of_named_sizes_in_one_and_in_several_blocks() -> None:
    specs = ts.TensorSpec(("M", "K")), ts.TensorSpec(("K", "N"))
    compiled = ts.compile(product, specs, cache=False, fallback="error")
    for m, k, n in ((3, 5, 4), (16, 33, 40), (3, 256, 5), (20, 257, 70), (20, 600, 9)):
        a, b = normal(m, k), normal(k, n)
        np.testing.assert_allclose(compiled(a, b), a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("program", [chosen_depth, chosen_rows])
def test_products_of_found_sizes_may_be_empty(program: Callable[..., ts.Tensor]) -> None:
    a, b = normal(30, 30), normal(30, 40)
    compiled = ts.compile(program, cache=False, fallback="error")
    for count in (0, 1, 30):
        chosen = np.arange(30) < count
        wanted = a[:, chosen] @ b[chosen] if program is chosen_depth else a[chosen] @ b
        np.testing.assert_allclose(compiled(a, b, chosen), wanted, rtol=1e-4, atol=1e-4)
