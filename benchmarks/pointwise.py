"""Chains of element-wise operations, and the least of calls."""

from __future__ import annotations

from typing import Any

import numba_peers
import numpy as np
from numba_peers import jitted
from peers import jax, lib
from workload import MATRIX, Workload, normal, square, workload

F = lib.nn.functional


def chain(x, y):
    return lib.sigmoid(x * y + 1) * x


def chain_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-(x * y + 1)))


def chain_jax(x: Any, y: Any) -> Any:
    return jax.nn.sigmoid(x * y + 1) * x


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


def tiny_steps(x, y):
    for _ in range(1000):
        x = x * 0.999 + y
    return x


def tiny_steps_jax(x: Any, y: Any) -> Any:
    return jax.lax.fori_loop(0, 1000, lambda _, z: z * 0.999 + y, x)


POINTWISE: tuple[Workload, ...] = (
    *(
        workload(f"sigmoid(x*y+1)*x {n}x{n}", chain, square(n), chain_jax,
                 jitted(numba_peers.chain), chain_numpy)
        for n in (64, 1024, 4096)
    ),
    workload("the same, float64 1024x1024", chain, normal((1024, 1024), (1024, 1024), dtype="f8"),
             chain_jax, jitted(numba_peers.chain_wide), chain_numpy),
    workload("gelu 1024x1024", gelu, MATRIX, lambda x: jax.nn.gelu(x, approximate=False),
             jitted(numba_peers.gelu)),
    workload("ten operations 1024x1024", ten_operations, square(1024), ten_operations_jax,
             jitted(numba_peers.ten_operations)),
    workload("relu(x+b) 1024x1024", bias_relu, normal((1024, 1024), (1024,)),
             lambda x, b: jax.numpy.maximum(x + b, 0), jitted(numba_peers.bias_relu)),
    workload("where and clamp 1024x1024", clamped, square(1024), clamped_jax,
             jitted(numba_peers.clamped)),
)  # fmt: skip

CALL: tuple[Workload, ...] = (
    workload("add of two 8-element arrays", add, normal((8,), (8,)), add,
             jitted(add, nogil=False), np.add),
)  # fmt: skip

STEPS = workload(
    "1000 steps of x * 0.999 + y, 8 elements", tiny_steps, normal((8,), (8,)), tiny_steps_jax,
    jitted(numba_peers.tiny_steps, nogil=False),
)  # fmt: skip
"""What a library takes for a step of a loop."""
