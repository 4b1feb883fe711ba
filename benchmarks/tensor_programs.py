"""Tensor workloads by group: a program each, its arrays, and peers written by hand where these have
users who would write them.

The programs are plain PyTorch (or TensorScript where PyTorch is not installed); the same function
goes to every framework.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from peers import jax, lib, numba

F = lib.nn.functional
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Workload:
    """One row of the table.

    Attributes:
        make: arrays from a random generator.
        flops: operations of one call where they bound it, for the roofline; 0 where memory does.
    """

    name: str
    program: Callable[..., Any]
    make: Callable[[np.random.Generator], Arrays]
    jax: Callable[..., Any] | None = None
    numba: Callable[[], Callable[..., Any]] | None = None
    numpy: Callable[..., Any] | None = None
    flops: float = 0.0


def normal(*shapes: tuple[int, ...], dtype: str = "f4") -> Callable[[np.random.Generator], Arrays]:
    return lambda random: tuple(random.standard_normal(s).astype(dtype) for s in shapes)


# --- pointwise ----------------------------------------------------------------------------------


def chain(x, y):
    return lib.sigmoid(x * y + 1) * x


def chain_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-(x * y + 1)))


def chain_jax(x: Any, y: Any) -> Any:
    return jax.nn.sigmoid(x * y + 1) * x


def chain_numba() -> Callable[..., Any]:
    @numba.njit(parallel=True, fastmath=True)
    def run(x, y):
        out = np.empty_like(x)
        a, b, c = x.ravel(), y.ravel(), out.ravel()
        for i in numba.prange(a.size):
            c[i] = a[i] / (np.float32(1) + np.exp(-(a[i] * b[i] + np.float32(1))))
        return out

    return run


def gelu(x):
    return F.gelu(x)


def ten_operations(x, y):
    z = x * y + x
    z = lib.tanh(z) - y * 0.5
    z = lib.exp(-z * z) + x
    return lib.sqrt(z * z + 1) * y


def ten_operations_jax(x: Any, y: Any) -> Any:
    n = jax.numpy
    z = n.tanh(x * y + x) - y * 0.5
    z = n.exp(-z * z) + x
    return n.sqrt(z * z + 1) * y


def bias_relu(x, b):
    return lib.relu(x + b)


def clamped(x, y):
    return lib.where(x > y, x.clamp(-1.0, 1.0), y * 0.1)


# --- reductions and normalisations --------------------------------------------------------------


def sum_rows(x):
    return x.sum(1)


def sum_columns(x):
    return x.sum(0)


def sum_all(x):
    return x.sum()


def argmax_rows(x):
    return x.argmax(1)


def variance(x):
    return x.var(1)


def logsumexp(x):
    return x.logsumexp(1)


def softmax(x):
    return lib.softmax(x, 1)


def softmax_numpy(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def softmax_numba() -> Callable[..., Any]:
    @numba.njit(parallel=True, fastmath=True)
    def run(x):
        out = np.empty_like(x)
        for i in numba.prange(x.shape[0]):
            m = np.float32(-np.inf)
            for j in range(x.shape[1]):
                m = max(m, x[i, j])
            s = np.float32(0)
            for j in range(x.shape[1]):
                e = np.exp(x[i, j] - m)
                out[i, j] = e
                s += e
            for j in range(x.shape[1]):
                out[i, j] /= s
        return out

    return run


def layer_norm(x, w, b):
    return F.layer_norm(x, (512,), w, b)


def layer_norm_jax(x: Any, w: Any, b: Any) -> Any:
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * jax.lax.rsqrt(v + 1e-5) * w + b


def rms_norm(x, w):
    return x * lib.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def rms_norm_jax(x: Any, w: Any) -> Any:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def batch_norm(x, m, v, w, b):
    return lib.relu(F.batch_norm(x, m, v * v, w, b, False, 0.1, 1e-5))


# --- products -----------------------------------------------------------------------------------


def dense(x, w, b):
    return lib.relu(x @ w + b)


def dense_jax(x: Any, w: Any, b: Any) -> Any:
    return jax.numpy.maximum(x @ w + b, 0)


def dense_gelu(x, w, b):
    return F.gelu(x @ w + b)


def product(x, w):
    return lib.matmul(x, w)


def linear(x, w, b):
    return F.linear(x, w, b)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


# --- windows ------------------------------------------------------------------------------------


def convolution(x, w, b):
    return lib.relu(F.conv2d(x, w, b, padding=1))


def first_layer(x, w, b):
    return lib.relu(F.conv2d(x, w, b, stride=2, padding=3))


def pointwise_convolution(x, w, b):
    return lib.relu(F.conv2d(x, w, b))


def depthwise(x, w, b):
    return lib.relu(F.conv2d(x, w, b, padding=1, groups=96))


def one_dimensional(x, w, b):
    return F.conv1d(x, w, b, padding=4)


def transposed(x, w, b):
    return F.conv_transpose2d(x, w, b, stride=2)


def max_pool(x):
    return F.max_pool2d(x, 3, 2, 1)


def average_pool(x):
    return F.avg_pool2d(x, 2)


# --- data ---------------------------------------------------------------------------------------


def gather_rows(x, i):
    return x[i]


def sorted_rows(x):
    return lib.sort(x, 1)[0]


def top_ten(x):
    return lib.topk(x, 10, 1)[0]


def running_sum(x):
    return x.cumsum(1)


def transpose(x):
    return x.t().contiguous()


def joined(x, y):
    return lib.cat([x, y], 1)


def add(x, y):
    return x + y


def add_numba() -> Callable[..., Any]:
    jitted: Callable[..., Any] = numba.njit(add)
    return jitted


def _rows_and_places(random: np.random.Generator) -> Arrays:
    return random.standard_normal((30000, 256)).astype("f4"), random.integers(0, 30000, 512)


def _square(n: int) -> Callable[[np.random.Generator], Arrays]:
    return normal((n, n), (n, n))


def _dense(n: int) -> Callable[[np.random.Generator], Arrays]:
    return normal((n, n), (n, n), (n,))


def _matmul_jax(x: Any, w: Any) -> Any:
    return x @ w


def _layer(
    name: str,
    program: Callable[..., Any],
    image: tuple[int, int],
    weights: tuple[int, int, int],
    pixels: int,
) -> Workload:
    """A convolution of a square image (channels, side) with weights (out, channels, side)."""
    (channels, side), (out, inputs, kernel) = image, weights
    make = normal((1, channels, side, side), (out, inputs, kernel, kernel), (out,))
    flops = 2.0 * pixels * out * inputs * kernel * kernel
    return Workload(name, program, make, flops=flops)


_MATRIX = normal((1024, 1024))
_HEADS = (1, 12, 128, 64)

GROUPS: dict[str, tuple[Workload, ...]] = {
    "pointwise": (
        *(
            Workload(f"sigmoid(x*y+1)*x {n}x{n}", chain, _square(n), chain_jax, chain_numba,
                     chain_numpy)
            for n in (64, 1024, 4096)
        ),
        Workload("the same, float64 1024x1024", chain, normal((1024, 1024), (1024, 1024),
                 dtype="f8"), chain_jax, None, chain_numpy),
        Workload("gelu 1024x1024", gelu, _MATRIX,
                 lambda x: jax.nn.gelu(x, approximate=False)),
        Workload("ten operations 1024x1024", ten_operations, _square(1024), ten_operations_jax),
        Workload("relu(x+b) 1024x1024", bias_relu, normal((1024, 1024), (1024,)),
                 lambda x, b: jax.numpy.maximum(x + b, 0)),
        Workload("where and clamp 1024x1024", clamped, _square(1024)),
    ),
    "reduction": (
        Workload("sum of rows 1024x1024", sum_rows, _MATRIX, lambda x: x.sum(1), None,
                 lambda x: x.sum(1)),
        Workload("sum of columns 1024x1024", sum_columns, _MATRIX, lambda x: x.sum(0), None,
                 lambda x: x.sum(0)),
        Workload("sum of all 1024x1024", sum_all, _MATRIX, lambda x: x.sum(), None,
                 lambda x: x.sum()),
        Workload("argmax of rows 1024x1024", argmax_rows, _MATRIX, lambda x: x.argmax(1), None,
                 lambda x: x.argmax(1)),
        Workload("variance of rows 1024x1024", variance, _MATRIX, lambda x: x.var(1, ddof=1)),
        Workload("logsumexp of rows 1024x1024", logsumexp, _MATRIX,
                 lambda x: jax.nn.logsumexp(x, axis=1)),
    ),
    "normalisation": (
        *(
            Workload(f"softmax of rows {n}x{n}", softmax, normal((n, n)),
                     lambda x: jax.nn.softmax(x, axis=1), softmax_numba, softmax_numpy)
            for n in (64, 1024)
        ),
        Workload("layer norm 8192x512", layer_norm, normal((8192, 512), (512,), (512,)),
                 layer_norm_jax),
        Workload("rms norm 8192x512", rms_norm, normal((8192, 512), (512,)), rms_norm_jax),
        Workload("batch norm, relu 1x64x56x56", batch_norm,
                 normal((1, 64, 56, 56), (64,), (64,), (64,), (64,))),
    ),
    "product": (
        *(
            Workload(f"relu(x@w+b) {n}", dense, _dense(n), dense_jax, None,
                     lambda x, w, b: np.maximum(x @ w + b, 0), 2.0 * n**3)
            for n in (64, 128, 512, 1024)
        ),
        Workload("matmul 1024", product, _square(1024), _matmul_jax, None, np.matmul, 2.0**31),
        Workload("gelu(x@w+b) 512", dense_gelu, _dense(512),
                 lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False), None, None,
                 2.0 * 512**3),
        Workload("matmul 512 float64", product, normal((512, 512), (512, 512), dtype="f8"),
                 _matmul_jax, None, np.matmul, 2.0 * 512**3),
        Workload("1x4096 @ 4096x4096", product, normal((1, 4096), (4096, 4096)), _matmul_jax, None,
                 np.matmul),
        Workload("linear 64x512, 512", linear, normal((64, 512), (512, 512), (512,)),
                 lambda x, w, b: x @ w.T + b, None, lambda x, w, b: x @ w.T + b,
                 2.0 * 64 * 512**2),
        Workload("12 of 128x64 @ 64x128", product, normal((12, 128, 64), (12, 64, 128)),
                 _matmul_jax, None, np.matmul, 2.0 * 12 * 128 * 128 * 64),
        Workload("attention S=128 H=12 D=64", attention, normal(_HEADS, _HEADS, _HEADS), None,
                 None, None, 4.0 * 12 * 128 * 128 * 64),
    ),
    "window": (
        _layer("3x3, 64 to 64, 56x56", convolution, (64, 56), (64, 64, 3), 56**2),
        _layer("3x3, 256 to 256, 14x14", convolution, (256, 14), (256, 256, 3), 14**2),
        _layer("7x7 / 2, 3 to 64, 224x224", first_layer, (3, 224), (64, 3, 7), 112**2),
        _layer("1x1, 256 to 128, 28x28", pointwise_convolution, (256, 28), (128, 256, 1), 28**2),
        _layer("depthwise 3x3, 96, 56x56", depthwise, (96, 56), (96, 1, 3), 56**2),
        Workload("1-D, 64 to 64, 9 taps, 1000", one_dimensional,
                 normal((1, 64, 1000), (64, 64, 9), (64,)), None, None, None,
                 2.0 * 1000 * 64 * 64 * 9),
        Workload("transposed 2x2 / 2, 128 to 64, 28x28", transposed,
                 normal((1, 128, 28, 28), (128, 64, 2, 2), (64,)), None, None, None,
                 2.0 * 56 * 56 * 64 * 128),
        Workload("max pool 3x3 / 2, 64, 112x112", max_pool, normal((1, 64, 112, 112))),
        Workload("average pool 2x2, 64, 112x112", average_pool, normal((1, 64, 112, 112))),
    ),
    "data": (
        Workload("512 rows of 30000x256", gather_rows, _rows_and_places, lambda x, i: x[i], None,
                 lambda x, i: x[i]),
        Workload("sort 64x1024", sorted_rows, normal((64, 1024)),
                 lambda x: jax.numpy.sort(x, 1), None, lambda x: np.sort(x, 1)),
        Workload("top 10 of 64x1024", top_ten, normal((64, 1024)),
                 lambda x: jax.lax.top_k(x, 10)[0]),
        Workload("running sum 512x1024", running_sum, normal((512, 1024)),
                 lambda x: x.cumsum(1), None, lambda x: x.cumsum(1)),
        Workload("transpose 1024x1024", transpose, _MATRIX, lambda x: x.T + 0, None,
                 lambda x: np.ascontiguousarray(x.T)),
        Workload("join 1024x512 twice", joined, normal((1024, 512), (1024, 512)),
                 lambda x, y: jax.numpy.concatenate([x, y], 1), None,
                 lambda x, y: np.concatenate([x, y], 1)),
    ),
    "call": (
        Workload("add of two 8-element arrays", add, normal((8,), (8,)), add, add_numba, np.add),
    ),
}  # fmt: skip
