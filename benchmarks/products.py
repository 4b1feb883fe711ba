"""Products of matrices, and attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from peers import jax, lib
from workload import Arguments, BFloat16, Workload, normal, workload

F = lib.nn.functional


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


def integers(x, w):
    return lib._int_mm(x, w)


def integers_jax(x: Any, w: Any) -> Any:
    return jax.numpy.matmul(x, w, preferred_element_type=jax.numpy.int32)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def attention_jax(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype))
    return weights @ v


def product_jax(x: Any, w: Any) -> Any:
    return x @ w


def _dense(n: int) -> Callable[[np.random.Generator], Arguments]:
    return normal((n, n), (n, n), (n,))


def _product(name: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> Workload:
    flops = 2.0 * np.prod(left) * right[-1]
    make = normal(left, right, dtype=dtype)
    return workload(name, product, make, product_jax, None, np.matmul, flops)


def _bytes(random: np.random.Generator) -> Arguments:
    return tuple(random.integers(-127, 128, (512, 512)).astype(np.int8) for _ in range(2))


def _halves(n: int) -> Workload:
    """A product of bfloat16, summed up in float32 and rounded once."""

    def make(random: np.random.Generator) -> Arguments:
        return tuple(BFloat16.of(a) for a in normal((n, n), (n, n))(random))

    return Workload(f"matmul {n} bfloat16", lambda: product, make, product_jax,
                    flops=2.0 * n**3, unit=2.0**-8)  # fmt: skip


def _attention(heads: int, length: int, width: int) -> Workload:
    shape = (1, heads, length, width)
    name = f"attention S={length} H={heads} D={width}"
    flops = 4.0 * heads * length * length * width
    return workload(name, attention, normal(shape, shape, shape), attention_jax, None, None, flops)


PRODUCT: tuple[Workload, ...] = (
    *(
        workload(f"relu(x@w+b) {n}", dense, _dense(n), dense_jax, None,
                 lambda x, w, b: np.maximum(x @ w + b, 0), 2.0 * n**3)
        for n in (64, 128, 256, 512, 1024)
    ),
    workload("gelu(x@w+b) 512", dense_gelu, _dense(512),
             lambda x, w, b: jax.nn.gelu(x @ w + b, approximate=False), None, None, 2.0 * 512**3),
    _product("matmul 1024", (1024, 1024), (1024, 1024), "f4"),
    _product("matmul 2048", (2048, 2048), (2048, 2048), "f4"),
    _product("matmul 512 float64", (512, 512), (512, 512), "f8"),
    _product("1x4096 @ 4096x4096", (1, 4096), (4096, 4096), "f4"),
    _product("4096x64 @ 64x64", (4096, 64), (64, 64), "f4"),
    _product("16x1024 @ 1024x1024", (16, 1024), (1024, 1024), "f4"),
    workload("linear 64x512, 512", linear, normal((64, 512), (512, 512), (512,)),
             lambda x, w, b: x @ w.T + b, None, lambda x, w, b: x @ w.T + b, 2.0 * 64 * 512**2),
    _product("12 of 128x64 @ 64x128", (12, 128, 64), (12, 64, 128), "f4"),
    _halves(512),
    workload("512 int8 to int32", integers, _bytes, integers_jax, None,
             lambda x, w: x.astype(np.int32) @ w.astype(np.int32), 2.0 * 512**3),
)  # fmt: skip

ATTENTION: tuple[Workload, ...] = (
    _attention(12, 128, 64), _attention(12, 512, 64), _attention(8, 1024, 64),
)  # fmt: skip
