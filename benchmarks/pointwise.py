"""Chains of element-wise operations, and the least of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from peers import jax, lib, numba
from workload import MATRIX, Workload, normal, square, workload

F = lib.nn.functional


def chain(x, y):
    return lib.sigmoid(x * y + 1) * x


def chain_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-(x * y + 1)))


def chain_jax(x: Any, y: Any) -> Any:
    return jax.nn.sigmoid(x * y + 1) * x


def chain_numba() -> Callable[..., Any]:
    prange = numba.prange  # what is compiled may not go through our late import

    @numba.njit(parallel=True, fastmath=True)
    def run(x, y):
        out = np.empty_like(x)
        a, b, c = x.ravel(), y.ravel(), out.ravel()
        for i in prange(a.size):
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


def clamped_jax(x: Any, y: Any) -> Any:
    return jax.numpy.where(x > y, jax.numpy.clip(x, -1.0, 1.0), y * 0.1)


def add(x, y):
    return x + y


def add_numba() -> Callable[..., Any]:
    jitted: Callable[..., Any] = numba.njit(add)
    return jitted


POINTWISE: tuple[Workload, ...] = (
    *(
        workload(f"sigmoid(x*y+1)*x {n}x{n}", chain, square(n), chain_jax, chain_numba, chain_numpy)
        for n in (64, 1024, 4096)
    ),
    workload("the same, float64 1024x1024", chain, normal((1024, 1024), (1024, 1024), dtype="f8"),
             chain_jax, None, chain_numpy),
    workload("gelu 1024x1024", gelu, MATRIX, lambda x: jax.nn.gelu(x, approximate=False)),
    workload("ten operations 1024x1024", ten_operations, square(1024), ten_operations_jax),
    workload("relu(x+b) 1024x1024", bias_relu, normal((1024, 1024), (1024,)),
             lambda x, b: jax.numpy.maximum(x + b, 0)),
    workload("where and clamp 1024x1024", clamped, square(1024), clamped_jax),
)  # fmt: skip

CALL: tuple[Workload, ...] = (
    workload("add of two 8-element arrays", add, normal((8,), (8,)), add, add_numba, np.add),
)
