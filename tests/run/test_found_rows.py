"""Products, filters and reductions of sizes that the program finds: the same as of known ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.nn import functional as F

ROWS = (0, 1, 2, 3, 5, 7, 8, 9, 13, 14, 15, 27, 28, 64, 113, 400)


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = ts.get_num_threads()
    ts.set_num_threads(request.param)
    yield
    ts.set_num_threads(before)


class Layer(nn.Module):
    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(depth, width)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return F.gelu(self.linear(x))


def draw(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    ("depth", "width"), [(784, 64), (16, 96), (100, 70), (1024, 33), (3, 40), (300, 8)]
)
def test_layers_of_any_number_of_rows(depth: int, width: int) -> None:
    layer = Layer(depth, width)
    native = ts.compile(layer, (ts.TensorSpec(("N", depth), ts.float32),), fallback="error")
    for rows in ROWS:
        x = draw(rows, depth)
        wanted = np.asarray(layer(ts.from_numpy(x)).detach())
        np.testing.assert_allclose(native(x), wanted, 1e-4, 1e-4)


def test_rows_that_are_two_dimensions() -> None:
    layer = Layer(24, 144)
    native = ts.compile(layer, (ts.TensorSpec(("H", "W", 24), ts.float32),), fallback="error")
    for height, width in ((1, 1), (3, 4), (5, 13), (9, 40), (0, 3)):
        x = draw(height, width, 24)
        wanted = np.asarray(layer(ts.from_numpy(x)).detach())
        np.testing.assert_allclose(native(x), wanted, 1e-4, 1e-4)


def product(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.relu(ts.matmul(x, y))


def turned(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.matmul(x.transpose(-1, -2), y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("depth", "width"), [(256, 64), (40, 50), (1024, 16)])
def test_products_of_two_arguments(dtype: str, depth: int, width: int) -> None:
    kind = ts.float32 if dtype == "f4" else ts.float64
    specs = (ts.TensorSpec(("N", depth), kind), ts.TensorSpec((depth, width), kind))
    native = ts.compile(product, specs, fallback="error")
    y = draw(depth, width, dtype=dtype)
    for rows in ROWS:
        x = draw(rows, depth, dtype=dtype)
        np.testing.assert_allclose(native(x, y), np.maximum(x @ y, 0), 1e-3, 1e-3)


def test_rows_that_lie_across() -> None:
    specs = (ts.TensorSpec((40, "N"), ts.float32), ts.TensorSpec((40, 48), ts.float32))
    native = ts.compile(turned, specs, fallback="error")
    y = draw(40, 48)
    for rows in ROWS:
        x = draw(40, rows)
        np.testing.assert_allclose(native(x, y), x.T @ y, 1e-3, 1e-3)


def test_batches() -> None:
    specs = (ts.TensorSpec((3, "N", 64), ts.float32), ts.TensorSpec((3, 64, 80), ts.float32))
    native = ts.compile(product, specs, fallback="error")
    y = draw(3, 64, 80)
    for rows in ROWS[:12]:
        x = draw(3, rows, 64)
        np.testing.assert_allclose(native(x, y), np.maximum(x @ y, 0), 1e-3, 1e-3)


ANY = {
    "plain": (product, ("M", "K"), ("K", "N")),
    "turned": (turned, ("K", "M"), ("K", "N")),
    "batched": (product, ("B", "M", "K"), ("B", "K", "N")),
    "columns": (product, (40, "K"), ("K", "N")),
}
SIZES = (
    {"M": 1, "K": 1, "N": 1, "B": 1}, {"M": 15, "K": 0, "N": 33, "B": 2},
    {"M": 4, "K": 64, "N": 64, "B": 3}, {"M": 29, "K": 193, "N": 32, "B": 1},
    {"M": 130, "K": 400, "N": 70, "B": 2}, {"M": 700, "K": 17, "N": 9, "B": 1},
    {"M": 0, "K": 5, "N": 7, "B": 0}, {"M": 13, "K": 257, "N": 300, "B": 1},
)  # fmt: skip


@pytest.mark.parametrize("dtype", [ts.float32, ts.float64, ts.int64, ts.int8, ts.bfloat16])
@pytest.mark.parametrize("name", ANY)
def test_products_of_any_sizes(name: str, dtype: ts.dtype) -> None:
    program, *shapes = ANY[name]
    specs = [ts.TensorSpec(shape, dtype) for shape in shapes]
    native = ts.compile(program, specs, fallback="error")
    ts.manual_seed(0)
    for sizes in SIZES:
        first = [sizes.get(str(size), size) for size in shapes[0]]
        second = [sizes.get(str(size), size) for size in shapes[1]]
        given = [ts.randn(*first), ts.randn(*second)]
        x, y = ((3 * a).to(dtype) for a in given)
        wanted = np.asarray(program(x, y).double())
        error = 0.05 if dtype is ts.bfloat16 else 1e-3
        np.testing.assert_allclose(native(x, y).double().numpy(), wanted, error, error)


class Filters(nn.Module):
    """Convolutions whose channels lie last, between those that have a product for each pixel."""

    def __init__(self, stride: int, kernel: int, dilation: int) -> None:
        super().__init__()
        padding = dilation * (kernel // 2)
        self.wide = nn.Conv2d(8, 96, 1)
        self.each = nn.Conv2d(96, 96, kernel, stride, padding, dilation, groups=96)
        self.narrow = nn.Conv2d(96, 16, 1)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return self.narrow(F.relu6(self.each(F.relu6(self.wide(x)))))


@pytest.mark.parametrize(
    ("stride", "kernel", "dilation"), [(1, 3, 1), (2, 3, 1), (1, 5, 1), (1, 3, 2)]
)
def test_filters_of_images_of_any_size(stride: int, kernel: int, dilation: int) -> None:
    module = Filters(stride, kernel, dilation).eval()
    native = ts.compile(module, (ts.TensorSpec((1, 8, "H", "W"), ts.float32),), fallback="error")
    for height, width in ((1, 1), (2, 3), (5, 4), (7, 9), (6, 16), (13, 31)):
        x = draw(1, 8, height, width)
        wanted = np.asarray(module(ts.from_numpy(x)).detach())
        np.testing.assert_allclose(native(x), wanted, 1e-3, 1e-3)


LINES = {
    "wide": nn.Conv1d(20, 48, 3, 1, 1),
    "strided": nn.Conv1d(20, 33, 5, 2),
    "each": nn.Conv1d(20, 20, 7, 1, 3, groups=20),
    "pooled": nn.MaxPool1d(3, 2, 1),
}
PLANES = {
    "largest": nn.MaxPool2d(2),
    "overlapping": nn.MaxPool2d(3, 2, 1),
    "mean": nn.AvgPool2d(3, 1, 1),
    "each": nn.Conv2d(20, 20, 3, 1, 1, groups=20),
    "dense": nn.Conv2d(20, 40, 3, 2, 1),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_any_length(name: str) -> None:
    module = LINES[name]
    native = ts.compile(module, (ts.TensorSpec((1, 20, "L"), ts.float32),), fallback="error")
    for length in (5, 8, 16, 31, 100, 400):
        x = draw(1, 20, length)
        wanted = np.asarray(module(ts.from_numpy(x)).detach())
        np.testing.assert_allclose(native(x), wanted, 1e-4, 1e-4)


@pytest.mark.parametrize("name", PLANES)
def test_planes_of_any_size(name: str) -> None:
    module = PLANES[name]
    native = ts.compile(module, (ts.TensorSpec((2, 20, "H", "W"), ts.float32),), fallback="error")
    for height, width in ((2, 3), (4, 16), (7, 35), (20, 66)):
        x = draw(2, 20, height, width)
        wanted = np.asarray(module(ts.from_numpy(x)).detach())
        np.testing.assert_allclose(native(x), wanted, 1e-4, 1e-4)


def softened(x: ts.Tensor) -> ts.Tensor:
    return x.logsumexp(1) + x.argmax(1)


@pytest.mark.parametrize("shape", [("N", 3, 20, 30), ("N", 21, 5, 7), ("N", 3)])
def test_channels_of_any_number_of_images(shape: tuple[int | str, ...]) -> None:
    native = ts.compile(softened, (ts.TensorSpec(shape, ts.float32),), fallback="error")
    for count in (0, 1, 2, 5, 70):
        x = draw(count, *(s for s in shape if isinstance(s, int)))
        wanted = np.asarray(softened(ts.from_numpy(x)))
        np.testing.assert_allclose(native(x), wanted, 1e-4, 1e-4)


def test_lanes_go_along_pixels_whatever_the_number_of_images() -> None:
    spec = ts.TensorSpec(("N", 3, 64, 64), ts.float32)
    loops = ts.compile(softened, (spec,), fallback="error").ir("schedule")
    assert '"vectorize_outer", "i0"' not in loops


@pytest.mark.parametrize("name", ["i0", "p0", "row", "first", "kb", "tb", "jq", "tile", "yp", "n"])
def test_sizes_are_no_variables_of_kernels(name: str) -> None:
    layer = Layer(40, 48)
    native = ts.compile(layer, (ts.TensorSpec((name, 40), ts.float32),), fallback="error")
    x = draw(20, 40)
    wanted = np.asarray(layer(ts.from_numpy(x)).detach())
    np.testing.assert_allclose(native(x), wanted, 1e-4, 1e-4)


def of_heads(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def reshaped(x: ts.Tensor) -> ts.Tensor:
    return x.reshape(4, -1) + 1


@pytest.mark.parametrize(
    ("program", "shapes", "step"),
    [
        (of_heads, [(2, "S", 64)] * 3, "tensorize"),
        (product, [("M", "K"), ("K", "N")], "tensorize"),
        (reshaped, [(8, "N")], "unfuse"),
    ],
)
def test_schedules_of_found_sizes(
    program: Callable[..., ts.Tensor], shapes: list[tuple[int | str, ...]], step: str
) -> None:
    specs = [ts.TensorSpec(shape) for shape in shapes]
    assert f"{step}(" in ts.schedule(program, specs, start="default").steps
